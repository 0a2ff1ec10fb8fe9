package chaos

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"refrain/internal/e2e"
)

// proxy stands before a broker: it passes on what it hears, and can cut it off.
type proxy struct {
	wire
	listener net.Listener
	to       string // the broker
}

// wire is connections that can be cut, or fall silent.
type wire struct {
	running sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	links   map[*link]bool
	silent  silence // of connections that come now
}

// silence is what a link does not pass on.
type silence struct{ requests, answers bool }

// link is a connection of a client, and the one to the broker for it.
type link struct {
	client, broker    net.Conn
	requests, answers gate
	once              sync.Once
	ended             chan struct{}
}

// startProxies begins to listen at a free address each. They want to be told where they lead to.
func startProxies(t *testing.T, n int) (all []*proxy) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", e2e.FreeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		p := &proxy{listener: l, wire: wire{links: map[*link]bool{}}}
		t.Cleanup(p.close)
		all = append(all, p)
	}
	return all
}

func addressesOf(all []*proxy) (addrs []string) {
	for _, p := range all {
		addrs = append(addrs, p.listener.Addr().String())
	}
	return addrs
}

// setTarget begins to pass connections on.
func (p *proxy) setTarget(to string) {
	p.to = to
	p.running.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			broker, err := net.Dial("tcp", p.to)
			if err != nil {
				client.Close()
				continue
			}
			p.running.Go(func() { p.serve(client, broker) })
		}
	})
}

func (p *proxy) close() {
	p.listener.Close()
	p.wire.close()
}

// serve passes on what either side says, until one of them ends.
func (w *wire) serve(client, broker net.Conn) {
	l := &link{client: client, broker: broker, ended: make(chan struct{})}
	defer l.cut()
	if !w.add(l) {
		return
	}
	defer w.remove(l)
	var both sync.WaitGroup
	both.Go(func() { l.forward(broker, client, &l.requests) })
	both.Go(func() { l.forward(client, broker, &l.answers) })
	both.Wait()
}

func (w *wire) add(l *link) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	l.silence(w.silent)
	w.links[l] = true
	return true
}

func (w *wire) remove(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}

// forward ends with either side, or when the link is cut.
func (l *link) forward(to io.Writer, from io.Reader, g *gate) {
	defer l.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !g.wait(l.ended) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *link) cut() {
	l.once.Do(func() {
		close(l.ended)
		l.client.Close()
		l.broker.Close()
	})
}

func (l *link) silence(s silence) {
	l.requests.set(s.requests)
	l.answers.set(s.answers)
}

// sample are connections drawn by chance.
func (w *wire) sample(rng *rand.Rand, part float64) (some []*link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		if rng.Float64() < part {
			some = append(some, l)
		}
	}
	return some
}

// silence silences some connections, and those that come, until the end. Then they go on, as if they had been slow, or are
// cut: what was under way is lost.
func (w *wire) silence(rng *rand.Rand, s silence) (end func(cut bool)) {
	some := w.sample(rng, 0.5)
	w.mu.Lock()
	w.silent = s
	w.mu.Unlock()
	for _, l := range some {
		l.silence(s)
	}
	return w.endSilence
}

func (w *wire) endSilence(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = silence{}
	for l := range w.links {
		if cut && l.isSilent() {
			l.cut()
		}
		l.silence(silence{})
	}
}

func (l *link) isSilent() bool { return l.requests.isClosed() || l.answers.isClosed() }

func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	for l := range w.links {
		l.cut()
	}
	w.mu.Unlock()
	w.running.Wait()
}

// gate is open, or shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil: it is open
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// wait waits until the gate is open; false: until it was ended.
func (g *gate) wait(ended <-chan struct{}) bool {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return true
	}
	select {
	case <-shut:
		return g.wait(ended)
	case <-ended:
		return false
	}
}
