package apart

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// TestWriterDies: a split that dies holds the window's clock where its source was, until it has been silent for two minutes of
// the others' records, of some seconds in a short run; then the clock goes on.
func TestWriterDies(t *testing.T) {
	silence, slack := 6*time.Second, 3*time.Second
	if *e2e.Full {
		silence, slack = 2*time.Minute, 10*time.Second
	}
	onEachBroker(t, 2*time.Second, "", func(d *deployment) {
		var all []*e2e.Process
		for _, worker := range []string{"split-1", "split-2", "match-1"} {
			all = append(all, d.launch(worker, e2e.WithSilence(silence)))
		}
		for _, p := range all {
			p.AwaitReady(time.Minute)
		}
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
		match.Await(time.Minute+2*silence, "clock that goes on", func() bool {
			if time.Since(died) > time.Duration(next)*silence/240 {
				tick()
			}
			return held(match) == 0
		})
		if after := time.Since(died); after < silence-slack {
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
