// Package natsconn connects to NATS servers that are not ours.
//
// A connection that is lost is made again, for as long as it takes; what is buffered meanwhile is the client's
// business. Only the first one may be refused.
package natsconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"

	"refrain/internal/retry"
	"refrain/internal/traffic"
	"refrain/internal/wirecheck"
)

// Config says where the servers are and how to be let in. At most one way to log in may be set.
type Config struct {
	Servers        []string // URLs of one cluster: nats://HOST:PORT, tls://, ws://
	User, Password string
	Token          string
	Credentials    string // file with a user's JWT and seed
	TLS            TLS
	Waiting        func(error) // is told why Connect tries again; nil: nobody is
}

// TLS is how to speak TLS to a server. A server that asks for TLS gets it in any case.
type TLS struct {
	Enabled    bool
	CA         string // PEM file of the authorities to trust; "": the system's
	Cert, Key  string // PEM files of our certificate and its key; "": none
	ServerName string // that the certificate must bear; "": the server's host
}

// schemes are those that the client knows. Of any other it would look up the host for ever.
var schemes = []string{"nats", "tls", "ws", "wss"}

// minVersion is the first version whose JetStream does what it is asked: an older one passes over settings of streams and
// consumers without a word.
var minVersion = [2]int{2, 10}

const (
	dialTimeout   = 5 * time.Second // for one connection
	reconnectWait = 250 * time.Millisecond
	pingInterval  = 10 * time.Second // three without an answer: the connection is dead
)

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var errs []error
	if len(c.Servers) == 0 {
		errs = append(errs, errors.New("no servers"))
	}
	for _, s := range c.Servers {
		errs = append(errs, CheckServer(s))
	}
	ways := 0
	for _, way := range []string{c.User, c.Token, c.Credentials} {
		ways += min(len(way), 1)
	}
	if ways > 1 {
		errs = append(errs, errors.New("user, token and credentials exclude each other"))
	}
	if c.Password != "" && c.User == "" {
		errs = append(errs, errors.New("a password without a user"))
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		errs = append(errs, errors.New("tls: cert and key go together"))
	}
	return errors.Join(errs...)
}

// CheckServer reports what is wrong with the URL of a server.
func CheckServer(s string) error {
	if u, err := url.Parse(s); err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("server %q: want nats://HOST:PORT, or tls://, ws:// or wss://", redacted(s))
	}
	return nil
}

// Connect makes a connection. While no server is to be reached it goes on trying until ctx ends; a server that
// refuses us, or is too old, is an error at once. More options come behind those that c asks for.
func Connect(ctx context.Context, c Config, log *slog.Logger, more ...nats.Option) (*nats.Conn, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	options := append(c.options(log), more...)
	conn, err := backoff.Retry(ctx, func() (*nats.Conn, error) { return c.connect(options) },
		backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
			log.Warn("nats: retrying connect", "servers", c.String(), "error", err, "pause", pause)
			if c.Waiting != nil {
				c.Waiting(fmt.Errorf("no NATS server answers at %s: is one running, and is the address right?: %w", c.String(), err))
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("nats %s: %w", c.String(), err)
	}
	return conn, nil
}

// dialer makes connections whose server is not believed everything.
type dialer struct{ traffic *traffic.Meter }

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, dialTimeout)
	if err != nil {
		return nil, err
	}
	return wirecheck.NATS(d.traffic.Wrap(conn)), nil
}

// connect tries once.
func (c *Config) connect(options []nats.Option) (*nats.Conn, error) {
	conn, err := nats.Connect(strings.Join(c.Servers, ","), options...)
	if err != nil {
		return nil, hint(err)
	}
	if err := CheckVersion(conn); err != nil {
		conn.Close()
		return nil, backoff.Permanent(err)
	}
	return conn, nil
}

// CheckVersion reports a connection to a server that is too old: Connect looks at the first one, and it may be another one
// that the connection finds later.
func CheckVersion(conn *nats.Conn) error {
	if v := conn.ConnectedServerVersion(); !isSupported(v) {
		return fmt.Errorf("the server is version %s: %d.%d is the oldest that will do", v, minVersion[0], minVersion[1])
	}
	return nil
}

func isSupported(version string) bool {
	var v [2]int
	_, err := fmt.Sscanf(version, "%d.%d", &v[0], &v[1])
	return err == nil && (v[0] > minVersion[0] || v[0] == minVersion[0] && v[1] >= minVersion[1])
}

// hint makes final what time does not mend: being refused, a missing file, a certificate that does not fit.
func hint(err error) error {
	var network net.Error
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return backoff.Permanent(err)
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "x509: "):
		return backoff.Permanent(err)
	case wirecheck.Is(err), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, io.EOF),
		errors.As(err, &network):
		return err
	}
	return backoff.Permanent(err)
}

func (c *Config) options(log *slog.Logger) []nats.Option {
	options := []nats.Option{
		nats.Name("refrain"), nats.Timeout(dialTimeout), nats.SetCustomDialer(dialer{traffic.New("nats")}),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.PingInterval(pingInterval),
		nats.IgnoreAuthErrorAbort(), // a server that comes back may first not know its users
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // else it was closed by us
				log.Warn("nats: connection lost", "servers", c.String(), "error", err)
			}
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			log.Info("nats: reconnected", "server", conn.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Error("nats: refused by the server", "servers", c.String(), "error", err)
		}),
	}
	options = append(options, c.TLS.options()...)
	switch {
	case c.Credentials != "":
		options = append(options, nats.UserCredentials(c.Credentials))
	case c.User != "":
		options = append(options, nats.UserInfo(c.User, c.Password))
	case c.Token != "":
		options = append(options, nats.Token(c.Token))
	}
	return options
}

// String lists the servers without the passwords that may stand in their URLs.
func (c *Config) String() string {
	var out []string
	for _, s := range c.Servers {
		out = append(out, redacted(s))
	}
	return strings.Join(out, ",")
}

func redacted(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return "(not a URL)"
	}
	if u.User != nil {
		u.User = url.User("xxxxx") // a token stands where the user does
	}
	return u.String()
}
