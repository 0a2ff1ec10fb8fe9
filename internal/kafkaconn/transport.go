package kafkaconn

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// Transport is the library's, which leaves connections open that wait for an answer, be it 30 s: Close ends all.
type Transport struct {
	kafka.Transport

	mu      sync.Mutex
	connect func(ctx context.Context, network, addr string) (net.Conn, error)
	open    map[net.Conn]bool
	closed  bool
}

// Transport is for requests. It keeps itself informed about the topics named and no others: without any it would ask
// for all topics of the cluster, every few seconds. Close must be called.
func (c *Conn) Transport(topics ...string) *Transport {
	t := &Transport{connect: c.dial, open: map[net.Conn]bool{}}
	t.ClientID, t.SASL = clientID, c.sasl
	t.DialTimeout, t.MetadataTTL, t.MetadataTopics = dialTimeout, 3*time.Second, topics
	t.Dial = t.dial
	return t
}

func (t *Transport) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := t.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = conn.Close() // nothing has been asked on it
		return nil, net.ErrClosed
	}
	t.open[conn] = true
	return &connection{Conn: conn, of: t}, nil
}

// Close ends all connections; requests under way fail.
func (t *Transport) Close() {
	t.CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for conn := range t.open {
		_ = conn.Close() // whatever it says, it is of no use any more
	}
}

// connection is forgotten when it is closed.
type connection struct {
	net.Conn
	of *Transport
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
