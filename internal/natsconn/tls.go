package natsconn

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/nats-io/nats.go"

	"refrain/internal/pemfile"
)

// options are those of the client, which has the files read again for each connection, so that renewed ones are taken up.
func (t *TLS) options() []nats.Option {
	var options []nats.Option
	if t.Enabled {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}))
	}
	var pair nats.TLSCertHandler
	if t.Cert != "" {
		pair = func() (tls.Certificate, error) { return pemfile.KeyPair(t.Cert, t.Key) }
	}
	var authorities nats.RootCAsHandler
	if t.CA != "" {
		authorities = func() (*x509.CertPool, error) { return pemfile.Authorities(t.CA) }
	}
	if pair != nil || authorities != nil {
		options = append(options, nats.ClientTLSConfig(pair, authorities))
	}
	return options
}
