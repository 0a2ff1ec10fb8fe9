package auto_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/text"
)

var theta = text.Threshold{Num: 3, Den: 5}

// found are the groups that really match.
func found(w *sigstore.Window, x *feed.Sentence) (hashes []string) {
	groups, q := w.Search(x)
	for _, g := range groups {
		if theta.Reaches(q.Overlap(g), len(x.Tokens), g.Size()) {
			hashes = append(hashes, w.Hash(g).String())
		}
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}

// TestChangingEnginesChangesNothing: a window whose engine changes with nearly every block answers as one whose does not.
func TestChangingEnginesChangesNothing(t *testing.T) {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	bounds := hashcodes.NewBounds(theta, 1)
	choices := auto.Choices(bounds, model.Words())
	turn := 0
	choices[0].Cost = func(auto.Load) float64 { turn++; return []float64{1, 100}[turn%2] }
	choices[1].Cost = func(auto.Load) float64 { return 10 }
	var log strings.Builder
	moody := auto.New(auto.Config{Choices: choices, Bounds: bounds, Few: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	cfg := sigstore.Config{Span: 4 * time.Second, Model: model, Bounds: bounds, Engine: moody}
	a := sigstore.New(cfg)
	cfg.Engine = choices[0].Engine
	b := sigstore.New(cfg)
	r, matches := rand.New(rand.NewPCG(1, 2)), 0
	for i := range 6000 {
		x := sentence(r, i)
		got, want := found(a, &x), found(b, &x)
		if !slices.Equal(got, want) {
			t.Fatalf("sentence %d: %d groups, want %d", i, len(got), len(want))
		}
		matches += len(got)
		victim := fmt.Sprint(i - r.IntN(50))
		for _, w := range []*sigstore.Window{a, b} {
			w.Insert(&x)
			w.Advance(x.Time)
			if i%7 == 0 {
				w.Delete("", victim)
			}
		}
	}
	if changes := strings.Count(log.String(), "engine: changed"); changes < 8 || matches < 1000 {
		t.Errorf("%d changes of engine, %d matches", changes, matches)
	}
}

func sentence(r *rand.Rand, i int) feed.Sentence {
	var tokens []uint64
	for range 3 + r.IntN(6) {
		tokens = append(tokens, r.Uint64N(40))
	}
	tokens = text.Set(tokens)
	return feed.Sentence{Post: fmt.Sprint(i), Time: feed.Time(i * 4), Tokens: tokens, Group: feed.GroupHash(tokens)}
}
