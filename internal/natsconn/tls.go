package natsconn

import (
	"crypto/tls"

	"github.com/nats-io/nats.go"
)

// options are those of the client. Its own read the files, and read the certificate again for each connection, so
// that a renewed one is taken up.
func (t *TLS) options() []nats.Option {
	var options []nats.Option
	if t.Enabled {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}))
	}
	if t.CA != "" {
		options = append(options, nats.RootCAs(t.CA))
	}
	if t.Cert != "" {
		options = append(options, nats.ClientCert(t.Cert, t.Key))
	}
	return options
}
