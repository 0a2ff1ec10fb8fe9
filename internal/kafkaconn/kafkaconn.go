// Package kafkaconn makes connections to a Kafka cluster.
//
// A Conn carries what every client of the cluster needs to be let in: addresses, TLS, SASL. Probe tries it, and says
// what an operator can do where the client library says "EOF".
package kafkaconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"golang.org/x/time/rate"

	"refrain/internal/kafkaconn/frames"
	"refrain/internal/pemfile"
	"refrain/internal/traffic"
)

// Config says where a cluster is and how to be let in.
type Config struct {
	Brokers []string     // HOST:PORT of some; the cluster names the others
	TLS     *TLS         // nil: no encryption
	SASL    *SASL        // nil: no login
	Logger  *slog.Logger // of what a broker sends that no broker would; nil: only who asked hears of it
	// Dial makes the connections below TLS; nil: they are TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// TLS is how to speak TLS to a broker. Its zero value trusts the system's authorities and shows no certificate.
type TLS struct {
	CA         string // PEM file of the authorities to trust; "": the system's
	Cert, Key  string // PEM files of our own certificate and its key; "": none
	ServerName string // that the broker's certificate must bear; "": the broker's host
}

// SASL is how to log in.
type SASL struct {
	Mechanism      string // plain, scram-sha-256 or scram-sha-512
	User, Password string
}

const (
	clientID    = "refrain"
	dialTimeout = 5 * time.Second
)

// Conn makes connections. It is safe for concurrent use.
type Conn struct {
	brokers []string
	tls     *tls.Config
	sasl    sasl.Mechanism
	logger  *slog.Logger
	traffic *traffic.Meter
	connect func(ctx context.Context, network, addr string) (net.Conn, error)

	garbage  rate.Sometimes // how often report logs
	answered atomic.Bool    // by a broker, once at least: TLS and login are right
}

// New reads the files that cfg names. It talks to nobody.
func New(cfg Config) (*Conn, error) {
	if len(cfg.Brokers) == 0 {
		return nil, errors.New("kafka: no brokers")
	}
	for _, b := range cfg.Brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("kafka: broker %q: want HOST:PORT", b)
		}
	}
	t, err := tlsConfig(cfg.TLS)
	if err != nil {
		return nil, fmt.Errorf("kafka: tls: %w", err)
	}
	m, err := mechanism(cfg.SASL)
	if err != nil {
		return nil, fmt.Errorf("kafka: sasl: %w", err)
	}
	c := &Conn{brokers: cfg.Brokers, tls: t, sasl: m, logger: cfg.Logger, connect: cfg.Dial,
		traffic: traffic.New("kafka"), garbage: rate.Sometimes{Interval: garbageEvery}}
	if c.connect == nil {
		c.connect = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return c, nil
}

func tlsConfig(t *TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	cfg := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	var err error
	if t.CA != "" {
		if cfg.RootCAs, err = pemfile.Authorities(t.CA); err != nil {
			return nil, err
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := pemfile.KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

func mechanism(s *SASL) (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Mechanism {
	case "plain":
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case "scram-sha-256":
		return scram.Mechanism(scram.SHA256, s.User, s.Password)
	case "scram-sha-512":
		return scram.Mechanism(scram.SHA512, s.User, s.Password)
	}
	return nil, fmt.Errorf("mechanism %q: want plain, scram-sha-256 or scram-sha-512", s.Mechanism)
}

// Brokers are the addresses of the configuration.
func (c *Conn) Brokers() []string { return c.brokers }

// Addr is the same for clients that take one address.
func (c *Conn) Addr() net.Addr { return kafka.TCP(c.brokers...) }

// Dialer is for consumer groups.
func (c *Conn) Dialer() *kafka.Dialer {
	return &kafka.Dialer{ClientID: clientID, Timeout: dialTimeout, SASLMechanism: c.sasl, DialFunc: c.dial}
}

// dial connects and encrypts, which the library is not asked to do: what the broker says is checked within TLS.
func (c *Conn) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.connect(ctx, network, addr)
	if err == nil && c.tls != nil {
		conn, err = c.encrypt(ctx, conn, addr)
	}
	if err != nil {
		return nil, err
	}
	return frames.Wrap(c.traffic.Wrap(conn), c.traffic.Request, c.report), nil
}

// encrypt is for the host of the address, or for the name in its place.
func (c *Conn) encrypt(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	cfg := c.tls.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr) // it has been connected to
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	encrypted := tls.Client(conn, cfg)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // nothing has been asked on it
		return nil, err
	}
	return encrypted, nil
}

// garbageEvery is how often garbage is logged: the library may try again many times a second.
const garbageEvery = 10 * time.Second

// report logs garbage that the library may hide.
func (c *Conn) report(err error) {
	if c.logger != nil {
		c.garbage.Do(func() { c.logger.Warn("kafka: connection ended", "brokers", c.String(), "error", err) })
	}
}

// Client sends requests over a transport.
func (c *Conn) Client(t *Transport) *kafka.Client {
	return &kafka.Client{Addr: c.Addr(), Transport: t}
}

func (c *Conn) String() string { return strings.Join(c.brokers, ",") }
