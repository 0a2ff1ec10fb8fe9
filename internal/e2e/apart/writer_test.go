package apart

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// TestWriterDies: a split that dies holds the window's clock where its source was, until it has been silent for two minutes of
// the others' records; then the clock goes on.
func TestWriterDies(t *testing.T) {
	if !*e2e.Full {
		t.Skip("takes five minutes: runs with -full")
	}
	onEachBroker(t, 2*time.Second, "", func(d *deployment) {
		all := d.start("split-1", "split-2", "match-1")
		slow, fast, match := all[0], all[1], all[2]
		write(slow, "slow", 3, 0)
		next := 0
		tick := func() {
			next++
			write(fast, fmt.Sprint("fast", next), 3, 60)
		}
		match.Await(time.Minute, "clock that is held", func() bool { tick(); return held(match) > 3000 })
		_ = slow.Kill(syscall.SIGKILL)
		died := time.Now()
		match.Await(5*time.Minute, "clock that goes on", func() bool {
			if time.Since(died) > time.Duration(next)*time.Second/2 {
				tick()
			}
			return held(match) == 0
		})
		if after := time.Since(died); after < 110*time.Second {
			d.t.Errorf("it went on after %v", after)
		}
	})
}

// write posts some of a minute.
func write(p *e2e.Process, name string, posts, minute int) {
	p.TB.Helper()
	at := time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)
	for i := range posts {
		post(p, fmt.Sprintf(`{"id":"%s-%d","created_at":%q,"text":"%s %s %d"}`, name, i, at.Format(time.RFC3339), long, name, i))
	}
}

// held is how far the clock of the windows is held behind, in seconds.
func held(p *e2e.Process) float64 {
	c, err := p.TryCounters()
	if err != nil {
		return -1
	}
	return c["refrain_shard_held_by_seconds"]
}
