package garbage

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// kind is one way to be no peer. It speaks on a connection until that ends.
type kind struct {
	name  string
	speak func(c net.Conn)
}

// maxSwallowed is how much of an endless answer a client may read before it gives up. It is a bound on memory that does
// not depend on the machine: the clients hold all that they have read of one line.
const maxSwallowed = 128 << 20

// peer stands between a client and a real server, at one address. It passes everything through, or speaks garbage: one
// kind a connection, in turn.
type peer struct {
	tb       testing.TB
	listener net.Listener
	server   string
	kinds    []kind

	mu    sync.Mutex
	bad   bool
	open  map[net.Conn]bool
	next  int
	calls sync.WaitGroup

	spoken atomic.Int64 // connections that have had garbage
}

func newPeer(tb testing.TB, server string, kinds []kind) *peer {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &peer{tb: tb, listener: l, server: server, kinds: kinds, open: map[net.Conn]bool{}}
	p.calls.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.turnGood()
		p.calls.Wait()
	})
	return p
}

func (p *peer) addr() string { return p.listener.Addr().String() }

// turnBad has the peer send garbage from the next connection on, turnGood what its server sends.
func (p *peer) turnBad() { p.setBad(true) }

func (p *peer) turnGood() { p.setBad(false) }

// setBad ends the connections.
func (p *peer) setBad(bad bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad = bad
	for c := range p.open {
		_ = c.Close() // whatever it says
	}
	clear(p.open)
}

func (p *peer) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.open[c] = true
		serve := p.pass
		if p.bad {
			k := p.kinds[p.next%len(p.kinds)]
			p.next++
			serve = func(c net.Conn) { p.speak(c, k) }
		}
		p.mu.Unlock()
		p.calls.Go(func() { serve(c) })
	}
}

func (p *peer) speak(c net.Conn, k kind) {
	defer p.close(c)
	meter := &meter{Conn: c}
	k.speak(meter)
	p.spoken.Add(1)
	if meter.written > maxSwallowed {
		p.tb.Errorf("%s: the client has read %d bytes of it", k.name, meter.written)
	}
	_, _ = io.Copy(io.Discard, c) // until the client ends it
}

func (p *peer) close(c net.Conn) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	_ = c.Close()
}

func (p *peer) pass(c net.Conn) {
	defer p.close(c)
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.calls.Go(func() {
		_, _ = io.Copy(server, c)
		_ = server.Close()
	})
	_, _ = io.Copy(c, server)
}

// meter counts what is written, and ends an endless answer that nobody refuses.
type meter struct {
	net.Conn
	written int64
}

func (m *meter) Write(b []byte) (int, error) {
	if m.written > maxSwallowed {
		return 0, io.ErrShortWrite
	}
	n, err := m.Conn.Write(b)
	m.written += int64(n)
	return n, err
}
