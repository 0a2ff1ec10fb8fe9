// Package pemfile reads certificates and keys that settings of TLS name.
package pemfile

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"refrain/internal/smallfile"
)

// maxBytes is more than the certificates of all authorities take.
const maxBytes = 16 << 20

// Authorities are the certificates in a file.
func Authorities(path string) (*x509.CertPool, error) {
	pem, err := smallfile.Read(path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", path)
	}
	return pool, nil
}

// KeyPair is a certificate with its key.
func KeyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err1 := smallfile.Read(cert, maxBytes)
	keyPEM, err2 := smallfile.Read(key, maxBytes)
	for _, err := range []error{err1, err2} {
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("cert and key: %w", err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cert and key: %w", err)
	}
	return pair, nil
}
