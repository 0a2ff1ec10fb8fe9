// Package natstest runs NATS servers with JetStream for tests, in process and on loopback.
package natstest

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/natsconn"
)

// Server can be stopped and started again, with its port and data.
type Server struct {
	tb      testing.TB
	options server.Options
	running *server.Server
	url     string
}

// MustServer starts a server that ends with the test. Change, if not nil, sets options.
func MustServer(tb testing.TB, change func(*server.Options)) *Server {
	tb.Helper()
	s := newServer(tb, change)
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

func newServer(tb testing.TB, change func(*server.Options)) *Server {
	s := &Server{tb: tb, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: tb.TempDir(),
	}}
	if change != nil {
		change(&s.options)
	}
	return s
}

// MustCluster starts n servers that form a cluster, and returns when it has a leader that knows all of them.
func MustCluster(tb testing.TB, n int, change func(*server.Options)) []*Server {
	tb.Helper()
	var servers []*Server
	var routes []*url.URL
	for i := range n {
		s := newServer(tb, change)
		s.options.ServerName = fmt.Sprintf("n%d", i+1)
		s.options.Cluster = server.ClusterOpts{Name: "refrain", Host: "127.0.0.1", Port: freePort(tb)}
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", s.options.Cluster.Port)})
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.options.Routes = routes
		s.Start()
		tb.Cleanup(s.Stop)
	}
	awaitLeader(tb, servers)
	return servers
}

// freePort is one that nobody listens on. Routes must be known before the servers start.
func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it was only to see which port is free
	return l.Addr().(*net.TCPAddr).Port
}

func awaitLeader(tb testing.TB, servers []*Server) {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	for again := time.NewTicker(10 * time.Millisecond); ; {
		for _, s := range servers {
			if s.running.JetStreamIsLeader() && len(s.running.JetStreamClusterPeers()) == len(servers) {
				again.Stop()
				return
			}
		}
		select {
		case <-again.C:
		case <-deadline:
			tb.Fatal("the NATS servers form no cluster")
		}
	}
}

// Limit gives the account that everybody is in other limits.
func (s *Server) Limit(limits server.JetStreamAccountLimits) {
	s.tb.Helper()
	err := s.running.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": limits})
	if err != nil {
		s.tb.Fatal(err)
	}
}

// Leads tells whether the server leads a stream.
func (s *Server) Leads(stream string) bool {
	return s.running.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream)
}

// Start starts a server that was stopped.
func (s *Server) Start() {
	s.tb.Helper()
	options := s.options // the server changes them
	running, err := server.NewServer(&options)
	if err != nil {
		s.tb.Fatal(err)
	}
	running.Start()
	if !running.ReadyForConnections(20 * time.Second) {
		s.tb.Fatal("the NATS server is not ready")
	}
	s.options.Port = options.Port
	s.running, s.url = running, running.ClientURL()
}

// Stop stops the server; its data stays.
func (s *Server) Stop() {
	s.running.Shutdown()
	s.running.WaitForShutdown()
}

// Config says how to reach the server.
func (s *Server) Config() natsconn.Config {
	return natsconn.Config{Servers: []string{s.url}}
}

// Conn connects a client of the test's own.
func (s *Server) Conn(options ...nats.Option) js.JetStream {
	s.tb.Helper()
	options = append(options, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	conn, err := nats.Connect(s.url, options...)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(conn.Close)
	client, err := js.New(conn)
	if err != nil {
		s.tb.Fatal(err)
	}
	return client
}

// Stream makes a stream of the given subjects.
func (s *Server) Stream(client js.JetStream, cfg js.StreamConfig) js.Stream {
	s.tb.Helper()
	stream, err := client.CreateStream(s.tb.Context(), cfg)
	if err != nil {
		s.tb.Fatal(err)
	}
	return stream
}

// Quiet is a logger that says nothing.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// At speaks of a server that somebody else runs: only its Config is of use.
func At(url string) *Server { return &Server{url: url} }

// Change sets options of a server that is stopped.
func (s *Server) Change(change func(*server.Options)) { change(&s.options) }
