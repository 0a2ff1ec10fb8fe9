// Package wirecheck checks what a broker or a store sends before its client library reads it.
//
// The libraries believe their peer: a length of 9·10¹⁸ is allocated, a negative one is an index, a line without an end
// is gathered until the memory is gone, and each of these ends the process, from a goroutine that is not ours. A peer
// like that need not be an enemy: a wrong port or a broken proxy will do. So a connection is wrapped, and what comes
// over it is followed as far as its lengths go, and no further: who reads a fault gets an error instead, drops the
// connection, and makes another one, as after any failure of the network.
//
// What is checked is framing. It costs a look at each length, and none at the bytes between.
package wirecheck

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// Error says that a peer has sent what its protocol does not allow, or more than is accepted.
type Error struct {
	Protocol string // what was expected of it
	Peer     string // its address
	Reason   string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s sends what is not %s: %s (is it the right port, and what stands between?)", e.Peer,
		e.Protocol, e.Reason)
}

// Temporary is true: the peer may be right again at the next connection.
func (e *Error) Temporary() bool { return true }

// Timeout makes e a net.Error.
func (e *Error) Timeout() bool { return false }

var _ net.Error = (*Error)(nil)

// Is reports whether an error comes of a peer's garbage.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// NewError counts a fault and names it.
func NewError(protocol string, peer net.Addr, reason error) *Error {
	faults().Add(context.Background(), 1, metric.WithAttributes(attribute.String("protocol", protocol)))
	return &Error{Protocol: protocol, Peer: name(peer), Reason: reason.Error()}
}

func name(peer net.Addr) string {
	if peer == nil {
		return "the peer"
	}
	return peer.String()
}

var faults = sync.OnceValue(func() metric.Int64Counter {
	return meters.Counter("refrain/internal/wirecheck", "refrain_wirecheck_faults",
		"Connections ended because the peer sent what its protocol does not allow, by protocol.")
})

// checker follows one direction of a connection.
type checker interface {
	// received looks at the next bytes. Its error is final.
	received(p []byte) error
	// sent looks at what we send; it may be called beside received.
	sent(p []byte)
}

// conn hands on what a checker has passed. Like any net.Conn it may be read by one goroutine and written by another.
type conn struct {
	net.Conn
	protocol string
	check    checker
	fault    error
}

func (c *conn) Read(p []byte) (int, error) {
	if c.fault != nil {
		return 0, c.fault
	}
	n, err := c.Conn.Read(p)
	if fault := c.check.received(p[:n]); fault != nil {
		c.fault = NewError(c.protocol, c.RemoteAddr(), fault)
		return 0, c.fault
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.check.sent(p)
	return c.Conn.Write(p)
}

// SyscallConn is how a client asks whether an idle connection is still there.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Shown quotes the beginning of what a peer sent: enough to know an HTTP server or a mail server by.
func Shown(p []byte) string {
	const maxShown = 48
	if len(p) > maxShown {
		return fmt.Sprintf("%q...", p[:maxShown])
	}
	return fmt.Sprintf("%q", p)
}
