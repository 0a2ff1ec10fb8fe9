package join

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/text"
)

// TestLongRows: where rows are listed those of more than longest tokens are counted, also with partners that are listed.
func TestLongRows(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var sets [][]uint64
	for range 60 {
		set := make([]uint64, 0, longest+40)
		for i := range uint64(longest - 40 + r.IntN(80)) {
			set = append(set, i+uint64(r.IntN(1+r.IntN(60))))
		}
		sets = append(sets, text.Set(set), text.Set(set[:r.IntN(20)]))
	}
	sets = append(sets, sets[:20]...)
	a, b := mustCollect(t, sets), mustCollect(t, sets[30:])
	for _, threshold := range []text.Threshold{{Num: 3, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1}} {
		m := text.Jaccard.At(threshold)
		cfg := Config{Measure: m, Workers: 2, look: byToken}
		if got, _ := mustJoin(t, cfg, a, nil); !slices.Equal(sorted(got), bruteSelf(m, sets)) {
			t.Errorf("%v: %d pairs, want %d", m, len(got), len(bruteSelf(m, sets)))
		}
		if got, _ := mustJoin(t, cfg, a, b); !slices.Equal(sorted(got), brute(m, sets, sets[30:])) {
			t.Errorf("%v, two collections: %d pairs", m, len(got))
		}
	}
}

// TestMillionTokens: two long sets, which share all but the front of their prefixes, are compared once, and not at every token.
func TestMillionTokens(t *testing.T) {
	const shift = 20_000
	tokens := make([]uint64, MaxTokens+shift)
	for i := range tokens {
		tokens[i] = uint64(i)
	}
	front, back := tokens[:shift], tokens[MaxTokens:]
	c := mustCollect(t, [][]uint64{tokens[:MaxTokens], tokens[shift:], front, back})
	cfg := Default()
	cfg.look = byToken
	got, stats := mustJoin(t, cfg, c, nil)
	if want := []pair{{0, 1, MaxTokens - shift}}; !slices.Equal(got, want) || stats.Candidates != 1 || stats.Signature > 1 {
		t.Errorf("got %v, want %v; %+v", got, want, stats)
	}
}

// ending is a context that ends when it has been asked so many times.
type ending struct {
	context.Context
	asked, ends int
}

func (c *ending) Err() error {
	if c.asked++; c.asked > c.ends {
		return context.Canceled
	}
	return nil
}

// TestEndOfOrdering: the end of the context ends putting sets in order, before a pair is looked for.
func TestEndOfOrdering(t *testing.T) {
	tokens := make([]uint64, 300_000)
	for i := range tokens {
		tokens[i] = uint64(i)
	}
	c := mustCollect(t, [][]uint64{tokens, tokens[1:], tokens[2:], tokens[3:]})
	for a := range Algorithms {
		for ends := range 4 {
			cfg := Default()
			cfg.Algorithm = Algorithm(a)
			ctx := &ending{t.Context(), 0, ends}
			stats, err := Self(ctx, cfg, c, func(Pair) error { return nil })
			if !errors.Is(err, context.Canceled) || ctx.asked != ends+1 || stats.Parts != 0 {
				t.Errorf("%v, ends at %d: %v, asked %d times, %+v", cfg.Algorithm, ends, err, ctx.asked, stats)
			}
		}
	}
}
