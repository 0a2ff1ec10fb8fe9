// Package searchers answers range searches in Hamming space in several ways, and looks sentences up in windows: the
// columns of the paper's Table 5 that are in Go.
package searchers

import (
	"context"
	"fmt"
	"slices"

	"refrain/hashcodes/hamming"
	"refrain/lab/bench/peers/pmtree"
	"refrain/lab/cpu"
)

// Searcher answers range searches in Hamming space over 32-bit signatures.
type Searcher interface {
	// Add appends rows.
	Add(signatures []uint32)

	// Search counts the rows within the radius of each query, over all queries.
	Search(queries []uint32, radius int) (hits int)
}

// All are the columns of the table in this program. An engine of ours joins with a line each.
func All() (all []Named) {
	kernels := hamming.Kernels()
	reference, best := kernels[0], kernels[len(kernels)-1]
	all = append(all, Named{"plain Go", "one query a pass",
		func([]uint32) Searcher { return &scan{kernel: reference, block: 1} }})
	if best.Name != reference.Name {
		all = append(all, Named{"hamming." + best.Name, "one query a pass",
			func([]uint32) Searcher { return &scan{kernel: best, block: 1} }})
	}
	return append(all,
		Named{"hamming." + best.Name + ", blocks", "64 queries a pass",
			func([]uint32) Searcher { return &scan{kernel: best, block: 64} }},
		Named{"PM-Tree", "20 pivots, pages of 2,048 bytes, building apart",
			func(sample []uint32) Searcher { return &tree{Tree: pmtree.New(sample)} }},
	)
}

// Named is a way to search.
type Named struct {
	Name, What string
	Open       func(sample []uint32) Searcher // the sample is to choose pivots from
}

// Paper is Table 5 of Zhang et al., SIGIR 2012: seconds for 2,000 queries, 0.1 to 1.0 M sentences.
var Paper = []struct {
	Name    string
	Seconds [10]float64
}{
	{"paper: CPU", [10]float64{468, 939, 1406, 1873, 2339, 2807, 3279, 3749, 4216, 4685}},
	{"paper: PM-Tree", [10]float64{152, 297, 433, 569, 704, 852, 979, 1124, 1258, 1401}},
	{"paper: GPU", [10]float64{.39, .44, .49, .55, .61, .67, .73, .79, .85, .91}},
}

// scan goes through all rows.
type scan struct {
	kernel hamming.Kernel
	block  int // queries a pass
	rows   []uint32
	hits   []uint32
	batch  []hamming.Query
}

func (s *scan) Add(signatures []uint32) { s.rows = append(s.rows, signatures...) }

func (s *scan) Search(queries []uint32, radius int) (hits int) {
	planes := [][]uint32{s.rows}
	if s.block == 1 {
		for i := range queries {
			s.hits = s.kernel.Scan(s.hits[:0], planes, queries[i:i+1], radius)
			hits += len(s.hits)
		}
		return hits
	}
	s.batch = slices.Grow(s.batch, s.block)[:s.block]
	for first := 0; first < len(queries); first += s.block {
		batch := s.batch[:min(s.block, len(queries)-first)]
		for i := range batch {
			batch[i] = hamming.Query{Signature: queries[first+i : first+i+1], Radius: radius, Hits: batch[i].Hits[:0]}
		}
		s.kernel.ScanBlock(planes, batch)
		for i := range batch {
			hits += len(batch[i].Hits)
		}
	}
	return hits
}

type tree struct {
	*pmtree.Tree
	found []uint32
	pairs int // that a scan would have compared
}

// Note says what of a scan's work the tree is spared.
func (t *tree) Note() string {
	return fmt.Sprintf("computing %.0f %% of the distances of a scan", 100*float64(t.Distances())/float64(t.pairs))
}

func (t *tree) Add(signatures []uint32) {
	for _, s := range signatures {
		t.Insert(s)
	}
}

func (t *tree) Search(queries []uint32, radius int) (hits int) {
	t.pairs += t.Len() * len(queries)
	for _, q := range queries {
		t.found = t.Tree.Search(t.found[:0], q, radius)
		hits += len(t.found)
	}
	return hits
}

// Cell is one figure.
type Cell struct {
	Rows          int     `json:"rows"`
	Seconds       float64 `json:"seconds"` // of processor time, for all queries
	Hits          int     `json:"hits"`    // of all queries
	SecondsAdding float64 `json:"secondsAdding"`
}

// Tenths are ten sizes up to so many rows.
func Tenths(rows int) (sizes []int) {
	for i := 1; i <= 10; i++ {
		sizes = append(sizes, i*rows/10)
	}
	return sizes
}

// Evenly takes n of some signatures.
func Evenly(from []uint32, n int) (taken []uint32) {
	for _, row := range EvenRows(len(from), n) {
		taken = append(taken, from[row])
	}
	return taken
}

// EvenRows are n of so many rows: those that Evenly takes.
func EvenRows(rows, n int) (taken []int) {
	for i := range n {
		taken = append(taken, i*rows/n)
	}
	return taken
}

// Measure lets a Searcher grow and searches it at every size, several times; once where that takes more than 2 s.
func Measure(ctx context.Context, s Searcher, codes, queries []uint32, sizes []int, radius,
	runs int) (cells []Cell, err error) {
	before := 0
	for _, size := range sizes {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		begin := cpu.Time()
		s.Add(codes[before:size])
		c := Cell{Rows: size, SecondsAdding: (cpu.Time() - begin).Seconds()}
		var took []float64
		for len(took) < runs && (len(took) == 0 || took[0] < 2) {
			begin := cpu.Time()
			c.Hits = s.Search(queries, radius)
			took = append(took, (cpu.Time() - begin).Seconds())
		}
		slices.Sort(took)
		c.Seconds = took[len(took)/2]
		cells = append(cells, c)
		before = size
	}
	return cells, nil
}
