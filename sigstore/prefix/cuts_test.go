package prefix

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// cutEarly makes lists of three postings long, so that small windows have all kinds of nodes.
func cutEarly(t *testing.T) {
	before := cuts
	t.Cleanup(func() { cuts = before })
	for i := range cuts {
		if cuts[i].by != nothing {
			cuts[i].class = 1
		}
	}
}

// TestAllSets posts every set of a few tokens, some times, in an order of chance, and asks for every one, with tokens
// that no row has besides: no partner is missing, wherever lists are cut.
func TestAllSets(t *testing.T) {
	cutEarly(t)
	// At 1/4 a set of 4 tokens may have one in common with a partner, one of 5, in the same bucket, has 2.
	for i, similar := range append(slices.Clone(measures), jaccardAt(1, 4)) {
		r := rand.New(rand.NewPCG(uint64(i), 8))
		w := allSets(t, r, similar, 7, 4)
		if kinds := w.kindsOfNodes(); kinds != [nothing]bool{true, true, true, true} && similar.Threshold.Num < similar.Threshold.Den {
			t.Errorf("%v: nodes by size, cell, token, hash: %v", similar, kinds)
		}
		w.searchAll(7)
	}
}

func jaccardAt(num, den int) text.Measure { return text.Jaccard.At(text.Threshold{Num: num, Den: den}) }

// allSets is a window of all sets of so many tokens, each so often.
func allSets(tb testing.TB, r *rand.Rand, similar text.Measure, tokens, times int) *world {
	w := newWorld(tb, similar, 64, 1)
	for range tokens {
		w.token()
	}
	for range times {
		for _, set := range r.Perm(1<<tokens - 1) {
			w.add(members(set + 1))
		}
	}
	return w
}

// members are the bits of a set.
func members(set int) (tokens []uint32) {
	for t := range 32 {
		if set>>t&1 == 1 {
			tokens = append(tokens, uint32(t))
		}
	}
	return tokens
}

func (w *world) searchAll(tokens int) {
	w.tb.Helper()
	for set := range 1 << tokens {
		for unknown := range 3 {
			if set > 0 || unknown > 0 {
				w.search(members(set), unknown)
			}
		}
	}
}

// kindsOfNodes tells which there are.
func (w *world) kindsOfNodes() (kinds [nothing]bool) {
	for _, g := range w.index.(*index).generations {
		for token := range w.df {
			g.lists.walk(g.lists.head(uint32(token)), 0, &kinds)
		}
	}
	return kinds
}

func (l *lists) walk(h link, done int, kinds *[nothing]bool) {
	if h.class() != nodeClass {
		return
	}
	kinds[cuts[done].by] = true
	for slot := range nodeLinks {
		l.walk(l.node(h).at(slot), done+1, kinds)
	}
}

// TestCutEarly is TestNoRowIsMissing with long sets too, where lists are cut at once.
func TestCutEarly(t *testing.T) {
	cutEarly(t)
	for i, similar := range measures {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		w := newWorld(t, similar, []int{64, 32, 128}[i%3], 1+i%2)
		w.live(r, 6000, []int{12, 40}[i%2], 10)
		if w.hits == 0 {
			t.Errorf("%v: no hits at all", similar)
		}
	}
}

// TestCutMutants: a filter or a prefix that is too strict by one loses a partner, and the sets of a few tokens show it.
func TestCutMutants(t *testing.T) {
	cutEarly(t)
	mutants := map[string]func(x *index){
		"prefix": func(x *index) { forSizes(func(n int) { x.filters.bounds.For(n).Prefix-- }) },
		"sizes":  func(x *index) { forSizes(func(n int) { dropLast(x.filters.of(n).sizes[:]) }) },
		"cells": func(x *index) {
			forSizes(func(n int) {
				for passed := range nodeLinks {
					dropLast(x.filters.of(n).cells[passed][:])
				}
			})
		},
		"own keys": func(x *index) {
			forSizes(func(n int) {
				f := x.filters.of(n)
				copy(f.sizes[:], f.sizes[1:])
				copy(f.cells[:], f.cells[1:])
			})
		},
	}
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 10))
			w := allSets(t, r, jaccardAt(1, 2), 7, 4)
			if missing := w.missing(7); missing > 0 {
				t.Fatalf("%d partners are missing without the mutation", missing)
			}
			if mutate(w.index.(*index)); w.missing(7) == 0 {
				t.Error("no partner is missing")
			}
		})
	}
}

func forSizes(change func(n int)) {
	for n := 1; n <= 7; n++ {
		change(n)
	}
}

// dropLast leaves out the last slot of each.
func dropLast(of []slots) {
	for i, s := range of {
		if s != 0 {
			of[i] = s &^ (1 << (bits.Len16(uint16(s)) - 1))
		}
	}
}

// missing counts the partners that searches for all sets do not find.
func (w *world) missing(tokens int) (n int) {
	for set := 1; set < 1<<tokens; set++ {
		q := sigstore.Query{Tokens: members(set)}
		q.Size, q.Signature = len(q.Tokens), w.sign(q.Tokens, 0)
		found := w.foundRows(q)
		for i, row := range w.blocks[0] {
			if w.match(row, q.Tokens, q.Size) && !found[sigstore.Row{Block: w.first, Row: uint32(i)}] {
				n++
			}
		}
	}
	return n
}

// TestLongList: of 60,000 rows of one size that share their rarest token a search reads few, and finds those that
// match.
func TestLongList(t *testing.T) {
	const rows, tokens = 60_000, 3000
	df := frequencies(make([]uint32, tokens))
	for token := range df {
		df[token] = uint32(1 + 1000*token) // token 0 is the rarest, and the order is never renewed
	}
	var sets [][]uint32
	x := New(hashcodes.NewBounds(jaccardAt(3, 5), 1))(withSets{df, &sets}).(*index)
	x.Open()
	r := rand.New(rand.NewPCG(1, 11))
	sig := make(hashcodes.Signature, 2) // of no bits: the filter of signatures lets all pass
	for range rows {
		set := []uint32{0}
		for len(set) < 8 {
			if token := uint32(1 + r.IntN(tokens-1)); !slices.Contains(set, token) {
				set = append(set, token)
			}
		}
		slices.Sort(set)
		x.Add(set, sig)
		sets = append(sets, set)
	}
	for i := 0; i < rows; i += 997 {
		q := []sigstore.Query{{Tokens: sets[i], Size: 8, Signature: sig}}
		before := x.Met()
		x.Search(q)
		if read := x.Met() - before; read > rows/10 {
			t.Errorf("%d postings read of %d rows", read, rows)
		}
		if want := (sigstore.Row{Row: uint32(i)}); !slices.Contains(q[0].Hits, want) {
			t.Errorf("row %v does not find itself", want)
		}
	}
}

// withSets is a window of one block.
type withSets struct {
	frequencies
	sets *[][]uint32
}

func (w withSets) Tokens(r sigstore.Row) []uint32 { return (*w.sets)[r.Row] }

// TestRowOfNone: a row without tokens, as a dead one is given to an index that takes over, is in no list, whatever
// came before it.
func TestRowOfNone(t *testing.T) {
	w := newWorld(t, jaccardAt(4, 5), 64, 1)
	row := []uint32{w.token(), w.token(), w.token(), w.token()}
	w.add(slices.Clone(row))
	for range 8 {
		w.add(nil)
		w.add(slices.Clone(row))
	}
	w.search(row, 0)
	if w.hits != 9 {
		t.Errorf("%d hits, want 9", w.hits)
	}
}

// beginOften makes generations of few rows, which are posted again some at a time.
func beginOften(t *testing.T) {
	rows, reposted := minRows, maxReposted
	t.Cleanup(func() { minRows, maxReposted = rows, reposted })
	minRows, maxReposted = 16, 16
}

// TestPostedAgainByAndBy is TestNoRowIsMissing where most rows are posted again while others come and go.
func TestPostedAgainByAndBy(t *testing.T) {
	beginOften(t)
	cutEarly(t)
	for i, similar := range measures {
		r := rand.New(rand.NewPCG(uint64(i), 13))
		w := newWorld(t, similar, []int{64, 32, 128}[i%3], 1+i%2)
		x, moving, begun := w.index.(*index), 0, 0
		for range 400 {
			before := len(x.generations)
			w.live(r, 20, 16, 5)
			for _, r := range x.search.runs[:cap(x.search.runs)] {
				if r.in != nil || r.query != nil {
					t.Fatalf("%v: the search holds a generation or a query that may have gone", similar)
				}
			}
			if now := len(x.generations); now > 1 {
				moving++
				if now > before {
					begun++
				}
			}
		}
		if moving < 10 || begun < 2 || moving > 390 {
			t.Errorf("%v: at %d of 400 looks rows were being posted again, for %d generations", similar, moving, begun)
		}
	}
}

// TestFewAgain: a window that has shrunk to few rows, some of which were posted again by and by, loses none when its
// order is renewed.
func TestFewAgain(t *testing.T) {
	beginOften(t)
	minRows, maxReposted = 8, 128
	w := newWorld(t, jaccardAt(4, 5), 64, 1)
	r := rand.New(rand.NewPCG(1, 14))
	for block := range 60 {
		w.open()
		for range 12 {
			w.add(w.draw(r, 12))
		}
		for block > 20 && len(w.blocks) > 4 {
			w.drop()
		}
		for _, rows := range w.blocks {
			for _, row := range rows {
				w.search(row, 0)
			}
		}
	}
}
