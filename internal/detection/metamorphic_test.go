package detection_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/text"
)

// variant is a way to do the same.
type variant struct {
	name   string
	change func(*e2e.Settings)
}

// variants may not change an event.
func variants(tb testing.TB) []variant {
	list := []variant{
		parts(1, 1, 2), parts(7, 1, 2), parts(1000, 1, 2),
		parts(500, 3, 1), parts(500, 3, 2), parts(500, 8, 4), parts(7, 8, 1),
	}
	for _, engine := range []string{"scan", "prefix"} {
		list = append(list, variant{engine, func(s *e2e.Settings) { s.Window.Engine = mustEngine(tb, engine) }})
	}
	for _, c := range []struct{ bits, ones int }{{32, 1}, {32, 2}, {64, 2}, {128, 4}, {256, 1}} {
		list = append(list, codes(tb, "auto", c.bits, c.ones, 1))
	}
	return append(list, codes(tb, "scan", 32, 2, 1), codes(tb, "scan", 128, 2, 3))
}

// parts deals posts and sentences out in another way.
func parts(batch, partitions, workers int) variant {
	return variant{fmt.Sprintf("batch %d, partitions %d, workers %d", batch, partitions, workers), func(s *e2e.Settings) {
		s.Batch, s.Partitions, s.Workers = batch, partitions, workers
	}}
}

// codes signs sentences by others.
func codes(tb testing.TB, engine string, bits, ones, partitions int) variant {
	return variant{fmt.Sprintf("%s, bits %d, ones %d, partitions %d", engine, bits, ones, partitions), func(s *e2e.Settings) {
		s.Window.Engine, s.Partitions = mustEngine(tb, engine), partitions
		var err error
		if s.Window.Model, err = hashcodes.NewMD5(bits, ones); err != nil {
			tb.Fatal(err)
		}
	}}
}

func mustEngine(tb testing.TB, name string) detector.Engine {
	tb.Helper()
	e, err := detector.NewEngine(name, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// settings are what a feed is run under: the default, a lower threshold in a short window, and other similarities.
func settings() map[string]e2e.Settings {
	low := e2e.DefaultSettings()
	low.Window.Threshold, low.Window.Span, low.MinTokens = text.Threshold{Num: 1, Den: 2}, time.Hour, 1
	cosine, dice := e2e.DefaultSettings(), low
	cosine.Window.Similarity, dice.Window.Similarity = text.Cosine, text.Dice
	return map[string]e2e.Settings{
		"default": e2e.DefaultSettings(), "threshold 0.5, min tokens 1, span 1h": low,
		"cosine": cosine, "dice, threshold 0.5, min tokens 1, span 1h": dice,
	}
}

// TestVariantsGiveTheSameEvents runs one feed under every variant, in order, and the same posts in another order
// and delivered twice.
func TestVariantsGiveTheSameEvents(t *testing.T) {
	for _, file := range realFiles {
		n := file.size() / 3
		switch {
		case *e2e.Full:
			n = 20_000
		case testing.Short():
			n /= 3 // the race detector sees the same goroutines
		}
		posts := e2e.Lines(t, file.name, n)
		for name, s := range settings() {
			t.Run(file.name+"/"+name, func(t *testing.T) { compareVariants(t, posts, s) })
		}
	}
}

func compareVariants(t *testing.T, posts []byte, s e2e.Settings) {
	want := oracle.Sorted(e2e.Detect(t, posts, s, nil))
	same := func(name string, posts []byte, v variant) {
		t.Run(name, func(t *testing.T) {
			s := s
			v.change(&s)
			got := oracle.Sorted(e2e.Detect(t, posts, s, nil))
			if missing, extra := oracle.Diff(got, want); len(missing)+len(extra) > 0 {
				t.Errorf("%d events missing, %d extra, of %d", len(missing), len(extra), len(want))
			}
		})
	}
	for _, v := range variants(t) {
		same(v.name, posts, v)
	}
	for seed := range uint64(3) {
		// Whoever deals the posts out again gives each the time it had: in a file a post without one takes that of the
		// posts before it.
		late := shuffle(t, stamped(t, posts), seed, s.Window.Lateness)
		same(fmt.Sprintf("shuffled within lateness, seed %d", seed), late, parts(7, 1, 2))
		same(fmt.Sprintf("shuffled within lateness, seed %d, partitions", seed), late, parts(500, 3, 2))
	}
	same("delivered twice", append(slices.Clone(posts), posts...), parts(500, 1, 2))
	same("every post twice", twice(posts), parts(500, 3, 2))
}

// stamped gives posts without a time the one that a file gives them.
func stamped(tb testing.TB, posts []byte) []byte {
	tb.Helper()
	var greatest feed.Time
	var out bytes.Buffer
	for _, line := range e2e.SplitLines(posts) {
		p, _, err := feed.DecodePost(line, nil)
		if err != nil {
			continue
		}
		greatest = max(greatest, p.Time)
		if p.Timed {
			out.Write(line)
			continue
		}
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil {
			tb.Fatal(err)
		}
		object["created_at"] = greatest.String()
		b, err := json.Marshal(object)
		if err != nil {
			tb.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	return out.Bytes()
}

// shuffle puts posts in the order of their time plus a random delay below the lateness.
func shuffle(tb testing.TB, posts []byte, seed uint64, lateness time.Duration) []byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	type arrival struct {
		at   feed.Time
		line []byte
	}
	var all []arrival
	for _, line := range e2e.SplitLines(posts) {
		p, _, err := feed.DecodePost(line, nil)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, arrival{p.Time + feed.Time(r.Int64N(lateness.Milliseconds())), line})
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return int(a.at - b.at) })
	var out bytes.Buffer
	for _, a := range all {
		out.Write(a.line)
	}
	return out.Bytes()
}

// twice repeats every line at once.
func twice(posts []byte) []byte {
	var out bytes.Buffer
	for _, line := range e2e.SplitLines(posts) {
		out.Write(line)
		out.Write(line)
	}
	return out.Bytes()
}
