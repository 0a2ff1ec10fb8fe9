// Package health tests what a server says of itself while its brokers come and go, and that nobody sees its canaries.
package health

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// canariesSeen is how many canaries have come through.
func canariesSeen(p *e2e.Process) float64 { return p.Counters()["refrain_server_canaries_total/seen"] }

// awaitCanaries waits for some more of them.
func awaitCanaries(p *e2e.Process, more float64) {
	p.TB.Helper()
	before := canariesSeen(p)
	p.Await(time.Minute, "canaries", func() bool { return canariesSeen(p) >= before+more })
}

// incarnation is what each topic has its own of, in the positions.
var incarnation = regexp.MustCompile(`@[0-9A-Za-z_-]+`)

// stream is what a client reads that asks for all events, with their positions.
func stream(p *e2e.Process) string {
	p.TB.Helper()
	_, events := p.Get("/v1/events?from=start&until=now")
	return incarnation.ReplaceAllString(events, "")
}

// counted are all counters, and how much the window holds, but for what is the canaries' own.
func counted(p *e2e.Process) map[string]float64 {
	p.TB.Helper()
	all := map[string]float64{}
	for name, v := range p.Counters() {
		own := strings.HasPrefix(name, "refrain_server_") || strings.HasPrefix(name, "refrain_models_")
		counter := strings.Contains(name, "_total") || name == "refrain_sigstore_texts" ||
			name == "refrain_sigstore_occurrences" ||
			name == "refrain_shard_event_delay_seconds_count"
		if counter && !own {
			all[name] = v
		}
	}
	return all
}

// leftBehind is what a server shows of some posts: every event with its position, and the counters.
func leftBehind(t *testing.T, canaries string) (events string, counters map[string]float64) {
	t.Helper()
	p := e2e.New(t, "REFRAIN_CANARY_EVERY="+canaries, "REFRAIN_WORKERS=1")
	p.Start()
	for i := range 40 {
		if i == 20 && canaries != "0" {
			awaitCanaries(p, 8)
		}
		// One by one, and each in the index before the next: else how many events share a message is chance, and how many the
		// index takes in at once, which decides how often it reads and writes a record.
		line := fmt.Appendf(nil, `{"id":"p%d","created_at":"2024-05-06T07:08:%02dZ",`+
			`"text":"Sentence number %d is here again and says the same. Other words that nobody repeats %d."}`+"\n", i, i, i%7, i)
		if _, err := p.Post([][]byte{line}); err != nil {
			t.Fatal(err)
		}
		p.Events()
		p.Await(time.Minute, "events in the index", func() bool {
			c := p.Counters()
			return c["refrain_publish_lag#"] == 1 && c["refrain_publish_lag"] == 0
		})
	}
	if canaries != "0" {
		awaitCanaries(p, 8)
	}
	p.Await(time.Minute, "gauges at rest", func() bool {
		c := p.Counters()
		return c["refrain_sigstore_occurrences"] == 80 && c["refrain_lookup_events_total"] >= 245
	})
	return stream(p), counted(p)
}

// TestCanariesAreSeenByNobody: with one every tenth of a second, clients read the same bytes, positions included, and the
// counters are the same.
func TestCanariesAreSeenByNobody(t *testing.T) {
	events, counters := leftBehind(t, "0")
	if n := strings.Count(events, "event: dev.refrain.reuse.v1"); n < 33 {
		t.Fatalf("%d events, want 33 at least", n)
	}
	gotEvents, gotCounters := leftBehind(t, "100ms")
	if diff := cmp.Diff(strings.Split(events, "\n"), strings.Split(gotEvents, "\n")); diff != "" {
		t.Errorf("events: %s", diff)
	}
	if diff := cmp.Diff(counters, gotCounters); diff != "" {
		t.Errorf("counters: %s", diff)
	}
}

// TestCanariesAmongRealPosts: events are what detect says.
func TestCanariesAmongRealPosts(t *testing.T) {
	posts, _ := e2e.EdgePosts(t)
	lines := e2e.SplitLines(posts)[:5000]
	p := e2e.New(t, "REFRAIN_CANARY_EVERY=100ms")
	p.Start()
	p.Feed(lines, 250, func(int) {})
	got := p.Events()
	want := oracle.Sorted(e2e.Detect(t, bytes.Join(lines, nil), e2e.DefaultSettings(), nil))
	if missing, extra := oracle.Diff(slices.Compact(got), want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	if seen := canariesSeen(p); seen == 0 {
		t.Error("no canary was among them")
	}
}

// TestGaugesAfterARestart: what the window holds is told as it is, also when nothing comes any more.
func TestGaugesAfterARestart(t *testing.T) {
	const posts = 1000
	p := e2e.New(t, "REFRAIN_CANARY_EVERY=0")
	p.Start()
	var lines [][]byte
	for i := range posts {
		lines = append(lines, fmt.Appendf(nil, `{"id":"p%d","created_at":"2024-05-06T07:%02d:%02dZ",`+
			`"text":"these%[1]d words%[1]d are%[1]d only%[1]d here%[1]d"}`+"\n", i, i/60, i%60))
	}
	p.Feed(lines, 250, func(int) {})
	_ = p.Kill(syscall.SIGKILL)
	p.Start()
	p.Events()
	p.Await(20*time.Second, "all texts in the gauges", func() bool {
		c := p.Counters()
		return c["refrain_sigstore_texts"] == posts && c["refrain_sigstore_occurrences"] == posts
	})
}
