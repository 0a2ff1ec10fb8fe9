// Package natstest runs a NATS server with JetStream for tests, in process and on loopback.
package natstest

import (
	"log/slog"
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
	s := &Server{tb: tb, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: tb.TempDir(),
	}}
	if change != nil {
		change(&s.options)
	}
	s.Start()
	tb.Cleanup(s.Stop)
	return s
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
