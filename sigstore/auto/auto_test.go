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

var theta = text.Jaccard.At(text.Threshold{Num: 3, Den: 5})

// found are the groups that really match.
func found(w *sigstore.Window, x *feed.Sentence) (hashes []string) {
	groups, q := w.Searcher().Search(x)
	for _, g := range groups {
		if theta.Reaches(q.Overlap(g), len(x.Tokens), g.Size()) {
			hashes = append(hashes, w.Groups().Hash(g).String())
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
	r, matches, victims := rand.New(rand.NewPCG(1, 2)), 0, map[string]bool{}
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
				victims[victim] = true
				w.Delete(func(_, post string) bool { return victims[post] }, []feed.Name{{Post: victim}})
			}
		}
	}
	if changes := strings.Count(log.String(), "engine: changed"); changes < 8 || matches < 1000 {
		t.Errorf("%d changes of engine, %d matches", changes, matches)
	}
}

// TestDeadRows: an engine that takes over is given dead rows too, so that it counts as the window does, and finds none of
// them, whatever it does with rows without tokens: most of a block, or more than it sorts at once.
func TestDeadRows(t *testing.T) {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	bounds := hashcodes.NewBounds(theta, 1)
	for to := range auto.Choices(bounds, model.Words()) {
		choices := auto.Choices(bounds, model.Words())
		choices[0], choices[1] = choices[1-to], choices[to]
		choices[0].Cost, choices[1].Cost = func(auto.Load) float64 { return 10 }, func(auto.Load) float64 { return 1 }
		w := &rows{model: model}
		x := auto.New(auto.Config{Choices: choices, Bounds: bounds, Few: 1})(w)
		for range 3 {
			x.Open() // the second changes the engine, with all rows of the first dead but some
			for n := range 9000 {
				set := []uint32{uint32(n % 7), uint32(7 + n%11), uint32(18 + n%13), uint32(31 + n)}
				x.Add(set, w.Signature(set))
				if n%100 > 0 {
					set = nil
				}
				w.sets = append(w.sets, set)
			}
		}
		for n, set := range w.sets {
			if set == nil || n >= 9000 {
				continue
			}
			q := []sigstore.Query{{Tokens: set, Size: len(set), Signature: w.Signature(set)}}
			x.Search(q)
			if !slices.Contains(q[0].Hits, sigstore.Row{Row: uint32(n)}) {
				t.Fatalf("%s: row %d is not found by its own tokens", choices[1].Name, n)
			}
			for _, r := range q[0].Hits {
				if r.Block == 0 && w.Tokens(r) == nil {
					t.Fatalf("%s: dead row %v is found", choices[1].Name, r)
				}
			}
		}
	}
}

// rows are a window's, blocks of 9,000.
type rows struct {
	model *hashcodes.Model
	sets  [][]uint32 // nil of a dead row
	lent  []uint32
}

func (w *rows) Frequencies() []uint32 { return make([]uint32, 31+9000) }

func (w *rows) Tokens(r sigstore.Row) []uint32 {
	set := w.sets[9000*r.Block+r.Row]
	if set == nil {
		return nil
	}
	w.lent = append(w.lent[:0], set...) // as a window lends it
	return w.lent
}

func (w *rows) Signature(tokens []uint32) hashcodes.Signature {
	var ids []uint64
	for _, t := range tokens {
		ids = append(ids, uint64(t))
	}
	return w.model.Sign(make(hashcodes.Signature, w.model.Words()), ids)
}

func sentence(r *rand.Rand, i int) feed.Sentence {
	var tokens []uint64
	for range 3 + r.IntN(6) {
		tokens = append(tokens, r.Uint64N(40))
	}
	tokens = text.Set(tokens)
	return feed.Sentence{Post: fmt.Sprint(i), Time: feed.Time(i * 4), Tokens: tokens, Group: feed.GroupHash(tokens)}
}
