package devicetest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"refrain/cuda"
	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

// size is the usual one, or that of a small run.
func size(usual, less int) int {
	if *small {
		return less
	}
	return usual
}

const maxWords = hammingtest.MaxWords

// scanner makes a device what the suite of all scans tries: tables in host memory, which it takes to the device first.
type scanner struct {
	tb      testing.TB
	device  *cuda.Device
	singles int // one in so many single queries, of which the suite has very many, is not left to plain Go
	turn    int
	table   *table // on the device
}

var _ hammingtest.Scanner = (*scanner)(nil)

func (s *scanner) Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	if s.turn++; s.turn%s.singles != 0 {
		return hamming.Scan(hits, planes, query, radius)
	}
	queries := []hamming.Query{{Signature: query, Radius: radius, Hits: hits}}
	s.scan(planes, queries)
	return queries[0].Hits
}

func (s *scanner) ScanBlock(planes [][]uint32, queries []hamming.Query) {
	if s.turn++; s.turn%s.singles != 0 {
		hamming.ScanBlock(planes, queries)
		return
	}
	s.scan(planes, queries)
}

// scan gives each query a class of its own, and so its radius.
func (s *scanner) scan(planes [][]uint32, queries []hamming.Query) {
	s.upload(planes)
	var b cuda.Batch
	b.Reset(len(planes), 1, len(queries))
	for i, q := range queries {
		b.SetRadius(0, i, q.Radius)
		b.AddQuery(q.Signature, i)
	}
	b.AddJob(cuda.Job{Rows: s.table.rows, To: len(planes[0]), Last: len(queries)})
	err := s.device.Scan(&b, func(h cuda.Hit) { queries[h.Query].Hits = append(queries[h.Query].Hits, h.Row) })
	if err != nil {
		s.tb.Fatal(err)
	}
}

// upload brings planes to the device, unless they are there.
func (s *scanner) upload(planes [][]uint32) {
	if s.table != nil && slices.EqualFunc(planes, s.table.Planes, slices.Equal[[]uint32]) {
		return
	}
	if s.table != nil {
		s.table.free(s.tb)
	}
	rows, err := s.device.NewRows(len(planes), 0)
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := rows.Append(planes); err != nil {
		s.tb.Fatal(err)
	}
	s.table = &table{rows: rows}
	for _, plane := range planes {
		s.table.Planes = append(s.table.Planes, slices.Clone(plane))
	}
}

// The suite of all scans, by every kernel.
func TestSuite(t *testing.T) {
	eachKernel(t, func(t *testing.T, d *cuda.Device) {
		hammingtest.Run(t, &scanner{tb: t, device: d, singles: size(3, 101)})
	})
}

// Jobs on tables of all widths and many lengths, by every kernel.
func TestJobs(t *testing.T) {
	eachKernel(t, func(t *testing.T, d *cuda.Device) {
		random := rand.New(rand.NewPCG(1, 1))
		for words := 1; words <= maxWords; words++ {
			if *small && words > 8 && words%8 != 0 {
				continue
			}
			for range size(10, 1) {
				a := newTable(t, d, random, words, 1+random.IntN(size(50_000, 2500)))
				b := newTable(t, d, random, words, 1+random.IntN(500))
				newQuestion(random, 1+random.IntN(30), a, b).ask(t, d)
				newQuestion(random, 1+random.IntN(size(3000, 100)), b).ask(t, d)
				a.free(t)
				b.free(t)
			}
		}
	})
}

// More hits than there is room for: the buffer grows, or, where the budget is small, the batch is done in parts. None is
// left out, none comes twice.
func TestFlood(t *testing.T) {
	budgets := map[string]int64{"room": 0, "none": 8 << 20}
	if *small {
		delete(budgets, "room") // each device that is opened takes its time under a sanitizer
	}
	for _, kernel := range kernels(t) {
		for name, budget := range budgets {
			t.Run(kernel+"/"+name, func(t *testing.T) {
				d := open(t, kernel, func(c *cuda.Config) { c.Budget = budget })
				random := rand.New(rand.NewPCG(2, 2))
				for _, words := range []int{1, 2, 3, 8} {
					flood := newFlood(size(200, 50), newTable(t, d, random, words, size(10_000, 4000)))
					flood.ask(t, d)
					flood.ask(t, d) // in the room that was made
					flood.tables[0].free(t)
				}
			})
		}
	}
}

// Scans of two tables and appends to one of them at once, by several goroutines.
func TestTogether(t *testing.T) {
	eachKernel(t, func(t *testing.T, d *cuda.Device) {
		random := rand.New(rand.NewPCG(3, 3))
		a, b := newTable(t, d, random, 2, 5000), newTable(t, d, random, 2, 3000)
		ab, onlyA := newQuestion(random, 300, a, b), newQuestion(random, 200, a)
		var wait sync.WaitGroup
		for _, q := range []*question{ab, onlyA, ab} {
			wait.Go(func() {
				for range size(50, 2) {
					q.ask(t, d)
				}
			})
		}
		other := newTable(t, d, rand.New(rand.NewPCG(4, 4)), 2, 100)
		for n := range size(50, 4) {
			other.append(t, random, 1+997*n)
		}
		wait.Wait()
		newQuestion(random, 20, other, b).ask(t, d)
		if err := a.rows.Append(hammingtest.Planes(2, 10, random.Uint32)); err != nil {
			t.Error(err)
		}
	})
}

// The kernel that is chosen is none that is there for comparison, and gives the same.
func TestChoice(t *testing.T) {
	if *small {
		t.Skip("the trial takes minutes where the device is simulated")
	}
	d := open(t, "")
	random := rand.New(rand.NewPCG(5, 5))
	for _, words := range []int{1, 2, 3, 4, 8, 32} {
		newQuestion(random, 50, newTable(t, d, random, words, 10_000)).ask(t, d)
	}
}

// Measure finds no kernel wrong.
func TestMeasure(t *testing.T) {
	d := open(t, "")
	c := cuda.DefaultMeasure(d)
	c.Words, c.Rows, c.Queries, c.Runs = []int{1, 2, 3, 4, 8, 16, 32}, []int{size(300_000, 3000)}, size(2000, 40), 1
	c.Check = size(200, 40)
	all, err := cuda.Measure(d, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(c.Words)*len(c.Kernels) {
		t.Errorf("%d measurements", len(all))
	}
	for _, m := range all {
		if m.Wrong > 0 || m.Hits == 0 || m.Skipped != "" {
			t.Errorf("%+v", m)
		}
	}
}
