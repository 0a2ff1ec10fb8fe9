package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/topic"
)

// Group is one group of members that share parts, for a test. Joining it is to end with the test.
type Group struct {
	Parts int
	// Join adds a process of this name.
	Join func(t *testing.T, member string) topic.Membership
	// Kill ends a member as SIGKILL does: it says nothing to the others. nil: such members cannot die.
	Kill func(m topic.Membership)
	// Settle is how long it takes at most until the others have a dead member's parts.
	Settle time.Duration
}

// RunMembership checks what topic.Membership promises. open makes a group that nobody has joined.
func RunMembership(t *testing.T, open func(t *testing.T) Group) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *party)
	}{
		{"share", testShare}, {"return", testReturn}, {"death", testDeath}, {"restart", testRestart},
		{"same name", testSameName}, {"next", testNext}, {"concurrent", testJoinAtOnce},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := open(t)
			test.run(t, &party{t: t, Group: g, held: map[string][]int{}, news: make(chan struct{}, 1)})
		})
	}
}

// party follows the members of a group, each in a goroutine that ends with the test.
type party struct {
	Group
	t    *testing.T
	mu   sync.Mutex
	held map[string][]int // what each member that lives has now
	news chan struct{}
}

// join adds a member and follows it.
func (p *party) join(name string) topic.Membership {
	m := p.Join(p.t, name)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		p.follow(ctx, name, m)
	}()
	p.t.Cleanup(func() {
		cancel()
		<-done
	})
	return m
}

func (p *party) follow(ctx context.Context, name string, m topic.Membership) {
	for {
		parts, err := m.Next(ctx)
		if err != nil {
			if !errors.Is(err, topic.ErrClosed) && !errors.Is(err, context.Canceled) {
				p.t.Errorf("%s: next: %v", name, err)
			}
			return
		}
		p.mu.Lock()
		p.held[name] = parts
		p.mu.Unlock()
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
}

// leave closes a member and forgets it.
func (p *party) leave(name string, m topic.Membership) {
	p.t.Helper()
	if err := m.Close(); err != nil {
		p.t.Errorf("close %s: %v", name, err)
	}
	p.forget(name)
}

func (p *party) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, name)
}

// await waits until exactly these members have what Deal gives them, and returns how long that took.
func (p *party) await(limit time.Duration, members ...string) time.Duration {
	p.t.Helper()
	begin, deadline := time.Now(), time.After(limit)
	want := topic.Deal(p.Parts, members)
	for {
		d := p.compare(want)
		if d == "" {
			return time.Since(begin)
		}
		select {
		case <-p.news:
		case <-deadline:
			p.t.Fatalf("after %v not what Deal says (+): %s", limit, d)
		}
	}
}

func (p *party) compare(want map[string][]int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := map[string][]int{}
	for m, parts := range p.held {
		got[m] = parts
	}
	for m, parts := range want {
		if got[m] == nil && len(parts) > 0 {
			return fmt.Sprintf("%s has nothing yet of %v", m, parts)
		}
	}
	for m, parts := range got {
		if !slices.Equal(parts, want[m]) {
			return cmp.Diff(got, want)
		}
	}
	return ""
}

// settled is for what needs no session to end.
func (p *party) settled() time.Duration { return max(p.Settle, stepTimeout) }

func testShare(t *testing.T, p *party) {
	p.join("a")
	p.await(p.settled(), "a")
	b := p.join("b")
	p.await(p.settled(), "a", "b")
	p.join("c")
	p.await(p.settled(), "a", "b", "c")
	p.leave("b", b)
	if took := p.await(p.settled(), "a", "c"); p.Kill != nil && took > p.Settle/2 {
		t.Errorf("the parts of a member that leaves took %v, of one that dies they would have taken %v", took, p.Settle)
	}
}

// testReturn: a member that comes back gets its own, and neither leaving nor coming back moves more than it must.
func testReturn(t *testing.T, p *party) {
	members := []string{"a", "b", "c", "d"}
	joined := map[string]topic.Membership{}
	for _, m := range members {
		joined[m] = p.join(m)
	}
	p.await(p.settled(), members...)
	before := p.owners()
	p.leave("b", joined["b"])
	p.await(p.settled(), "a", "c", "d")
	if n := differ(before, p.owners()); n > 2*p.Parts/len(members) {
		t.Errorf("leaving moved %d of %d parts", n, p.Parts)
	}
	p.join("b")
	p.await(p.settled(), members...)
	if n := differ(before, p.owners()); n != 0 {
		t.Errorf("%d parts have other owners than before it left", n)
	}
}

func (p *party) owners() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]string, p.Parts)
	for m, parts := range p.held {
		for _, part := range parts {
			out[part] = m
		}
	}
	return out
}

func differ(a, b []string) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

func testDeath(t *testing.T, p *party) {
	if p.Kill == nil {
		t.Skip("members of this kind die with the process")
	}
	p.join("a")
	b := p.join("b")
	p.await(p.settled(), "a", "b")
	p.Kill(b)
	p.forget("b")
	t.Logf("the parts of a dead member moved after %v", p.await(p.Settle, "a"))
}

// testRestart: a process that died and is back before anybody noticed waits for itself, and takes up what it had.
func testRestart(t *testing.T, p *party) {
	if p.Kill == nil {
		t.Skip("members of this kind die with the process")
	}
	p.join("a")
	b := p.join("b")
	p.await(p.settled(), "a", "b")
	p.Kill(b)
	p.forget("b")
	p.join("b")
	t.Logf("a restarted member had its parts after %v", p.await(2*p.Settle, "a", "b"))
}

// testSameName: the later one hears of it, the earlier one goes on.
func testSameName(t *testing.T, p *party) {
	p.join("a")
	p.await(p.settled(), "a")
	later := p.Join(t, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 4*p.settled())
	defer cancel()
	parts, err := later.Next(ctx)
	for ; err == nil; parts, err = later.Next(ctx) {
		if len(parts) > 0 {
			t.Fatalf("the later one was given %v", parts)
		}
	}
	var taken *topic.NameTakenError
	if !errors.As(err, &taken) || taken.Member != "a" {
		t.Errorf("the later one: got %v, want a *NameTakenError of a", err)
	}
	if err := later.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	p.await(p.settled(), "a")
}

func testNext(t *testing.T, p *party) {
	m := p.Join(t, "a")
	parts, err := m.Next(t.Context())
	for ; err == nil && len(parts) < p.Parts; parts, err = m.Next(t.Context()) {
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), p.Settle/4+50*time.Millisecond)
	defer cancel()
	if parts, err := m.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nothing changes: got %v, %v, want the deadline", parts, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := m.Next(context.Background())
		ended <- err
	}()
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; !errors.Is(err, topic.ErrClosed) {
		t.Errorf("next of a closed membership: got %v, want ErrClosed", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func testJoinAtOnce(t *testing.T, p *party) {
	var members []string
	var wg sync.WaitGroup
	for i := range 6 {
		name := fmt.Sprint("worker-", i)
		members = append(members, name)
		wg.Go(func() { p.join(name) })
	}
	wg.Wait()
	p.await(p.settled(), members...)
}
