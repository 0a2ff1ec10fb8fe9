package webhook

import (
	"net"
	"net/http"
	"net/netip"
)

// SetTransport puts a receiver inside the process in the place of the network.
func (e *Endpoint) SetTransport(t http.RoundTripper) { e.client = inside{t} }

// inside is a transport that has no connections.
type inside struct{ http.RoundTripper }

func (inside) CloseIdleConnections() {}

// SetResolver replaces the system's resolver of names.
func (e *Endpoint) SetResolver(r *net.Resolver) { e.client = newTransport(&e.Config, r) }

// Refuses reports whether a connection to an address is refused.
func (c *Config) Refuses(a netip.Addr) bool {
	network := "tcp6"
	if a.Is4() {
		network = "tcp4"
	}
	return refused(newGuard(c)(network, netip.AddrPortFrom(a, 80).String(), nil))
}
