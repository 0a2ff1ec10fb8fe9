package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// spareConnections are open beyond the limit, for those who ask how the server is.
const spareConnections = 16

// connections bounds how many clients are connected. When there are max, a new one takes the place of the one that has
// asked for nothing the longest (it is idle, or has not sent its header). When all of them are being answered, it becomes a
// spare one, on which only health is answered; of those there are a few, and the oldest goes when another comes.
//
// All methods may be called by several goroutines.
type connections struct {
	max     int
	refused metric.Int64Counter

	mu      sync.Mutex
	open    map[net.Conn]*connection
	waiting list.List // of *connection: those that ask for nothing, the longest first
	spare   list.List // the oldest first
}

type connection struct {
	net.Conn
	waits *list.Element // in waiting; nil: it is being answered
	spare *list.Element // in spare; nil: it is not one
}

func newConnections(limit int) *connections {
	c := &connections{max: limit, open: map[net.Conn]*connection{}}
	c.waiting.Init()
	c.spare.Init()
	c.refused = meters.Counter("refrain/server", "refrain_server_connections_closed",
		"Connections closed because there were as many as limits.connections: waiting ones, and spare ones.")
	return c
}

// limit makes l accept no more than so many.
func (c *connections) limit(l net.Listener) net.Listener { return limitedListener{l, c} }

type limitedListener struct {
	net.Listener
	connections *connections
}

// Accept implements net.Listener.
func (l limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.connections.add(conn)
	}
	return conn, err
}

// add makes room for a connection.
func (c *connections) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &connection{Conn: conn}
	regular := len(c.open) - c.spare.Len()
	if regular >= c.max && c.waiting.Len() > 0 {
		c.close(c.waiting.Front().Value.(*connection), "waiting")
		regular--
	}
	if regular >= c.max {
		if c.spare.Len() >= spareConnections {
			c.close(c.spare.Front().Value.(*connection), "spare")
		}
		n.spare = c.spare.PushBack(n)
	} else {
		n.waits = c.waiting.PushBack(n)
	}
	c.open[conn] = n
}

func (c *connections) close(n *connection, kind string) {
	c.remove(n)
	_ = n.Close() // the server notices
	c.refused.Add(context.Background(), 1, metric.WithAttributes(attribute.String("kind", kind)))
}

func (c *connections) remove(n *connection) {
	delete(c.open, n.Conn)
	if n.waits != nil {
		c.waiting.Remove(n.waits)
	}
	if n.spare != nil {
		c.spare.Remove(n.spare)
	}
}

// observe is the server's ConnState.
func (c *connections) observe(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.open[conn]
	if n == nil {
		return // closed to make room
	}
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		c.remove(n)
	case state == http.StateActive && n.waits != nil:
		c.waiting.Remove(n.waits)
		n.waits = nil
	case state == http.StateIdle && n.waits == nil && n.spare == nil:
		n.waits = c.waiting.PushBack(n)
	}
}

type connectionKey struct{}

// remember is the server's ConnContext: a request knows its connection.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// crowded reports whether a request came on a spare connection.
func (c *connections) crowded(r *http.Request) bool {
	conn, _ := r.Context().Value(connectionKey{}).(net.Conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.open[conn]
	return n != nil && n.spare != nil
}
