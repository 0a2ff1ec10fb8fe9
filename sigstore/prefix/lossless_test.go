package prefix

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// crowd is a window whose rows share few tokens, so that its lists grow long and are cut by the constants in use. A
// set is a word, a bit a token, and a plain scan of all rows quick.
type crowd struct {
	tb      testing.TB
	r       *rand.Rand
	similar text.Measure
	model   *hashcodes.Model
	bounds  *hashcodes.Bounds
	index   *index
	tokens  int   // that rows draw from, at most 64
	sizes   []int // of rows
	df      []uint32
	blocks  [][]uint64 // 0: a dead row
	first   uint32     // number of blocks[0]
	hits    int
	lent    []uint32 // as the window lends them
	signed  hashcodes.Signature
}

func newCrowd(tb testing.TB, r *rand.Rand, similar text.Measure, tokens int, sizes ...int) *crowd {
	return newCodedCrowd(tb, r, similar, [2]int{64, 1}, tokens, sizes...)
}

// newCodedCrowd has codes of so many bits, so many of them a token's.
func newCodedCrowd(tb testing.TB, r *rand.Rand, similar text.Measure, codes [2]int, tokens int, sizes ...int) *crowd {
	m, err := hashcodes.NewMD5(codes[0], codes[1])
	if err != nil {
		tb.Fatal(err)
	}
	w := &crowd{tb: tb, r: r, similar: similar, model: m, bounds: hashcodes.NewBounds(similar, codes[1]),
		tokens: tokens, sizes: sizes, df: make([]uint32, tokens),
		signed: make(hashcodes.Signature, m.Words())}
	w.index = New(w.bounds)(w).(*index)
	w.open()
	return w
}

func (w *crowd) Frequencies() []uint32 { return w.df }

func (w *crowd) Tokens(r sigstore.Row) []uint32 {
	set := w.blocks[r.Block-w.first][r.Row]
	if set == 0 {
		return nil
	}
	w.lent = appendMembers(w.lent[:0], set)
	return w.lent
}

func (w *crowd) Signature(tokens []uint32) hashcodes.Signature {
	return w.model.Sign(w.signed, ids(tokens, 0))
}

func appendMembers(dst []uint32, set uint64) []uint32 {
	for ; set != 0; set &= set - 1 {
		dst = append(dst, uint32(bits.TrailingZeros64(set)))
	}
	return dst
}

// ids are what the tokens of a set are called, and some that no row has.
func ids(tokens []uint32, unknown int) (ids []uint64) {
	for _, t := range tokens {
		ids = append(ids, uint64(t))
	}
	for i := range unknown {
		ids = append(ids, uint64(1<<40+i))
	}
	return ids
}

func (w *crowd) sign(tokens []uint32, unknown int) hashcodes.Signature {
	return w.model.Sign(make(hashcodes.Signature, w.model.Words()), ids(tokens, unknown))
}

func (w *crowd) open() {
	w.index.Open()
	w.blocks = append(w.blocks, nil)
}

func (w *crowd) drop() {
	w.index.Drop()
	for _, set := range w.blocks[0] {
		w.count(set, -1)
	}
	w.blocks, w.first = w.blocks[1:], w.first+1
}

func (w *crowd) count(set uint64, by int) {
	for ; set != 0; set &= set - 1 {
		w.df[bits.TrailingZeros64(set)] += uint32(by)
	}
}

// kill makes a row dead, or none if it is so already, and returns what it was.
func (w *crowd) kill(block, row int) (set uint64) {
	set, w.blocks[block][row] = w.blocks[block][row], 0
	w.count(set, -1)
	return set
}

// add takes in a row; one that is dead already where the set is none. The index has it first, and what it is given is
// lent, as in the window.
func (w *crowd) add(set uint64) {
	w.count(set, 1)
	tokens := appendMembers(nil, set)
	w.index.Add(tokens, w.Signature(tokens))
	last := &w.blocks[len(w.blocks)-1]
	*last = append(*last, set)
}

// draw is a set of so many of the tokens.
func (w *crowd) draw(size int) (set uint64) {
	for bits.OnesCount64(set) < size {
		set |= 1 << w.r.IntN(w.tokens)
	}
	return set
}

func (w *crowd) addSome(rows int) {
	for range rows {
		w.add(w.draw(w.sizes[w.r.IntN(len(w.sizes))]))
	}
}

// partner is a query that shares with a row just as many tokens as it must, the last ones of the newest order or any:
// so that it meets the row as far behind in both as it ever does. ok is false where no set can be similar enough.
func (w *crowd) partner(row uint64) (q sigstore.Query, ok bool) {
	b := w.bounds.For(bits.OnesCount64(row))
	if b.Min > b.Max {
		return q, false
	}
	size := b.Min + w.r.IntN(min(b.Max, 64)-b.Min+1)
	tokens := appendMembers(nil, row)
	if w.r.IntN(3) > 0 {
		tokens = w.inOrder(tokens)
	} else {
		w.r.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	}
	common := tokens[len(tokens)-int(b.Overlap[size-b.Min]):]
	return w.query(w.mixed(common, row, size), size), true
}

// inOrder are tokens in the newest order.
func (w *crowd) inOrder(tokens []uint32) (sorted []uint32) {
	for _, k := range w.index.newest().order.rarest(nil, tokens, len(tokens)) {
		sorted = append(sorted, tokens[k.position()])
	}
	return sorted
}

// mixed is a set with the common tokens and, now and then, some that are not the row's, at most so many in all.
func (w *crowd) mixed(common []uint32, row uint64, size int) (set uint64) {
	for _, t := range common {
		set |= 1 << t
	}
	if w.r.IntN(2) == 0 {
		return set
	}
	for _, t := range w.r.Perm(w.tokens) {
		if row>>t&1 == 0 && bits.OnesCount64(set) < size && w.r.IntN(4) > 0 {
			set |= 1 << t
		}
	}
	return set
}

// query asks for a set of so many tokens, those beyond the ones given being unknown to the window.
func (w *crowd) query(set uint64, size int) sigstore.Query {
	tokens := appendMembers(nil, set)
	unknown := size - len(tokens)
	q := sigstore.Query{Tokens: tokens, Size: size, Signature: w.sign(tokens, unknown)}
	if w.r.IntN(2) == 0 {
		q.Holders = w.model.Hold(hashcodes.NewHolders(w.model.Bits()), ids(tokens, unknown))
	}
	return q
}

// searchSome searches for partners of rows by chance, some at once.
func (w *crowd) searchSome(n int) {
	w.tb.Helper()
	var queries []sigstore.Query
	for range n {
		b := w.r.IntN(len(w.blocks))
		if len(w.blocks[b]) == 0 {
			continue
		}
		if q, ok := w.partner(w.blocks[b][w.r.IntN(len(w.blocks[b]))]); ok {
			queries = append(queries, q)
		}
	}
	w.search(queries)
}

// search compares what queries find with a scan of all rows.
func (w *crowd) search(queries []sigstore.Query) {
	w.tb.Helper()
	w.index.Search(queries)
	for _, q := range queries {
		found := map[sigstore.Row]bool{}
		for _, r := range q.Hits {
			if found[r] {
				w.tb.Fatalf("%v: row %v twice", w.similar, r)
			}
			found[r] = true
		}
		w.scan(&q, found)
	}
}

func (w *crowd) scan(q *sigstore.Query, found map[sigstore.Row]bool) {
	w.tb.Helper()
	set := uint64(0)
	for _, t := range q.Tokens {
		set |= 1 << t
	}
	for b, rows := range w.blocks {
		for i, row := range rows {
			if !w.similar.Reaches(bits.OnesCount64(set&row), bits.OnesCount64(row), q.Size) {
				continue
			}
			w.hits++
			if r := (sigstore.Row{Block: w.first + uint32(b), Row: uint32(i)}); !found[r] {
				w.tb.Fatalf("%v: row %v %v of %d is missing for %v and %d unknown", w.similar, r,
					appendMembers(nil, row), w.index.next, q.Tokens, q.Size-len(q.Tokens))
			}
		}
	}
}

// kinds tells which nodes there are.
func (w *crowd) kinds() (kinds [nothing]bool) {
	for _, g := range w.index.generations {
		for token := range w.df {
			g.lists.walk(g.lists.head(uint32(token)), 0, &kinds)
		}
	}
	return kinds
}

// allMeasures are those of joins too, at thresholds from a half on.
func allMeasures() (all []text.Measure) {
	for _, t := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 7, Den: 10}, {Num: 4, Den: 5},
		{Num: 9, Den: 10}, {Num: 19, Den: 20}} {
		for _, s := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
			all = append(all, s.At(t))
		}
	}
	for _, least := range []int{1, 2, 5, 9} {
		all = append(all, text.Overlap.At(text.Threshold{Num: least, Den: 1}))
	}
	return all
}

// TestLosslessWithLongLists: of some thousand rows no partner is missing, whatever the measure, the codes and the
// sizes.
func TestLosslessWithLongLists(t *testing.T) {
	var all [nothing]bool
	codes := [][2]int{{64, 1}, {32, 1}, {64, 2}, {128, 1}, {32, 2}, {64, 3}}
	for i, similar := range allMeasures() {
		for _, size := range [][]int{{3, 13, 40}, {8, 24}}[i%2] {
			r := rand.New(rand.NewPCG(uint64(i), uint64(size)))
			code, tokens := codes[r.IntN(len(codes))], min(64, 2*size+4)
			w := newCodedCrowd(t, r, similar, code, tokens, size, size, size+1, size-size/3)
			for range 4 {
				w.addSome(2000)
				w.searchSome(24)
			}
			if w.hits == 0 && w.bounds.For(size).Prefix > 0 {
				t.Errorf("%v of %d: no hits at all", similar, size)
			}
			for k, has := range w.kinds() {
				all[k] = all[k] || has
			}
		}
	}
	if all != [nothing]bool{true, true, true, true} {
		t.Errorf("nodes by size, cell, token, hash: %v", all)
	}
}

// TestLosslessWhileItRolls: no partner is missing of a window of more rows than are posted again at once, while blocks
// go, rows die, and what has gone comes again.
func TestLosslessWhileItRolls(t *testing.T) {
	for i, similar := range []text.Measure{jaccardAt(3, 5), text.Cosine.At(text.Threshold{Num: 4, Den: 5})} {
		w := newCrowd(t, rand.New(rand.NewPCG(uint64(i), 16)), similar, 40, 11, 12, 17)
		var gone []uint64
		taking, begun := 0, 0
		for step := range 120 {
			if step%5 == 4 {
				w.open()
			}
			if len(w.blocks) > 10 {
				w.drop()
			}
			before := w.index.newestOf()
			for range 2000 {
				gone = w.live(gone)
			}
			if len(w.index.generations) > 1 {
				taking++
			}
			if w.index.newestOf() != before {
				begun++
			}
			w.searchSome(8)
		}
		if taking < 5 || begun < 2 {
			t.Errorf("%v: in %d of 120 steps rows were being posted again, for %d generations", similar, taking, begun)
		}
	}
}

// newestOf is the newest generation, if there is one.
func (x *index) newestOf() *generation {
	if len(x.generations) == 0 {
		return nil
	}
	return x.newest()
}

// live adds a row: one of those that have gone, a dead one, or a new one, after which another may die.
func (w *crowd) live(gone []uint64) []uint64 {
	switch n := w.r.IntN(50); {
	case n == 0:
		w.add(0)
	case n < 5 && len(gone) > 0:
		w.add(gone[len(gone)-1])
		return gone[:len(gone)-1]
	default:
		w.addSome(1)
		if n < 10 {
			b := w.r.IntN(len(w.blocks))
			if n := len(w.blocks[b]); n > 0 {
				return append(gone, w.kill(b, w.r.IntN(n)))
			}
		}
	}
	return gone
}

// TestAChainIsCut: rows that have no keys of two tokens make a chain of their list, and when one that has them cuts it
// no row is lost, and no more than a chunk is moved.
func TestAChainIsCut(t *testing.T) {
	const first, size = 20, 24 // token of the list
	w := newCrowd(t, rand.New(rand.NewPCG(1, 17)), jaccardAt(3, 5), 64)
	for i := range w.df {
		w.df[i] = uint32(8+i%8) << (10 + i/8) // token 0 is the rarest, and the order is never renewed
	}
	row := func(passed int) (set uint64) {
		for _, t := range w.r.Perm(first)[:passed] {
			set |= 1 << t
		}
		set |= 1 << first
		for bits.OnesCount64(set) < size {
			set |= 1 << (first + w.r.IntN(64-first))
		}
		return set
	}
	list := func() link {
		l, b := &w.index.newest().lists, &w.index.filters.buckets
		bySize := l.node(l.head(first))
		return l.node(bySize.at(int(b.of[size]))).at(int(b.slot(size, lastPassed)))
	}
	for range 2000 {
		w.add(row(5)) // of a prefix of ten five are left
	}
	l := &w.index.newest().lists
	before := l.chain(list())
	for range capacity[largest] + 1 {
		w.add(row(6))
	}
	if len(before) < 3 || list().class() != nodeClass {
		t.Fatalf("a chain of %d chunks, then a link of class %d", len(before), list().class())
	}
	if own := l.chain(l.node(list()).at(ownSlot)); own[len(own)-1] != before[len(before)-1] {
		t.Errorf("the oldest chunk was moved: %v, then %v", before, own)
	}
	for _, row := range w.blocks[0] {
		tokens := appendMembers(nil, row)
		common := uint64(1 << first)
		for _, t := range tokens[len(tokens)-17:] { // 18 of 24 are a Jaccard similarity of 0.6
			common |= 1 << t
		}
		w.search([]sigstore.Query{w.query(common, size)})
	}
	if w.hits < len(w.blocks[0]) {
		t.Errorf("%d hits of %d rows", w.hits, len(w.blocks[0]))
	}
}

// chain are the chunks of a list, the newest first.
func (l *lists) chain(h link) (all []link) {
	for ; h != 0; h = l.behind(h) {
		all = append(all, h)
	}
	return all
}
