package lossless

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/text"
)

// table holds distinct sets by rising size beside the word planes of their signatures, so that all sets of one size are a
// run of rows.
type table struct {
	sets    [][]uint64
	band    [hashcodes.MaxSize + 2]int // first row of each size
	planes  [][]uint32
	workers int
}

func newTable(sets [][]uint64, workers int) *table {
	t := &table{sets: slices.Clone(sets), workers: max(1, workers)}
	slices.SortStableFunc(t.sets, func(a, b []uint64) int { return cmp.Compare(len(a), len(b)) })
	for size := range t.band {
		t.band[size], _ = slices.BinarySearchFunc(t.sets, size,
			func(set []uint64, size int) int { return cmp.Compare(len(set), size) })
	}
	return t
}

// sign fills the planes with the signatures of a model.
func (t *table) sign(m *hashcodes.Model) {
	t.planes = make([][]uint32, m.Words())
	for w := range t.planes {
		t.planes[w] = make([]uint32, len(t.sets))
	}
	const chunk = 4096
	parallel(t.workers, (len(t.sets)+chunk-1)/chunk, func(c int) {
		sig := make(hashcodes.Signature, m.Words())
		for row := c * chunk; row < min((c+1)*chunk, len(t.sets)); row++ {
			for w, word := range m.Sign(sig, t.sets[row]) {
				t.planes[w][row] = word
			}
		}
	})
}

// hits are the rows within the lossless radius of the queries, those that equal a query included; those of them that
// pass the queries' counters; and those that pass their holders (hashcodes.Holders), which is fewer of these.
type hits struct{ within, counted, passing int }

func (h *hits) add(o hits) {
	h.within, h.counted, h.passing = h.within+o.within, h.counted+o.counted, h.passing+o.passing
}

// without is h less so many hits, whatever the filter.
func (h hits) without(n int) hits { return hits{h.within - n, h.counted - n, h.passing - n} }

// candidates counts the hits under a model.
func (t *table) candidates(ctx context.Context, m text.Measure, model *hashcodes.Model, queries [][]uint64) (hits, error) {
	t.sign(model)
	return t.within(ctx, m, model, queries)
}

// within is candidates, of the model that the table is signed with.
func (t *table) within(ctx context.Context, m text.Measure, model *hashcodes.Model, queries [][]uint64) (hits, error) {
	b := boundsOf(m)
	var lock sync.Mutex
	var sum hits
	const chunk = 20
	parallel(t.workers, (len(queries)+chunk-1)/chunk, func(c int) {
		s := search{table: t, model: model, bounds: b, sig: make(hashcodes.Signature, model.Words()),
			holders: hashcodes.NewHolders(model.Bits())}
		for _, q := range queries[c*chunk : min((c+1)*chunk, len(queries))] {
			if ctx.Err() != nil {
				return
			}
			s.run(q)
		}
		lock.Lock()
		defer lock.Unlock()
		sum.add(s.found)
	})
	return sum, ctx.Err()
}

// search is one goroutine's.
type search struct {
	*table
	model    *hashcodes.Model
	bounds   *bounds
	sig, row hashcodes.Signature
	holders  *hashcodes.Holders
	codes    hashcodes.Signature // of the tokens, one after the other
	scans    []hamming.Part
	found    hits
}

func (s *search) run(q []uint64) {
	s.model.Sign(s.sig, q)
	s.model.Hold(s.holders, q)
	s.codes = s.codes[:0]
	for _, token := range q {
		n := len(s.codes)
		s.codes = slices.Grow(s.codes, s.model.Words())[:n+s.model.Words()]
		s.model.Code(s.codes[n:], token)
	}
	s.scans = s.parts(s.scans[:0], &s.bounds[len(q)], len(q), s.model.Ones(), s.sig)
	hamming.ScanParts(s.planes, s.scans)
	for i := range s.scans {
		for _, row := range s.scans[i].Hits {
			s.compare(len(q), row)
		}
	}
}

// compare counts a row within the radius.
func (s *search) compare(n int, row uint32) {
	s.row = s.row[:0]
	for _, plane := range s.planes {
		s.row = append(s.row, plane[row])
	}
	k, ones := len(s.sets[row]), s.model.Ones()
	overlap := s.bounds[n].at(k)
	s.found.within++
	if s.holders.Within(s.sig, s.row, n-overlap, ones*(k-overlap)) {
		s.found.passing++
	}
	if s.missing() <= ones*(n-overlap) && bitsAlone(s.sig, s.row) <= ones*(k-overlap) {
		s.found.counted++
	}
}

// missing is the sum of the query's counters over the bits that the row lacks: those of all codes together.
func (s *search) missing() (n int) {
	for i, word := range s.codes {
		n += bits.OnesCount32(word &^ s.row[i%len(s.row)])
	}
	return n
}

// bitsAlone counts the bits that y has and x lacks.
func bitsAlone(x, y hashcodes.Signature) (n int) {
	for i, word := range y {
		n += bits.OnesCount32(word &^ x[i])
	}
	return n
}

// parts appends the scans for the partners of a set of n tokens: one for each size that they may have.
func (t *table) parts(dst []hamming.Part, b *sizeBounds, n, ones int, sig hashcodes.Signature) []hamming.Part {
	for size := b.min; size <= b.max; size++ {
		from, to := t.band[size], t.band[size+1]
		overlap := b.at(size)
		if from == to || overlap > min(n, size) {
			continue
		}
		i := len(dst)
		if i < cap(dst) {
			dst = dst[:i+1] // keep the buffer of its hits
		} else {
			dst = append(dst, hamming.Part{})
		}
		dst[i] = hamming.Part{
			Query: hamming.Query{Signature: sig, Radius: ones * (n + size - 2*overlap), Hits: dst[i].Hits[:0]},
			From:  from, To: to,
		}
	}
	return dst
}

// matches is how many rows are similar enough to the queries, found without signatures; a row that equals a query
// counts in equal instead.
func (t *table) matches(ctx context.Context, m text.Measure, queries [][]uint64) (similar, equal int, err error) {
	x := newIndex(m, t.sets)
	var same, all atomic.Int64
	const chunk = 50
	var pool = sync.Pool{New: func() any { return x.searcher() }}
	parallel(t.workers, (len(queries)+chunk-1)/chunk, func(c int) {
		s := pool.Get().(*searcher)
		defer pool.Put(s)
		var ranked []uint32
		for _, q := range queries[c*chunk : min((c+1)*chunk, len(queries))] {
			if ctx.Err() != nil {
				return
			}
			ranked = x.rank(ranked[:0], q)
			s.search(ranked, uint32(len(t.sets)), func(row uint32, common int) {
				all.Add(1)
				if common == len(q) && len(t.sets[row]) == len(q) {
					same.Add(1)
				}
			})
		}
	})
	return int(all.Load() - same.Load()), int(same.Load()), ctx.Err()
}

// parallel calls work for 0 to n-1, each once, on so many goroutines.
func parallel(workers, n int, work func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
}
