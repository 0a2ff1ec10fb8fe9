package webhook

import (
	"net"
	"net/http"
)

// SetTransport puts a receiver inside the process in the place of the network.
func (e *Endpoint) SetTransport(t http.RoundTripper) { e.client = t }

// SetResolver replaces the system's resolver of names.
func (e *Endpoint) SetResolver(r *net.Resolver) { e.client = newTransport(&e.Config, r) }
