//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"refrain/cuda/cudatest"
	"refrain/hashcodes/hamming/hammingtest"
)

// table is rows on the device and what is in them.
type table struct {
	rows *Rows
	cudatest.Table
}

// MustTable appends random rows in parts of random length.
func MustTable(tb testing.TB, d *Device, random *rand.Rand, words, n int) *table {
	tb.Helper()
	rows, err := d.NewRows(words, random.IntN(2)*random.IntN(3*chunkUnit))
	if err != nil {
		tb.Fatal(err)
	}
	t := &table{rows: rows, Table: cudatest.Table{Planes: make([][]uint32, words)}}
	for t.rows.Len() < n {
		t.MustAppend(tb, random, min(n-t.rows.Len(), 1+random.IntN(1+2*n/3)))
	}
	return t
}

func (t *table) MustAppend(tb testing.TB, random *rand.Rand, n int) {
	tb.Helper()
	if err := t.rows.Append(t.Grow(random, n)); err != nil {
		tb.Fatal(err)
	}
}

// question is one of tables on the device.
type question struct {
	*cudatest.Question
	rows []*Rows // of the jobs
}

func questionOf(q *cudatest.Question, tables ...*table) *question {
	all := &question{Question: q}
	for _, t := range tables {
		all.rows = append(all.rows, t.rows)
	}
	return all
}

func contents(tables []*table) (all []*cudatest.Table) {
	for _, t := range tables {
		all = append(all, &t.Table)
	}
	return all
}

func newQuestion(random *rand.Rand, queries int, tables ...*table) *question {
	return questionOf(cudatest.NewQuestion(random, queries, contents(tables)...), tables...)
}

func newWholeQuestion(random *rand.Rand, queries int, tables ...*table) *question {
	return questionOf(cudatest.NewWholeQuestion(random, queries, contents(tables)...), tables...)
}

func newFlood(queries int, t *table, from, to int) *question {
	return questionOf(cudatest.NewFlood(queries, &t.Table, from, to), t)
}

func (q *question) batch() *Batch {
	b := &Batch{}
	q.Fill(b)
	for i, j := range q.Jobs {
		b.AddJob(Job{Rows: q.rows[i], From: j.From, To: j.To, First: j.First, Last: j.Last, Class: j.Class})
	}
	return b
}

// ask wants what plain Go finds, each query's hits in order.
func (q *question) ask(tb testing.TB, d *Device, k *kernel) {
	tb.Helper()
	got := make([][]cudatest.Hit, len(q.Queries))
	if err := d.scan(q.batch(), k, func(h Hit) { got[h.Query] = append(got[h.Query], cudatest.Hit(h)) }); err != nil {
		tb.Fatal(err)
	}
	for i := range q.Queries {
		if want := q.Answer(i); !slices.Equal(got[i], want) {
			tb.Fatalf("%d words, query %d: %d hits, want %d", len(q.Queries[i]), i, len(got[i]), len(want))
		}
	}
}

// Jobs on tables of many widths and lengths, by every kernel.
func TestJobs(t *testing.T) {
	f := newFake(t)
	d := f.openAll(t)
	random := rand.New(rand.NewPCG(1, 1))
	for words := 1; words <= maxWords; words += stride() {
		f.Order(cudatest.Orders()[words%3])
		a := MustTable(t, d, random, words, 1+random.IntN(2500))
		b := MustTable(t, d, random, words, 1+random.IntN(500))
		for _, k := range d.kernels {
			newQuestion(random, 1+random.IntN(30), a, b, a, b).ask(t, d, k)
			newWholeQuestion(random, 1+random.IntN(3), b, a).ask(t, d, k)
		}
		free(t, a, b)
	}
}

// stride leaves out most of the cases beside the race detector: they are one goroutine's, and run without it too.
func stride() int {
	if testing.Short() {
		return 5
	}
	return 1
}

func free(tb testing.TB, tables ...*table) {
	tb.Helper()
	for _, t := range tables {
		if err := t.rows.Free(); err != nil {
			tb.Error(err)
		}
	}
}

// A query without a bit has holders too: what a row has alone counts.
func TestHoldersOfNoBit(t *testing.T) {
	d := newFake(t).openAll(t)
	rows := MustRows(t, d, [][]uint32{{0, 1, 3, 7, 15}})
	q := &question{rows: []*Rows{rows}, Question: &cudatest.Question{Queries: [][]uint32{{0}}, Codes: [][][]uint32{{{0}}},
		Classes: []int{0}, Radii: [][]int{{5}}, Apart: [][]cudatest.Apart{{{Tokens: 1, Further: 2}}},
		Tables: []*cudatest.Table{{Planes: [][]uint32{{0, 1, 3, 7, 15}}}}, Jobs: []cudatest.Job{{To: 5, Last: 1}}}}
	for _, k := range d.kernels {
		q.ask(t, d, k)
	}
	if n := len(q.Answer(0)); n != 3 {
		t.Errorf("%d hits, want the rows of at most two bits", n)
	}
}

// Weights add up to more than there are bits, and a radius may be as large: 200 tokens share the 64 bits that a query has, and
// a row without any of them is a hit where all may be outside.
func TestRadiusBeyondBits(t *testing.T) {
	d := newFake(t).openAll(t)
	for _, words := range []int{1, 2, 3, 4, 8, 16, 32} {
		query := make([]uint32, words)
		query[0], query[words-1] = ^uint32(0), ^uint32(0)
		var codes [][]uint32
		for token := range 200 {
			code := make([]uint32, words)
			code[0] |= 1 << (token % 32)
			code[words-1] |= 1<<(token*5%32) | 1<<(token*7%32)
			codes = append(codes, code)
		}
		planes := hammingtest.Planes(words, 3, func() uint32 { return 0 })
		rows := MustRows(t, d, planes)
		q := &question{rows: []*Rows{rows}, Question: &cudatest.Question{Queries: [][]uint32{query}, Codes: [][][]uint32{codes},
			Classes: []int{0}, Radii: [][]int{{600}}, Apart: [][]cudatest.Apart{{{Tokens: 200}}},
			Tables: []*cudatest.Table{{Planes: planes}}, Jobs: []cudatest.Job{{To: 3, Last: 1}}}}
		for _, k := range d.kernels {
			q.ask(t, d, k)
		}
		if n := len(q.Answer(0)); n != 3 {
			t.Errorf("%d words: %d hits, want 3", words, n)
		}
	}
}

// So many queries that each unit takes them in several stages, also without the ninth of them that can find nothing.
func TestStages(t *testing.T) {
	if testing.Short() {
		t.Skip("many rows; TestJobs meets the same goroutines with few")
	}
	f := newFake(t)
	f.Reset(1<<30, 1, 90, 1)
	d := f.openAll(t)
	random := rand.New(rand.NewPCG(11, 11))
	for _, c := range []struct {
		kernel               string
		words, rows, queries int
	}{
		{"popcount", 1, 34_000, 1300}, {"popcount", 2, 34_000, 1300}, {"popcount", 4, 30_000, 700}, {"popcount", 8, 15_000, 400},
		{"popcount", 5, 9000, 300}, {"imma", 1, 16_500, 600}, {"imma", 2, 16_500, 400}, {"imma", 4, 8200, 250},
		{"imma", 8, 3000, 150}, {"imma", 16, 2100, 120}, {"imma", 32, 200, 70}, {"bmma", 1, 16_500, 600},
		{"bmma", 4, 16_500, 600}, {"bmma", 8, 8200, 400}, {"bmma", 16, 4200, 200}, {"bmma", 32, 1500, 150},
	} {
		table := MustTable(t, d, random, c.words, c.rows)
		q := newWholeQuestion(random, c.queries, table)
		for i := range q.Radii[0] { // few hits: they are not what this is about
			q.Radii[q.Jobs[0].Class][i] = min(q.Radii[q.Jobs[0].Class][i], 1)
		}
		q.AddCodes(random)
		k, err := d.kernel(c.kernel)
		if err != nil {
			t.Fatal(err)
		}
		q.ask(t, d, k)
		free(t, table)
	}
}

// Hits beyond the room are neither lost nor doubled: with memory for them, and without.
func TestOverflow(t *testing.T) {
	f := newFake(t)
	for i, most := range []int{1 << 20, 300, 200} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			f.Order(cudatest.Orders()[i])
			d := f.open(t, func(c *Config) { c.sizes.hits, c.sizes.maxHits, c.sizes.staging = 200, most, 1000 })
			random := rand.New(rand.NewPCG(2, 2))
			table := MustTable(t, d, random, 1, 2500)
			for _, k := range d.kernels {
				newWholeQuestion(random, 9, table, table).ask(t, d, k)
				newFlood(most%1000+5, table, 7, 8).ask(t, d, k) // only its queries can be divided
			}
		})
	}
}

// Room for hits that was needed once stays, so that the next batch like it is one launch.
func TestRoomStays(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel, c.Scans, c.sizes.hits = "popcount", 1, 200 })
	table := MustTable(t, d, rand.New(rand.NewPCG(12, 12)), 1, 2500)
	for i, want := range []int{2, 1, 1} {
		before := strings.Count(f.Log(), "cuLaunchKernel")
		newFlood(3, table, 0, 2500-i).ask(t, d, nil)
		if got := strings.Count(f.Log(), "cuLaunchKernel") - before; got != want {
			t.Errorf("batch %d: %d launches, want %d", i, got, want)
		}
	}
}

// What a flood of hits needs may not be in the budget, or be a large part of it: then it is done in parts.
func TestOverflowWithoutMemory(t *testing.T) {
	f := newFake(t)
	for name, budget := range map[string]func(used int64) int64{
		"no memory":    func(used int64) int64 { return used + 50_000 },
		"a large part": func(int64) int64 { return 32 * hitBytes * 3000 },
	} {
		t.Run(name, func(t *testing.T) {
			d := f.open(t, func(c *Config) { c.Scans, c.sizes.hits, c.sizes.staging = 1, 1000, 1000 })
			table := MustTable(t, d, rand.New(rand.NewPCG(3, 3)), 1, 4000)
			before := d.lane(t).room
			d.budget = budget(d.used.Load())
			newFlood(8, table, 0, 4000).ask(t, d, nil) // 32,000 hits, 256,000 bytes
			if got := d.lane(t).room; got > before && int64(got) > d.budget/32/hitBytes {
				t.Errorf("room for %d hits, want a 32nd of the budget at most", got)
			}
		})
	}
}

// lane is one that no scan uses.
func (d *Device) lane(t *testing.T) *lane {
	t.Helper()
	l := <-d.lanes
	d.lanes <- l
	return l
}

// More rows than a launch has numbers for.
func TestManyRows(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel, c.sizes.pages, c.sizes.hits = "popcount", 4, 1<<15 })
	random := rand.New(rand.NewPCG(4, 4))
	a, b := MustTable(t, d, random, 2, 3*chunkUnit+1), MustTable(t, d, random, 2, 90)
	before := strings.Count(f.Log(), "cuLaunchKernel")
	newWholeQuestion(random, 3, a, b, b, a).ask(t, d, nil)
	if got := strings.Count(f.Log(), "cuLaunchKernel") - before; got < 3 || got > 8 {
		t.Errorf("%d launches for 10 pages, 4 of which go in one", got)
	}
}

// All jobs go out in one launch, and the queries once for all of them.
func TestOneLaunch(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel, c.sizes.hits = "imma", 1<<17 })
	random := rand.New(rand.NewPCG(5, 5))
	var tables []*table
	for range 40 {
		tables = append(tables, MustTable(t, d, random, 2, 1+random.IntN(40)))
	}
	q := newWholeQuestion(random, 100, tables...)
	launches, sent := strings.Count(f.Log(), "cuLaunchKernel"), bytesSent(t, f.Log())
	q.ask(t, d, nil)
	if got := strings.Count(f.Log(), "cuLaunchKernel") - launches; got != 1 {
		t.Errorf("%d launches, want 1", got)
	}
	// Of a query its signature, class and sum; eight words of weights a word; where its holders are, and they.
	want := 40*int(unsafe.Sizeof(segment{})) + 100*(16+64+8) + 8*len(q.Radii)*len(q.Radii[0])
	for i := range q.Codes {
		_, holders := q.Holders(i)
		want += 8 * len(holders)
	}
	if got := bytesSent(t, f.Log()) - sent; got != want {
		t.Errorf("%d bytes sent, want %d", got, want)
	}
}

// bytesSent adds up the copies to the device.
func bytesSent(t *testing.T, log string) (sum int) {
	t.Helper()
	for line := range strings.Lines(log) {
		var n int
		if !strings.HasPrefix(line, "cuMemcpyHtoDAsync ") {
			continue
		}
		if _, err := fmt.Sscanf(line, "cuMemcpyHtoDAsync %d", &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// One batch is made while the device is at another: what it finds is not touched by it.
func TestStart(t *testing.T) {
	d := newFake(t).open(t, func(c *Config) { c.Kernel, c.Scans = "popcount", 2 })
	random := rand.New(rand.NewPCG(14, 14))
	table := MustTable(t, d, random, 2, 3000)
	q, other := newWholeQuestion(random, 20, table), newFlood(3, table, 5, 2000)
	b := q.batch()
	if err := d.Start(b); err != nil {
		t.Fatal(err)
	}
	table.MustAppend(t, random, 500) // after the start: not seen
	other.ask(t, d, nil)
	got := make([][]cudatest.Hit, 20)
	if err := b.Wait(func(h Hit) { got[h.Query] = append(got[h.Query], cudatest.Hit(h)) }); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if want := q.Answer(i); !slices.Equal(got[i], want) {
			t.Errorf("query %d: %d hits, want %d", i, len(got[i]), len(want))
		}
	}
	if err := b.Wait(func(Hit) { t.Error("a hit of what was waited for before") }); err != nil {
		t.Error(err)
	}
}

// Rows come in while scans run: a scan sees what was there when it began.
func TestConcurrent(t *testing.T) {
	f := newFake(t)
	for _, order := range cudatest.Orders() {
		t.Run(order.String(), func(t *testing.T) {
			d := f.open(t, func(c *Config) { c.Kernel, c.Scans = "popcount", 2 })
			f.Order(order)
			var wait sync.WaitGroup
			for n := range 4 {
				wait.Go(func() { appendAndScan(t, d, rand.New(rand.NewPCG(6, uint64(n))), 1+n%2) })
			}
			wait.Wait()
			if used, _ := d.Memory(); used > 1<<20 {
				t.Errorf("%d bytes are still in use", used)
			}
		})
	}
}

// appendAndScan does so in turns, on a table of its own.
func appendAndScan(t *testing.T, d *Device, random *rand.Rand, words int) {
	table := MustTable(t, d, random, words, 50)
	for range 30 {
		table.MustAppend(t, random, random.IntN(300))
		newQuestion(random, 1+random.IntN(5), table).ask(t, d, nil)
	}
	free(t, table)
}

// Appends of other rows go on while a scan of the same table runs.
func TestAppendWhileScanning(t *testing.T) {
	d := newFake(t).open(t, func(c *Config) { c.Kernel = "popcount" })
	random := rand.New(rand.NewPCG(7, 7))
	shared := MustTable(t, d, random, 1, 1000)
	var wait sync.WaitGroup
	wait.Go(func() {
		for range 200 {
			if err := shared.rows.Append([][]uint32{{1, 2, 3}}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		newQuestion(random, 2, shared).ask(t, d, nil)
	}
	wait.Wait()
	if got := shared.rows.Len(); got != 1600 {
		t.Errorf("%d rows, want 1600", got)
	}
}

// Any table and any jobs: what comes of the numbers is compared with plain Go, by every kernel.
func FuzzJobs(f *testing.F) {
	driver := newFake(f)
	device := driver.openAll(f)
	f.Add(uint64(1), byte(1), uint16(2049), byte(9))
	f.Add(uint64(2), byte(2), uint16(1), byte(1))
	f.Add(uint64(3), byte(9), uint16(127), byte(130))
	f.Add(uint64(4), byte(32), uint16(300), byte(8))
	f.Fuzz(func(t *testing.T, seed uint64, words byte, rows uint16, queries byte) {
		random := rand.New(rand.NewPCG(seed, 1))
		table := MustTable(t, device, random, 1+int(words)%maxWords, 1+int(rows)%5000)
		defer free(t, table)
		for _, k := range device.kernels {
			newQuestion(random, 1+int(queries), table, table).ask(t, device, k)
		}
	})
}
