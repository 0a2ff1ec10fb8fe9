package prefix

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// world is a window reduced to what an index sees of it: rows of token numbers that are given out again.
type world struct {
	tb      testing.TB
	model   *hashcodes.Model
	bounds  *hashcodes.Bounds
	similar text.Measure
	index   sigstore.Index
	df      []uint32
	names   []uint64 // number -> what the token is called; a number that is given out again has another name
	named   uint64
	free    []uint32
	first   uint32 // number of blocks[0]
	blocks  [][][]uint32
	hits    int
}

func newWorld(tb testing.TB, similar text.Measure, bits, ones int) *world {
	m, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{tb: tb, model: m, similar: similar, bounds: hashcodes.NewBounds(similar, ones)}
	w.index = New(w.bounds)(w)
	w.open()
	return w
}

func (w *world) Frequencies() []uint32          { return w.df }
func (w *world) Tokens(r sigstore.Row) []uint32 { return w.blocks[r.Block-w.first][r.Row] }

func (w *world) Signature(tokens []uint32) hashcodes.Signature { return w.sign(tokens, 0) }

func (w *world) open() {
	w.index.Open()
	w.blocks = append(w.blocks, nil)
}

func (w *world) drop() {
	w.index.Drop()
	gone := w.blocks[0]
	w.blocks, w.first = w.blocks[1:], w.first+1
	for _, tokens := range gone {
		w.release(tokens)
	}
}

// kill makes a row dead, as the window does with one that is deleted.
func (w *world) kill(block, row int) {
	w.release(w.blocks[block][row])
	w.blocks[block][row] = nil
}

func (w *world) release(tokens []uint32) {
	for _, t := range tokens {
		if w.df[t]--; w.df[t] == 0 {
			w.free = append(w.free, t)
		}
	}
}

// token is the number of a new token.
func (w *world) token() uint32 {
	w.named++
	if n := len(w.free); n > 0 {
		t := w.free[n-1]
		w.free = w.free[:n-1]
		w.names[t] = w.named
		return t
	}
	w.df, w.names = append(w.df, 0), append(w.names, w.named)
	return uint32(len(w.df) - 1)
}

func (w *world) sign(tokens []uint32, unknown int) hashcodes.Signature {
	sig, code := make(hashcodes.Signature, w.model.Words()), make(hashcodes.Signature, w.model.Words())
	or := func(id uint64) {
		for i, word := range w.model.Code(code, id) {
			sig[i] |= word
		}
	}
	for _, t := range tokens {
		or(w.names[t])
	}
	for i := range unknown {
		or(1<<40 + uint64(i))
	}
	return sig
}

// add takes in a row of tokens that are in use or new. As in the window the index has it first.
func (w *world) add(tokens []uint32) {
	slices.Sort(tokens)
	for _, t := range tokens {
		w.df[t]++
	}
	w.index.Add(slices.Clone(tokens), w.sign(tokens, 0))
	last := &w.blocks[len(w.blocks)-1]
	*last = append(*last, tokens)
}

// search compares the candidates with every row of the window, and those that pass the holders of the query with the
// definition of these.
func (w *world) search(tokens []uint32, unknown int) {
	w.tb.Helper()
	q := sigstore.Query{Tokens: tokens, Size: len(tokens) + unknown, Signature: w.sign(tokens, unknown)}
	all := w.foundRows(q)
	q.Holders = w.hold(tokens, unknown)
	passing := w.foundRows(q)
	w.hits += len(passing)
	for b, rows := range w.blocks {
		for i, row := range rows {
			r := sigstore.Row{Block: w.first + uint32(b), Row: uint32(i)}
			if row == nil {
				continue
			}
			if want := all[r] && w.passes(tokens, unknown, row); passing[r] != want {
				w.tb.Fatalf("%v: row %v %v for %v and %d unknown: asking the holders %t, want %t of %t without",
					w.similar, r, row, tokens, unknown, passing[r], want, all[r])
			}
			if w.match(row, tokens, q.Size) && !passing[r] {
				w.tb.Fatalf("%v: row %v %v of %d blocks is missing for %v and %d unknown",
					w.similar, r, row, len(w.blocks), tokens, unknown)
			}
		}
	}
}

// foundRows returns the rows that a query finds, each once.
func (w *world) foundRows(q sigstore.Query) map[sigstore.Row]bool {
	w.tb.Helper()
	queries, found := []sigstore.Query{q}, map[sigstore.Row]bool{}
	w.index.Search(queries)
	for _, r := range queries[0].Hits {
		if found[r] {
			w.tb.Fatalf("row %v twice", r)
		}
		if found[r] = true; r.Block < w.first || int(r.Row) >= len(w.blocks[r.Block-w.first]) {
			w.tb.Fatalf("row %v is none of the window's", r)
		}
	}
	return found
}

// hold is the query's holders.
func (w *world) hold(tokens []uint32, unknown int) *hashcodes.Holders {
	return w.model.Hold(hashcodes.NewHolders(w.model.Bits()), w.ids(tokens, unknown))
}

// ids are what the tokens of a query are called.
func (w *world) ids(tokens []uint32, unknown int) (ids []uint64) {
	for _, t := range tokens {
		ids = append(ids, w.names[t])
	}
	for i := range unknown {
		ids = append(ids, 1<<40+uint64(i))
	}
	return ids
}

// passes looks at the bits that no other is folded into, token by token and bit by bit.
func (w *world) passes(tokens []uint32, unknown int, row []uint32) bool {
	first, last := 0, 31
	switch w.model.Bits() {
	case 64:
		first, last = 8, 55
	case 128, 256:
		return true
	}
	own, sig := w.sign(tokens, unknown), w.sign(row, 0)
	lacks := func(a, b hashcodes.Signature) (n int) {
		for bit := first; bit <= last; bit++ {
			n += int(b[bit/32] >> (bit % 32) & 1 &^ (a[bit/32] >> (bit % 32)))
		}
		return n
	}
	outside, code := 0, make(hashcodes.Signature, w.model.Words())
	for _, id := range w.ids(tokens, unknown) {
		if lacks(sig, w.model.Code(code, id)) > 0 {
			outside++
		}
	}
	size, ones := len(tokens)+unknown, w.model.Ones()
	overlap := w.similar.MinOverlap(size, len(row))
	return len(row) >= 255 || outside <= size-overlap && lacks(own, sig) <= ones*(len(row)-overlap)
}

func (w *world) match(row, tokens []uint32, size int) bool {
	common := 0
	for _, t := range tokens {
		if _, ok := slices.BinarySearch(row, t); ok {
			common++
		}
	}
	return w.similar.Reaches(common, len(row), size)
}

// draw is a set like those of the window: half a variation of one of its rows, else common and rare tokens mixed.
func (w *world) draw(r *rand.Rand, largest int) []uint32 {
	size := 1 + r.IntN(1+r.IntN(largest))
	set := map[uint32]bool{}
	if rows := w.blocks[r.IntN(len(w.blocks))]; len(rows) > 0 && r.IntN(2) == 0 {
		for _, t := range rows[r.IntN(len(rows))] {
			if r.IntN(10) > 0 {
				set[t] = true
			}
		}
		size = max(1, len(set)+r.IntN(3)-1)
	}
	for tries := 0; len(set) < size; tries++ {
		if used := len(w.df); used > 0 && tries < 4*size && r.IntN(8) > 0 {
			if t := uint32(r.IntN(1 + r.IntN(used))); w.df[t] > 0 {
				set[t] = true
			}
			continue
		}
		t := w.token()
		set[t] = true
	}
	var tokens []uint32
	for t := range set {
		if len(tokens) < largest {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// measures are those of all similarities, each at every threshold.
var measures = func() (all []text.Measure) {
	for _, s := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
		for _, t := range []text.Threshold{
			{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 2, Den: 3}, {Num: 4, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1},
		} {
			all = append(all, s.At(t))
		}
	}
	return all
}()

// live runs a window for so many steps. What happens is drawn from r.
func (w *world) live(r *rand.Rand, steps, largest, searchEach int) {
	w.tb.Helper()
	for i := range steps {
		switch n := r.IntN(400); {
		case n == 0:
			w.open()
		case n == 1 && len(w.blocks) > 1+r.IntN(6):
			w.drop()
		case n < 10:
			if b := r.IntN(len(w.blocks)); len(w.blocks[b]) > 0 {
				w.kill(b, r.IntN(len(w.blocks[b])))
			}
		default:
			w.add(w.draw(r, largest))
		}
		if i%searchEach == 0 {
			w.searchLike(r, largest)
		}
	}
}

func (w *world) searchLike(r *rand.Rand, largest int) {
	w.tb.Helper()
	tokens := slices.DeleteFunc(w.draw(r, largest), func(t uint32) bool {
		if w.df[t] == 0 && !slices.Contains(w.free, t) {
			w.free = append(w.free, t) // draw made it, and no row has it
		}
		return w.df[t] == 0
	})
	slices.Sort(tokens)
	unknown := r.IntN(3)
	if len(tokens)+unknown == 0 || len(tokens)+unknown > hashcodes.MaxSize {
		return
	}
	w.search(tokens, unknown)
}

// TestNoRowIsMissing compares with all rows of a window whose blocks come and go, and whose numbers mean something
// else after a while.
func TestNoRowIsMissing(t *testing.T) {
	for i, similar := range measures {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		w := newWorld(t, similar, []int{64, 32, 128}[i%3], 1+i%2)
		w.live(r, 8000, 24, 10)
		if w.hits == 0 {
			t.Errorf("%v: no hits at all", similar)
		}
	}
}

func TestLongSets(t *testing.T) {
	for i, similar := range measures {
		w := newWorld(t, similar, 64, 1)
		r := rand.New(rand.NewPCG(uint64(i), 2))
		for range 40 { // a family of the largest sets there are, which differ in some tokens
			w.add(w.family(r, 256-r.IntN(3)))
			w.search(w.family(r, 256-r.IntN(3)), 0)
		}
		w.live(r, 1500, 256, 5)
		if w.hits == 0 {
			t.Errorf("%v: no hits at all", similar)
		}
	}
}

// TestTogether: queries that are asked together find what each finds alone.
func TestTogether(t *testing.T) {
	for i, similar := range measures {
		r := rand.New(rand.NewPCG(uint64(i), 12))
		w := newWorld(t, similar, 64, 1)
		w.live(r, 4000, 16, 1000)
		var queries []sigstore.Query
		for n := range 3*maxBatch + 1 {
			tokens := slices.DeleteFunc(w.draw(r, 16), func(t uint32) bool { return w.df[t] == 0 })
			slices.Sort(tokens)
			q := sigstore.Query{Tokens: tokens, Size: len(tokens) + n%3, Signature: w.sign(tokens, n%3)}
			q.Holders = w.hold(tokens, n%3)
			queries = append(queries, q)
		}
		w.index.Search(queries)
		hits := 0
		for _, q := range queries {
			together, alone := q.Hits, []sigstore.Query{q}
			alone[0].Hits = nil
			w.index.Search(alone)
			if hits += len(together); !slices.Equal(together, alone[0].Hits) {
				t.Errorf("%v: %v together, %v alone", similar, together, alone[0].Hits)
			}
		}
		if hits == 0 {
			t.Errorf("%v: no hits at all", similar)
		}
	}
}

// family draws most of the first tokens, which it makes if need be.
func (w *world) family(r *rand.Rand, size int) []uint32 {
	for len(w.df) < 300 {
		w.df[w.token()]++ // never freed
	}
	var tokens []uint32
	skip := 270 - size
	for t := uint32(0); len(tokens) < size; t++ {
		if skip > 0 && r.IntN(10) == 0 {
			skip--
			continue
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// TestGenerations lets a window grow past what is posted again at once, roll, and empty.
func TestGenerations(t *testing.T) {
	w := newWorld(t, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 64, 1)
	r := rand.New(rand.NewPCG(1, 3))
	x := w.index.(*index)
	highest := 0
	for range 14 {
		w.block(r, 10_000)
	}
	if x.generations[0].metas != nil {
		t.Errorf("%d rows are to be posted again", x.next)
	}
	for i := range 30 {
		w.drop()
		w.block(r, 4000)
		highest = max(highest, len(x.generations))
		if held, live := x.next-x.generations[0].base, x.next-x.oldest(); i >= 20 && held > 2*live {
			t.Errorf("%d rows kept of a window of %d that rolls", held, live)
		}
	}
	if highest != 2 {
		t.Errorf("up to %d generations of a window that rolls", highest)
	}
	for len(w.blocks) > 1 {
		w.drop()
		w.searchLike(r, 12)
	}
	w.drop()
	if len(x.generations) != 0 {
		t.Errorf("%d generations of an empty window", len(x.generations))
	}
	w.search(nil, 3)
	w.open()
	w.block(r, 3000)
}

// block takes in a block of rows, and searches now and then.
func (w *world) block(r *rand.Rand, rows int) {
	w.tb.Helper()
	w.open()
	for i := range rows {
		w.add(w.draw(r, 12))
		if i%2000 == 0 {
			w.searchLike(r, 12)
		}
	}
}

// TestFilledFromAWindow: an index that is given the rows of a window that has them already is told their frequencies from
// the first row on, so that no row is posted again on the way, as it must be in a window that grows, and it finds the same.
func TestFilledFromAWindow(t *testing.T) {
	w := newWorld(t, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 64, 1)
	r := rand.New(rand.NewPCG(1, 7))
	words := rand.NewZipf(r, 1.1, 4, 20_000)
	for range 20_001 {
		w.token()
	}
	grown := 0
	for i := range maxReposted + 2*minRows {
		if i%(16*minRows) == 0 {
			w.open()
		}
		var tokens []uint32
		for range 3 + r.IntN(9) {
			if t := uint32(words.Uint64()); !slices.Contains(tokens, t) {
				tokens = append(tokens, t)
			}
		}
		grown += w.postedAgain(func() { w.add(tokens) })
	}
	if grown < 2 {
		t.Fatalf("rows were posted again %d times while the window grew: the test shows nothing", grown)
	}
	w.index = New(w.bounds)(w)
	filled := 0
	for _, rows := range w.blocks {
		w.index.Open()
		for _, tokens := range rows {
			filled += w.postedAgain(func() { w.index.Add(slices.Clone(tokens), w.sign(tokens, 0)) })
		}
	}
	if filled > 0 {
		t.Errorf("rows were posted again %d times while the index was filled, %d while the window grew", filled, grown)
	}
	for range 5 {
		w.searchLike(r, 12)
	}
}

// postedAgain is 1 if rows were posted again meanwhile.
func (w *world) postedAgain(do func()) int {
	x, before := w.index.(*index), []*generation(nil)
	before = append(before, x.generations...)
	do()
	if len(before) > 0 && x.generations[0] != before[0] {
		return 1
	}
	return 0
}

// TestPostedAgain: a row that died before is not posted again, and those that live are found.
func TestPostedAgain(t *testing.T) {
	w := newWorld(t, text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 64, 1)
	r := rand.New(rand.NewPCG(1, 4))
	x := w.index.(*index)
	for i := range 20_000 {
		w.add(w.draw(r, 12))
		if i%3 == 0 {
			w.kill(0, r.IntN(len(w.blocks[0])))
		}
		if i%100 == 0 {
			w.searchLike(r, 12)
		}
	}
	if len(x.generations) != 1 {
		t.Errorf("%d generations, want 1: all rows were few enough", len(x.generations))
	}
}

// TestCampaign: every row shares tokens that the order does not know, among others that it does. Their lists are cut in
// pieces.
func TestCampaign(t *testing.T) {
	w := newWorld(t, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 64, 1)
	r := rand.New(rand.NewPCG(1, 6))
	var common []uint32
	for range 200 {
		common = append(common, w.token())
	}
	w.add(slices.Clone(common)) // the order is made here
	template := []uint32{w.token(), w.token(), w.token()}
	for i := range minRows - 2 {
		row := slices.Clone(template)
		for _, k := range r.Perm(len(common))[:1+i%20] {
			row = append(row, common[k])
		}
		w.add(row)
		if i%37 == 0 {
			w.search(row, 0)
			w.search(row[:len(row)-1], 1)
		}
	}
	x := w.index.(*index)
	directories := 0
	for _, g := range x.generations {
		for _, token := range template {
			if g.lists.head(token).class() == nodeClass {
				directories++
			}
		}
	}
	if directories == 0 {
		t.Error("no list of the template became a directory")
	}
}

// TestAnOrderThatMisleads: rows under tokens that the order takes for rare get a new order when searches have read too
// much of them, and not before; other rows get none.
func TestAnOrderThatMisleads(t *testing.T) {
	w := newWorld(t, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 64, 1)
	var common, template []uint32
	for range 30 {
		common = append(common, w.token())
	}
	template = append(template, w.token(), w.token(), w.token())
	row := func(tokens ...uint32) {
		tokens = append(tokens, w.token())
		w.index.Search([]sigstore.Query{{Tokens: tokens[:len(tokens)-1], Size: len(tokens), Signature: w.sign(tokens, 0)}})
		w.add(tokens)
	}
	newest := func() *generation {
		g := w.index.(*index).generations
		return g[len(g)-1]
	}
	for i := range 8 * minRows {
		row(slices.Clone(common[i%20 : i%20+10])...)
	}
	if began := newest().orderedUpTo; began > minRows {
		t.Errorf("an order is made at row %d without need", began)
	}
	for i := range 4 * minRows {
		row(append(slices.Clone(common[i%20:i%20+7]), template...)...)
	}
	g := newest()
	if g.orderedUpTo < 8*minRows {
		t.Fatalf("the newest order is of row %d: it takes the tokens of a campaign for rare", g.orderedUpTo)
	}
	if keys := g.order.rarest(nil, template, 3); keys[0].isRare() {
		t.Errorf("the order of row %d takes the tokens of a campaign for rare", g.orderedUpTo)
	}
}

// TestBytes compares with the heap, in a window that grows, and in one that has dropped most of its rows.
func TestBytes(t *testing.T) {
	var before, after runtime.MemStats
	r := rand.New(rand.NewPCG(1, 5))
	w := newWorld(t, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 64, 1)
	var rows [][]uint32
	for range 100_000 {
		rows = append(rows, w.draw(r, 20))
		for _, token := range rows[len(rows)-1] {
			w.df[token]++
		}
	}
	for _, row := range rows {
		slices.Sort(row)
	}
	sig := make(hashcodes.Signature, w.model.Words())
	w.index = nil
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := New(w.bounds)(frequencies(w.df))
	for i, row := range rows {
		if i%10_000 == 0 {
			x.Open()
		}
		x.Add(row, sig)
	}
	check := func(when string) int64 {
		runtime.GC()
		runtime.ReadMemStats(&after)
		held, heap := x.Bytes(), int64(after.HeapAlloc)-int64(before.HeapAlloc)
		if held < heap*97/100 || held > heap*103/100 {
			t.Errorf("%s: %d bytes said to be held, %d are", when, held, heap)
		}
		return heap
	}
	full := check("full")
	for range 9 {
		x.Drop()
	}
	check("after drops")
	x.Drop()
	if left := x.Bytes(); left > full/100 {
		t.Errorf("%d bytes of %d left in an empty window", left, full)
	}
	runtime.KeepAlive(rows)
	runtime.KeepAlive(w)
}

type frequencies []uint32

func (f frequencies) Frequencies() []uint32        { return f }
func (f frequencies) Tokens(sigstore.Row) []uint32 { return nil }

func (f frequencies) Signature([]uint32) hashcodes.Signature { panic("not asked for") }

func FuzzWindow(f *testing.F) {
	for i := range measures {
		f.Add(uint64(i), uint64(7), uint8(i), uint8(20))
	}
	f.Fuzz(func(t *testing.T, a, b uint64, similar, largest uint8) {
		w := newWorld(t, measures[int(similar)%len(measures)], 64, 1+int(a%2))
		w.live(rand.New(rand.NewPCG(a, b)), 3000, 2+int(largest), 7)
	})
}
