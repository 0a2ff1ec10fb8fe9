// Package traffic counts what goes over the connections to a broker.
package traffic

import (
	"context"
	"net"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// Meter counts for all connections to brokers of one kind. It is safe for concurrent use; what is encrypted counts as it is
// before that, where the client library encrypts above the connection as it is after.
type Meter struct{ sent, received, requests metric.Int64Counter }

// New makes the meter of a kind of broker, kafka or nats: two of one kind count together.
func New(kind string) *Meter {
	const scope = "refrain/internal/traffic"
	name := func(what string) string { return "refrain_" + kind + "_" + what }
	return &Meter{
		sent:     meters.Counter(scope, name("sent_bytes"), "Bytes sent to the brokers."),
		received: meters.Counter(scope, name("received_bytes"), "Bytes received from the brokers."),
		requests: meters.Counter(scope, name("requests"), "Requests made to the brokers, by what they ask."),
	}
}

// Request counts one that asks for something.
func (m *Meter) Request(what string) {
	m.requests.Add(context.Background(), 1, metric.WithAttributes(attribute.String("request", what)))
}

// Wrap counts what goes over a connection.
func (m *Meter) Wrap(c net.Conn) net.Conn { return &conn{Conn: c, meter: m} }

type conn struct {
	net.Conn
	meter *Meter
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.meter.received.Add(context.Background(), int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.meter.sent.Add(context.Background(), int64(n))
	return n, err
}
