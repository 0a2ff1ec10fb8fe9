package places

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// takeAll takes places for a client until it gets none.
func takeAll(p *Places, client string) (leave []func()) {
	for {
		l, ok, _ := p.Take(client)
		if !ok {
			return leave
		}
		leave = append(leave, l)
	}
}

// TestOneLeavesOthersAQuarter, whatever it takes, and each of the others an eighth of all at most.
func TestOneLeavesOthersAQuarter(t *testing.T) {
	for _, c := range []struct{ all, first, second int }{{1000, 750, 125}, {8, 6, 1}, {4, 3, 1}, {3, 3, 0}, {1, 1, 0}} {
		p := New(c.all)
		first, second := takeAll(p, "first"), takeAll(p, "second")
		if len(first) != c.first || len(second) != c.second {
			t.Errorf("of %d: the first has %d, the second %d; want %d and %d", c.all, len(first), len(second), c.first, c.second)
		}
		for _, leave := range append(first, second...) {
			leave()
		}
		if p.taken != 0 || len(p.own) != 0 {
			t.Errorf("of %d: %d are taken, %v, after all have left", c.all, p.taken, p.own)
		}
	}
}

// TestAwait gets the place that comes free, and waits no longer than its context.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1)
		leave, _, _ := p.Take("first")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(time.Second, leave)
		begin := time.Now()
		if _, err := p.Await(ctx, "second"); err != nil || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if _, err := p.Await(ctx, "third"); err == nil || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestClient: a token is one client wherever it comes from; without one an address is.
func TestClient(t *testing.T) {
	r := &http.Request{RemoteAddr: "[::1]:1234"}
	if got := Client(r, ""); got != "::1" {
		t.Errorf("got %q", got)
	}
	if got := Client(r, "a"); got != "a" {
		t.Errorf("got %q", got)
	}
}
