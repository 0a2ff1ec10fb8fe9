package lossless

import (
	"cmp"
	"context"
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

// hits are the rows within the lossless radius of the queries, those that equal a query included, and those of them
// that pass the queries' counters (hashcodes.Counters).
type hits struct{ within, passing int }

// candidates counts the hits under a model.
func (t *table) candidates(ctx context.Context, m text.Measure, model *hashcodes.Model, queries [][]uint64) (hits, error) {
	t.sign(model)
	return t.within(ctx, m, model, queries)
}

// within is candidates, of the model that the table is signed with.
func (t *table) within(ctx context.Context, m text.Measure, model *hashcodes.Model, queries [][]uint64) (hits, error) {
	b := boundsOf(m)
	var within, passing atomic.Int64
	const chunk = 20
	parallel(t.workers, (len(queries)+chunk-1)/chunk, func(c int) {
		s := search{table: t, model: model, bounds: b, sig: make(hashcodes.Signature, model.Words()),
			counters: make(hashcodes.Counters, model.Bits())}
		for _, q := range queries[c*chunk : min((c+1)*chunk, len(queries))] {
			if ctx.Err() != nil {
				return
			}
			s.run(q)
		}
		within.Add(int64(s.found.within))
		passing.Add(int64(s.found.passing))
	})
	return hits{int(within.Load()), int(passing.Load())}, ctx.Err()
}

// search is one goroutine's.
type search struct {
	*table
	model    *hashcodes.Model
	bounds   *bounds
	sig, row hashcodes.Signature
	counters hashcodes.Counters
	scans    []hamming.Part
	found    hits
}

func (s *search) run(q []uint64) {
	s.model.Sign(s.sig, q)
	s.model.Count(s.counters, q)
	s.scans = s.parts(s.scans[:0], &s.bounds[len(q)], len(q), s.model.Ones(), s.sig)
	hamming.ScanParts(s.planes, s.scans)
	for i := range s.scans {
		for _, row := range s.scans[i].Hits {
			s.found.within++
			if s.passes(len(q), row) {
				s.found.passing++
			}
		}
	}
}

func (s *search) passes(n int, row uint32) bool {
	s.row = s.row[:0]
	for _, plane := range s.planes {
		s.row = append(s.row, plane[row])
	}
	k, ones := len(s.sets[row]), s.model.Ones()
	overlap := s.bounds[n].at(k)
	return s.counters.Within(s.sig, s.row, ones*(n-overlap), ones*(k-overlap))
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
