// Package siege attacks a server for a while, in every way that is known, beside a client that means well.
package siege

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/e2e"
)

var lasts = flag.Duration("siege", 0, "how long the siege lasts; 0: 12 s, or with -full an hour")

const (
	honestToken  = "honest-token-of-32-characters-long"
	malloryToken = "mallory-token-of-32-characters-too"
	attackers    = 3
	budget       = 1 << 30
	allowance    = 300 << 20 // above the budget
)

const config = `
auth:
  tokens:
  - {name: honest, token: ` + honestToken + `, scopes: [read, write]}
  - {name: mallory, token: ` + malloryToken + `, scopes: [read, write]}
window:
  span: 1h
  budget: 1GiB
  max_matches: 1000
canary: {every: 1s}
log: {level: error}
`

// TestSiege: 500 honest posts a second go through while others attack at random; all of them are accepted, all events
// that they make are given, the memory stays within its bound, and nothing is unaccounted for at the end.
func TestSiege(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute at least")
	}
	d := *lasts
	switch {
	case d == 0 && *e2e.Full:
		d = time.Hour
	case d == 0:
		d = 12 * time.Second
	}
	p := mustStart(t)
	begin := time.Now()
	h, f, attackers, n := besiege(t, p, d)
	want := mustDetect(t, h.sent.Name())
	p.Await(5*time.Minute, fmt.Sprintf("%d events", len(want)), func() bool { got, _ := f.counts(); return got >= len(want) })
	compare(t, slices.Sorted(maps.Keys(hexes(f.ids))), slices.Sorted(maps.Keys(hexes(set(want)))))
	var c map[string]float64
	p.Await(5*time.Minute, "account of every sentence", func() bool { // those of others may wait behind the honest ones
		c = p.Counters()
		return accounted(c) >= c["refrain_split_sentences_total"]
	})
	balance(t, c)
	if c["refrain_sigstore_forced_total"] > 0 {
		t.Errorf("%v texts were forced out: the attackers have the window", c["refrain_sigstore_forced_total"])
	}
	honest, others := f.counts()
	t.Logf("%d honest posts, %d events of theirs, %d of others; answers %v", n, honest, others, h.tries)
	t.Logf("batch of %d accepted after: %s", honestBatch, percentiles(h.delays))
	due, accepted := f.delays(h)
	t.Logf("event at the follower, after the post was due: %s", percentiles(due))
	t.Logf("event at the follower, after it was accepted: %s", percentiles(accepted))
	logSpells(t, begin, spells(h, f), attackers)
	stages(t, p)
}

// stages says how long each part of the route took, of everybody's posts and events: the attackers' too, which are most of
// them and wait for each other. What takes the least of them is a canary, which is nobody's.
func stages(t *testing.T, p *e2e.Process) {
	t.Helper()
	all := p.Histograms()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if h := all[name]; strings.Contains(name, "delay") && h.Count() > 0 {
			t.Logf("%-45s p50 up to %vs, p90 %vs, p99 %vs (%d)", name, h.Quantile(.5), h.Quantile(.9), h.Quantile(.99), h.Count())
		}
	}
}

func mustStart(t *testing.T) *e2e.Process {
	t.Helper()
	p := e2e.New(t, e2e.WithYAML(t, config), "GODEBUG=madvdontneed=1")
	p.Token = honestToken
	p.Start()
	return p
}

// besiege runs everything for d, and waits for the honest client's last answer.
func besiege(t *testing.T, p *e2e.Process, d time.Duration) (*honest, *follower, []*attacker, int) {
	file, err := os.Create(filepath.Join(t.TempDir(), "honest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	h := &honest{tb: t, posts: newRealPosts(t), url: p.URL(""), sent: file, tries: map[int]int{}}
	f := &follower{tb: t, url: p.URL(""), ids: map[feed.Hash]bool{}}
	begin := time.Now()
	attack, stopAttack := context.WithDeadline(t.Context(), begin.Add(d))
	watching, stopWatching := context.WithCancel(t.Context())
	t.Cleanup(stopWatching)
	var attacking, watchers sync.WaitGroup
	var all []*attacker
	for i := range attackers {
		a := newAttacker(t, p.Address, uint64(i+1))
		all = append(all, a)
		attacking.Go(func() { a.run(attack) })
	}
	var samples []sample
	watchers.Go(func() { samples = watch(watching, p.Cmd.Process.Pid, p.URL(""), p.Dir) })
	go f.run(t.Context()) // ends with the test
	n := h.run(begin, begin.Add(d))
	stopAttack()
	attacking.Wait()
	stopWatching()
	watchers.Wait()
	report(t, samples, all)
	return h, f, all, n
}

// report says what the process held, and how the attacks were answered.
func report(t *testing.T, samples []sample, all []*attacker) {
	var peak, disk int64
	ready := map[int]int{}
	for i, s := range samples {
		peak, disk = max(peak, s.anonymous), max(disk, s.disk)
		ready[s.ready]++
		if i%max(1, len(samples)/30) == 0 {
			t.Logf("%8s  RssAnon %5d MB  disk %5d MB  readyz %d", s.at.Round(time.Second), s.anonymous>>20, s.disk>>20, s.ready)
		}
	}
	t.Logf("RssAnon at most %d MB, budget %d MB; disk at most %d MB; readyz %v", peak>>20, budget>>20, disk>>20, ready)
	if peak == 0 || peak > budget+allowance {
		t.Errorf("RssAnon %d MB: want at most %d", peak>>20, (budget+allowance)>>20)
	}
	for _, x := range attacks {
		answers := map[int]int{}
		for _, a := range all {
			for status, n := range a.answers[x.name] {
				answers[status] += n
			}
		}
		t.Logf("%-40s %v", x.name, answers)
	}
}

// mustDetect is what detect says of the honest posts alone.
func mustDetect(t *testing.T, path string) []feed.Hash {
	t.Helper()
	posts, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer posts.Close()
	s := e2e.DefaultSettings()
	s.Window = detector.Default()
	s.Window.Span = time.Hour
	return e2e.DetectFrom(t, posts, s, nil)
}

func set(ids []feed.Hash) map[feed.Hash]bool {
	all := map[feed.Hash]bool{}
	for _, id := range ids {
		all[id] = true
	}
	return all
}

func hexes(ids map[feed.Hash]bool) map[string]bool {
	all := map[string]bool{}
	for id := range ids {
		all[id.String()] = true
	}
	return all
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	lost, invented := minus(want, got), minus(got, want)
	t.Logf("%d events wanted, %d lost, %d invented", len(want), lost, invented)
	if lost+invented > 0 {
		t.Errorf("lost %d, invented %d events of honest posts", lost, invented)
	}
}

// minus counts what is in a and not in b.
func minus(a, b []string) (n int) {
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); !found {
			n++
		}
	}
	return n
}

// balance holds the counters against each other, docs/operations.md.
func balance(t *testing.T, c map[string]float64) {
	t.Helper()
	became := accounted(c)
	split, unconfirmed := c["refrain_split_sentences_total"], c["refrain_split_unconfirmed_sentences_total"]
	if became < split || became > split+unconfirmed || split == 0 {
		t.Errorf("%v sentences split and %v perhaps, %v accounted for", split, unconfirmed, became)
	}
}

// accounted is how many sentences have become something.
func accounted(c map[string]float64) float64 {
	const sentences = "refrain_sigstore_sentences_total"
	return c[sentences+"/inserted"] + c[sentences+"/repeat"] + c[sentences+"/too_short"] + c[sentences+"/deleted"]
}

func percentiles(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	at := func(q float64) time.Duration { return d[int(q*float64(len(d)-1))].Round(100 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, p99.9 %v, at most %v (%d)", at(.5), at(.9), at(.99), at(.999), at(1), len(d))
}
