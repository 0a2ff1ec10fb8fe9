package scan_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
	"refrain/sigstore/scan"
	"refrain/text"
)

// measures are those of all similarities, each at every threshold.
var measures = func() (all []text.Measure) {
	for _, s := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
		for _, t := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 4, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1}} {
			all = append(all, s.At(t))
		}
	}
	return all
}()

// fourFifths is Jaccard at 0.8.
var fourFifths = text.Jaccard.At(text.Threshold{Num: 4, Den: 5})

// window is an index, and beside it a plain list of what it should hold.
type window struct {
	index   sigstore.Index
	similar text.Measure
	ones    int
	first   int
	blocks  [][]row
}

type row struct {
	size    int
	sig     hashcodes.Signature
	codes   []hashcodes.Signature // of its tokens
	holders *hashcodes.Holders
}

// plain are the queries without holders.
func plain(queries []row) []row {
	queries = slices.Clone(queries)
	for i := range queries {
		queries[i].holders = nil
	}
	return queries
}

func newWindow(c scan.Config, similar text.Measure, ones int) *window {
	c.Bounds = hashcodes.NewBounds(similar, ones)
	return &window{index: c.Engine()(nil), similar: similar, ones: ones}
}

func (w *window) open() {
	w.index.Open()
	w.blocks = append(w.blocks, nil)
}

func (w *window) add(r row) {
	lent := slices.Clone(r.sig)
	w.index.Add(make([]uint32, r.size), lent)
	clear(lent)
	w.blocks[len(w.blocks)-1] = append(w.blocks[len(w.blocks)-1], r)
}

func (w *window) drop() {
	w.index.Drop()
	w.blocks = w.blocks[1:]
	w.first++
}

// want is the definition: the rows within the radius of their size, and those of them that the holders let pass.
func (w *window) want(q row) (hits []sigstore.Row) {
	for b, rows := range w.blocks {
		for i, r := range rows {
			if hashcodes.Distance(q.sig, r.sig) <= hashcodes.Radius(w.similar, w.ones, q.size, r.size) &&
				(q.holders == nil || w.passes(q, r)) {
				hits = append(hits, sigstore.Row{Block: uint32(w.first + b), Row: uint32(i)})
			}
		}
	}
	return hits
}

// passes goes through the tokens one by one.
func (w *window) passes(q, r row) bool {
	outside, further := 0, 0
	for _, code := range q.codes {
		if lacks(r.sig, code) > 0 {
			outside++
		}
	}
	further = lacks(q.sig, r.sig)
	overlap := w.similar.MinOverlap(q.size, r.size)
	return outside <= q.size-overlap && further <= w.ones*(r.size-overlap)
}

// lacks counts the bits that b has and a lacks.
func lacks(a, b hashcodes.Signature) (n int) {
	for i := range b {
		n += bits.OnesCount32(b[i] &^ a[i])
	}
	return n
}

// search asks for all queries at once, behind hits that are there already.
func (w *window) search(queries []row) [][]sigstore.Row {
	earlier := sigstore.Row{Block: 1 << 31, Row: 7}
	list := make([]sigstore.Query, len(queries))
	for i, q := range queries {
		list[i] = sigstore.Query{Size: q.size, Signature: q.sig, Holders: q.holders, Hits: []sigstore.Row{earlier}}
	}
	w.index.Search(list)
	var hits [][]sigstore.Row
	for i := range list {
		if len(list[i].Hits) == 0 || list[i].Hits[0] != earlier {
			panic("earlier hits are gone")
		}
		hits = append(hits, list[i].Hits[1:])
	}
	return hits
}

// check wants every row within the radius found, once, and no other.
func (w *window) check(t testing.TB, queries []row) {
	t.Helper()
	for i, hits := range w.search(queries) {
		got, want := slices.Clone(hits), w.want(queries[i])
		slices.SortFunc(got, compareRows)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, %d ones, query %d of %d, %d tokens, signature %x:\n got %v\nwant %v",
				w.similar, w.ones, i, len(queries), queries[i].size, queries[i].sig, got, want)
		}
	}
}

func compareRows(a, b sigstore.Row) int {
	if a.Block != b.Block {
		return int(a.Block) - int(b.Block)
	}
	return int(a.Row) - int(b.Row)
}

// generator makes rows, many of them near to earlier ones.
type generator struct {
	*rand.Rand
	model *hashcodes.Model
	sets  [][]uint64
}

func newGenerator(seed uint64, words, ones int) *generator {
	m, err := hashcodes.NewMD5(32*words, ones)
	if err != nil {
		panic(err)
	}
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1)), model: m}
}

func (g *generator) row() row {
	var set []uint64
	if len(g.sets) > 0 && g.IntN(2) == 0 {
		set = slices.Clone(g.sets[g.IntN(len(g.sets))])
		for range g.IntN(1 + len(set)/4) {
			set[g.IntN(len(set))] = g.Uint64N(5000)
		}
		set = set[:len(set)-g.IntN(1+len(set)/8)]
	} else {
		size := 1 + g.IntN(24)
		if g.IntN(50) == 0 {
			size = 1 + g.IntN(hashcodes.MaxSize)
		}
		for range size {
			set = append(set, g.Uint64N(5000))
		}
	}
	g.sets = append(g.sets, set)
	r := row{size: len(set), sig: g.model.Sign(make(hashcodes.Signature, g.model.Words()), set)}
	r.holders = g.model.Hold(hashcodes.NewHolders(g.model.Bits()), set)
	for _, token := range set {
		r.codes = append(r.codes, g.model.Code(make(hashcodes.Signature, g.model.Words()), token))
	}
	return r
}

func (g *generator) rows(n int) (list []row) {
	for range n {
		list = append(list, g.row())
	}
	return list
}

// configOf is the default configuration for signatures of so many words, with so many workers.
func configOf(words, workers int) scan.Config {
	c := scan.Default()
	c.Words, c.Workers = words, workers
	return c
}

// configs are one and several workers, with every kernel.
func configs(words int) (list []scan.Config) {
	for _, kernel := range hamming.Kernels() {
		for _, workers := range []int{1, 3} {
			c := configOf(words, workers)
			c.Kernel = kernel
			list = append(list, c)
		}
	}
	return list
}

// TestFindsWhatBruteForceFinds lets blocks come and go at random, of no row to some hundred, so that bands are searched
// open, sealed and in between.
func TestFindsWhatBruteForceFinds(t *testing.T) {
	widths := []int{1, 2, 4, 8}
	if testing.Short() {
		widths = widths[1:2] // for the race detector: the workers meet alike at all of them
	}
	for _, words := range widths {
		for _, similar := range measures {
			for ones := 1; ones <= 2; ones++ {
				for i, c := range configs(words) {
					g := newGenerator(uint64(100*words+i), words, ones)
					w := newWindow(c, similar, ones)
					for range 12 {
						w.open()
						for range g.IntN(200) * g.IntN(3) {
							w.add(g.row())
						}
						if g.IntN(3) == 0 {
							w.drop()
						}
						queries := g.rows(1 + g.IntN(10))
						w.check(t, queries)
						w.check(t, plain(queries))
					}
				}
			}
		}
	}
}

// TestLargeBands fills bands beyond the size at which they are sealed, and asks enough for several workers.
func TestLargeBands(t *testing.T) {
	const words = 2
	g := newGenerator(1, words, 1)
	rows, queries := g.rows(24_000), g.rows(200)
	for i := range rows {
		if i%3 != 0 {
			rows[i].size = 5 // with signatures of other sizes: all the better
		}
	}
	var first [][]sigstore.Row
	for i, c := range configs(words) {
		w := newWindow(c, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 1)
		for k, r := range rows {
			if k%20_000 == 0 {
				w.open()
			}
			w.add(r)
		}
		if i == 0 {
			w.check(t, queries[:40])
			first = w.search(queries)
		}
		hits := w.search(queries)
		for k := range hits {
			got, want := slices.Clone(hits[k]), slices.Clone(first[k])
			slices.SortFunc(got, compareRows)
			slices.SortFunc(want, compareRows)
			if !slices.Equal(got, want) {
				t.Fatalf("%s, %d workers: got %v, want %v", c.Kernel.Name, c.Workers, got, want)
			}
		}
	}
}

// TestWorkersKeepTheOrder wants the very same hits, in the same order, from any number of goroutines and in batches of
// any size.
func TestWorkersKeepTheOrder(t *testing.T) {
	const words = 1
	g := newGenerator(2, words, 1)
	rows, queries := g.rows(30_000), g.rows(200)
	var first [][]sigstore.Row
	for _, workers := range []int{1, 2, 5, 16} {
		w := newWindow(configOf(words, workers), text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 1)
		for k, r := range rows {
			if k%9000 == 0 {
				w.open()
			}
			w.add(r)
		}
		for _, batch := range []int{200, 64, 7, 1} {
			var got [][]sigstore.Row
			for from := 0; from < len(queries); from += batch {
				got = append(got, w.search(queries[from:min(from+batch, len(queries))])...)
			}
			if first == nil {
				first = got
			}
			if fmt.Sprint(got) != fmt.Sprint(first) {
				t.Errorf("%d workers, batches of %d: other hits than of 1 worker, or in another order", workers, batch)
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	w := newWindow(configOf(1, 1), fourFifths, 1)
	g := newGenerator(3, 1, 1)
	w.check(t, nil)
	w.open()
	w.check(t, g.rows(3))
	w.open()
	w.drop()
	w.drop()
	w.check(t, g.rows(3))
	if n := w.index.Bytes(); n > 0 {
		t.Errorf("%d bytes without a block", n)
	}
}

// FuzzSearch reads operations from bytes: each opens or drops a block, adds a row near to the one before, or searches.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("abcabcabcdabcabcabcd"), uint8(0))
	f.Add([]byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"), uint8(7))
	f.Fuzz(func(t *testing.T, ops []byte, setting uint8) {
		words := 1 << (setting & 3)
		w := newWindow(configOf(words, 1+int(setting>>6)), measures[int(setting>>2)%len(measures)], 1)
		w.open()
		now := row{size: 5, sig: make(hashcodes.Signature, words)}
		var queries []row
		for i, op := range ops {
			switch {
			case op < 8:
				w.open()
			case op < 12 && len(w.blocks) > 1:
				w.drop()
			case op < 24:
				now.size = 1 + int(op)*i%hashcodes.MaxSize
			default:
				now.sig = slices.Clone(now.sig)
				now.sig[i%words] ^= 1 << (op & 31)
				w.add(now)
				queries = append(queries, now)
			}
		}
		w.check(t, queries[max(0, len(queries)-20):])
	})
}

// TestBytes compares what the index says it holds with what it does.
func TestBytes(t *testing.T) {
	for _, words := range []int{1, 2, 8} {
		for _, rows := range []int{20_000, 200_000} {
			g := newGenerator(4, words, 1)
			some := g.rows(5000)
			before := heap()
			x := scan.New(hashcodes.NewBounds(fourFifths, 1), words)(nil)
			tokens := make([]uint32, hashcodes.MaxSize)
			for i := range rows {
				if i%(rows/5) == 0 {
					x.Open()
				}
				r := some[i%len(some)]
				x.Add(tokens[:r.size], r.sig)
			}
			got, want := x.Bytes(), heap()-before
			if ratio := float64(got) / float64(want); ratio < 0.92 || ratio > 1.08 {
				t.Errorf("%d words, %d rows: says %d bytes, holds %d", words, rows, got, want)
			}
			for range 4 {
				x.Drop()
			}
			if left := heap() - before; left > want/2 {
				t.Errorf("%d words: with 4 of 5 blocks dropped it holds %d bytes of %d", words, left, want)
			}
			runtime.KeepAlive(x)
			runtime.KeepAlive(some)
		}
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCalibrate wants a positive cost of a row, and a pass dearer than a row.
func TestCalibrate(t *testing.T) {
	for _, kernel := range hamming.Kernels() {
		c := scan.Calibrate(kernel, 2)
		if c.PerRow <= 0 || c.PerPass < 0 {
			t.Errorf("%s: %+v", kernel.Name, c)
		}
		t.Logf("%s: %+v", kernel.Name, c)
	}
}
