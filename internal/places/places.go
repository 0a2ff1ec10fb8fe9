// Package places shares out what there is a limited number of, so that no client can take all of it: streams, look-ups,
// batches in a queue.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package places

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"sync"
)

// Free reports whether a client that has so many of the places may have another, when so many are taken. A quarter of them is
// for clients that have less than an eighth: so who fills the others does not shut the door for the next.
func Free(all, taken, own int) bool {
	if own < max(1, all/8) {
		return taken < all
	}
	return taken < all-all/4
}

// Client is whose share a request takes: that of its token, or without tokens that of its address.
func Client(r *http.Request, token string) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return cmp.Or(token, host)
}

// Places are so many. They may be used by several goroutines.
type Places struct {
	all int

	mu    sync.Mutex
	taken int
	own   map[string]int
	left  chan struct{} // closed, and made anew, when a place comes free
}

// New makes n places.
func New(n int) *Places {
	return &Places{all: n, own: map[string]int{}, left: make(chan struct{})}
}

// Take takes a place for a client, until leave is called; false where there is none, and what is closed when one comes free.
func (p *Places) Take(client string) (leave func(), ok bool, left <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !Free(p.all, p.taken, p.own[client]) {
		return nil, false, p.left
	}
	p.taken++
	p.own[client]++
	return func() { p.leave(client) }, true, nil
}

// Await is Take for who waits for a place as long as ctx lasts.
func (p *Places) Await(ctx context.Context, client string) (leave func(), err error) {
	for {
		leave, ok, left := p.Take(client)
		if ok {
			return leave, nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *Places) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.own[client]--; p.own[client] == 0 {
		delete(p.own, client)
	}
	close(p.left)
	p.left = make(chan struct{})
}
