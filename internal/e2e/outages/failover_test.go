package outages

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// TestFailover: a worker is killed, with a window of a million sentences of real posts in a full run. How long it takes until
// its partitions are looked up again is told: when it comes back at once, and when another takes over after the grace.
func TestFailover(t *testing.T) {
	n := 20_000
	if *e2e.Full {
		n = 1_000_000
	}
	begin := time.Now()
	failover(t, realPosts(t, n+probes*clientBatch, fillRate, begin.Add(-time.Duration(n+probes*clientBatch)*time.Second/fillRate)))
}

// TestFailoverOfTenMillion: the same with made-up posts.
func TestFailoverOfTenMillion(t *testing.T) {
	if !*e2e.Full {
		t.Skip("20 minutes: runs with -full")
	}
	const n = 10_000_000
	failover(t, madeUpPosts(n+probes*clientBatch, time.Now().Add(-(n+probes*clientBatch)*time.Second/fillRate)))
}

const (
	fillRate = 20_000 // posts a second, by their times
	probes   = 8      // batches that are sent after the window is there
)

func failover(t *testing.T, posts []post) {
	d := newDeployment(t, startBroker(t, "kafka"), devservers.StartRedis(t).Addr(), "")
	front := d.standard(2)
	memory, all := d.watchMemory(), newClients(d.withRole("split"), manyClients)
	window, rest := posts[:len(posts)-probes*clientBatch], posts[len(posts)-probes*clientBatch:]
	begin := time.Now()
	all.send(t.Context(), manyClients, window)
	front.awaitLookedUp()
	t.Logf("window of %d posts filled in %v", len(window), time.Since(begin).Round(time.Second))
	memory.endPhase("filled")

	probe := func(what string, since time.Time) {
		all.deliver(rest[:clientBatch])
		rest = rest[clientBatch:]
		front.awaitLookedUp()
		t.Logf("%s: looked up again after %v", what, time.Since(since).Round(10*time.Millisecond))
	}
	probe("nothing happens", time.Now())
	first, second := d.withRole("match")[0], d.withRole("match")[1]

	killed := time.Now()
	first.end(syscall.SIGKILL)
	first.launch()
	probe("killed, started again at once", killed)
	memory.endPhase("started again")

	stopped := time.Now()
	first.end(syscall.SIGTERM)
	first.launch()
	probe("stopped, started again at once", stopped)

	killed = time.Now()
	second.end(syscall.SIGKILL)
	probe("killed, another takes over", killed)
	memory.endPhase("taken over")

	returned := time.Now()
	second.launch()
	second.AwaitReady(2 * time.Minute)
	probe("comes back", returned)
	memory.endPhase("come back")
	memory.check()
}

// awaitLookedUp waits until everything that was accepted is looked up by all owners, and that is stored.
func (p *process) awaitLookedUp() {
	p.TB.Helper()
	resp, err := http.Get(p.URL("/v1/events?until=now"))
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		p.TB.Fatalf("%s: %v", resp.Status, err)
	}
}

// madeUpPosts are of twelve words each, one in ten of them like one before.
func madeUpPosts(n int, begin time.Time) (all []post) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 50_000)
	for i := range words {
		words[i] = fmt.Sprintf("w%x", rng.Uint32()>>8)
	}
	all = make([]post, 0, n)
	var text []byte
	for i := range n {
		if i%10 != 9 {
			text = text[:0]
			for range 12 {
				text = append(append(text, words[rng.IntN(len(words))]...), ' ')
			}
		}
		due := begin.Add(time.Duration(i) * time.Second / fillRate)
		line := fmt.Appendf(nil, `{"id":"m-%08d","author":"a%d","created_at":"%s","text":"%s"}`+"\n", i, i%1000,
			due.UTC().Format("2006-01-02T15:04:05.000Z"), text)
		all = append(all, post{line: line, due: due})
	}
	return all
}
