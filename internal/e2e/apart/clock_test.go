package apart

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
)

// TestClocks: a split whose clock is wrong by seconds loses nothing, and is named; one that is wrong by more accepts nothing.
func TestClocks(t *testing.T) {
	onEachBroker(t, 2*time.Second, "", func(d *deployment) {
		t := d.t
		near := d.launch("split-1", e2e.WithClock(4*time.Second))
		behind := d.launch("split-2", e2e.WithClock(-4*time.Second))
		far := d.launch("split-3", e2e.WithClock(15*time.Second))
		past := d.launch("split-4", e2e.WithClock(-15*time.Second))
		api := d.start("match-1", "api-1")[1]
		for _, p := range []*e2e.Process{near, behind} {
			p.AwaitReady(time.Minute)
			p.Await(20*time.Second, "warning", func() bool { return strings.Contains(p.Log.String(), "our clock differs from") })
		}
		wantOffset(near, 4)
		wantOffset(behind, -4)

		post(near, `{"id":"1","created_at":"2026-01-02T03:04:05Z","text":"`+long+`"}`)
		post(behind, `{"id":"2","created_at":"2026-01-02T03:04:04Z","text":"`+long+`"}`)
		if all := api.Matches(); len(ids(all)) != 1 || all[0].Later.Post != "1" || all[0].Earlier.Post != "2" {
			t.Errorf("events: %+v", all)
		}

		for p, seconds := range map[*e2e.Process]float64{far: 15, past: -15} {
			p.Await(20*time.Second, "reason not to be ready", func() bool {
				status, answer := get(p, "/readyz")
				return status == http.StatusServiceUnavailable && strings.Contains(answer, "the clock of this machine is 1")
			})
			wantOffset(p, seconds)
			if a, err := p.Post([][]byte{[]byte(`{"id":"3","text":"` + long + `"}` + "\n")}); err == nil {
				t.Errorf("a clock that is wrong by %v s: %+v", seconds, a)
			}
		}
		if all := api.Matches(); len(ids(all)) != 1 {
			t.Errorf("events: %+v", all)
		}
	})
}

// ids are those of events, each once.
func ids(all []feed.Match) map[feed.Hash]bool {
	set := map[feed.Hash]bool{}
	for i := range all {
		set[all[i].ID] = true
	}
	return set
}

// get is do for a process that may not answer yet.
func get(p *e2e.Process, path string) (status int, answer string) {
	if resp, err := http.Get(p.URL(path)); err == nil {
		resp.Body.Close()
		return do(p, "GET", path, "")
	}
	return 0, ""
}

// wantOffset reads the metric.
func wantOffset(p *e2e.Process, seconds float64) {
	p.TB.Helper()
	p.Await(20*time.Second, "offset of the clock", func() bool {
		c, err := p.TryCounters()
		offset := c["refrain_server_clock_offset_seconds"]
		return err == nil && offset > seconds-.5 && offset < seconds+.5
	})
}
