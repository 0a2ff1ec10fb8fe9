package outages

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
)

// memory watches what every process of a deployment takes.
type memory struct {
	d        *deployment
	mu       sync.Mutex
	greatest map[string]int64 // by name, bytes, since the last mark
	columns  []map[string]int64
	names    []string
}

const memoryEvery = 100 * time.Millisecond

// watchMemory looks until the test ends.
func (d *deployment) watchMemory() *memory {
	m := &memory{d: d, greatest: map[string]int64{}}
	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(d.t.Context())
	watching.Go(func() {
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for {
			m.sample()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	d.t.Cleanup(func() { cancel(); watching.Wait() })
	return m
}

func (m *memory) sample() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.d.procs {
		if pid := p.pid.Load(); pid != 0 {
			m.greatest[p.name] = max(m.greatest[p.name], e2e.RSSAnon(int(pid)))
		}
	}
}

// endPhase ends a column of the table.
func (m *memory) endPhase(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names, m.columns = append(m.names, name), append(m.columns, m.greatest)
	m.greatest = map[string]int64{}
}

// check wants every process below what is promised, and logs the table.
func (m *memory) check() {
	m.d.t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "\n| process | %s |\n|---|%s\n", strings.Join(m.names, " | "), strings.Repeat("---|", len(m.names)))
	for _, p := range m.d.procs {
		fmt.Fprintf(&out, "| %s |", p.name)
		for _, column := range m.columns {
			fmt.Fprintf(&out, " %d MB |", column[p.name]>>20)
			if most := p.maxMemory(); column[p.name] > most {
				m.d.t.Errorf("%s takes %d MB, more than %d", p.name, column[p.name]>>20, most>>20)
			}
		}
		out.WriteByte('\n')
	}
	m.d.t.Log(out.String())
}

func (p *process) maxMemory() int64 {
	if strings.Contains(p.roles, "match") {
		return budget + headroom
	}
	return headroom
}

// arrivals notes when the first event about each post came.
type arrivals struct {
	mu  sync.Mutex
	at  map[string]time.Time // by the later post
	ids map[string]bool      // of events
}

func newArrivals() arrivals { return arrivals{at: map[string]time.Time{}, ids: map[string]bool{}} }

// follow follows the events of a process until the test ends.
func follow(t *testing.T, p *process) *arrivals {
	a := newArrivals()
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		for last := ""; ctx.Err() == nil; {
			last = a.stream(ctx, p, last)
			sleepUntil(ctx, time.Now().Add(50*time.Millisecond))
		}
	})
	t.Cleanup(func() { cancel(); following.Wait() })
	return &a
}

// stream reads a connection to its end, and returns where to go on.
func (a *arrivals) stream(ctx context.Context, p *process, last string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL("/v1/events?from=start"), nil)
	if err != nil {
		return last
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return last
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 2<<20)
	for in.Scan() {
		if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
			last = id
		}
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok && strings.Contains(data, feed.ReuseType) {
			a.observe([]byte(data))
		}
	}
	return last
}

// count is how many different events have come.
func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}

func (a *arrivals) observe(event []byte) {
	now := time.Now()
	if m, err := feed.DecodeEvent(event); err == nil { // else the comparison with detect will say so
		a.add(m.ID.String(), m.Later.Post, now)
	}
}

func (a *arrivals) add(id, later string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[id] = true
	if a.at[later].IsZero() {
		a.at[later] = now
	}
}

// delays are how long after posts were due their first events came, of posts that were due within some time.
func (a *arrivals) delays(posts []post, from, to time.Time) (all delays) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range posts {
		if at := a.at[posts[i].id]; !at.IsZero() && !posts[i].due.Before(from) && posts[i].due.Before(to) {
			all = append(all, at.Sub(posts[i].due))
		}
	}
	slices.Sort(all)
	return all
}

// delays are sorted.
type delays []time.Duration

func (d delays) String() string {
	if len(d) == 0 {
		return "none"
	}
	at := func(part float64) time.Duration { return d[int(part*float64(len(d)-1))].Round(time.Millisecond) }
	return fmt.Sprintf("p50 %v, p99 %v, greatest %v, of %d", at(.5), at(.99), at(1), len(d))
}
