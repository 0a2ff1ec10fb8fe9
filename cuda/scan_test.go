//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"refrain/cuda/cudatest"
	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

// table is rows on the device and what is in them.
type table struct {
	rows   *Rows
	planes [][]uint32
}

// MustTable appends random rows, some of them equal or near to each other, in parts of random length.
func MustTable(tb testing.TB, d *Device, random *rand.Rand, words, n int) *table {
	tb.Helper()
	rows, err := d.NewRows(words, random.IntN(2)*random.IntN(3*chunkUnit))
	if err != nil {
		tb.Fatal(err)
	}
	t := &table{rows: rows, planes: make([][]uint32, words)}
	for t.rows.Len() < n {
		t.MustAppend(tb, random, min(n-t.rows.Len(), 1+random.IntN(1+2*n/3)))
	}
	return t
}

func (t *table) MustAppend(tb testing.TB, random *rand.Rand, n int) {
	tb.Helper()
	part := hammingtest.Planes(len(t.planes), n, func() uint32 { return random.Uint32() & random.Uint32() & random.Uint32() })
	for range n / 20 {
		row := random.IntN(n)
		for w := range part {
			part[w][row] = 0
		}
	}
	if err := t.rows.Append(part); err != nil {
		tb.Fatal(err)
	}
	for w := range part {
		t.planes[w] = append(t.planes[w], part[w]...)
	}
}

// job is rows of the table, and queries near to some of them, with all kinds of radii.
func (t *table) job(random *rand.Rand, queries int) Job {
	words, n := len(t.planes), len(t.planes[0])
	from := random.IntN(n + 1)
	j := Job{Rows: t.rows, From: from, To: from + random.IntN(n-from+1)}
	for range queries {
		signature := hammingtest.Row(t.planes, random.IntN(n))
		signature[random.IntN(words)] ^= 1 << random.IntN(32)
		radius := []int{0, 1, 2, 3, 4 * words, 7 * words, 32 * words, -1, 1 << 40}[random.IntN(9)]
		j.Queries = append(j.Queries, hamming.Query{Signature: signature, Radius: radius, Hits: []uint32{9, 8}})
	}
	return j
}

// check wants what plain Go finds, behind what was there before.
func (t *table) check(tb testing.TB, j Job) {
	tb.Helper()
	part := make([][]uint32, len(t.planes))
	for w := range part {
		part[w] = t.planes[w][j.From:j.To]
	}
	for i, q := range j.Queries {
		want := hamming.Kernels()[0].Scan([]uint32{9, 8}, part, q.Signature, q.Radius)
		for n := range want[2:] {
			want[2+n] += uint32(j.From)
		}
		if !slices.Equal(q.Hits, want) {
			tb.Fatalf("%d words, rows %d to %d, query %d, radius %d: %d hits, want %d", len(part), j.From, j.To, i, q.Radius,
				len(q.Hits)-2, len(want)-2)
		}
	}
}

// Many jobs on tables of many widths and lengths, in one Scan, by every kernel.
func TestJobs(t *testing.T) {
	f := newFake(t)
	d := f.openAll(t)
	random := rand.New(rand.NewPCG(1, 1))
	for words := 1; words <= maxWords; words++ {
		f.Order(cudatest.Orders()[words%3])
		a := MustTable(t, d, random, words, 1+random.IntN(2500))
		b := MustTable(t, d, random, 1+random.IntN(maxWords), 1+random.IntN(500))
		for _, k := range d.kernels {
			jobs := []Job{a.job(random, 1+random.IntN(9)), b.job(random, 5), a.job(random, random.IntN(30)), b.job(random, 1)}
			if err := d.scan(jobs, k); err != nil {
				t.Fatal(err)
			}
			for i, of := range []*table{a, b, a, b} {
				of.check(t, jobs[i])
			}
		}
		free(t, a, b)
	}
}

func free(tb testing.TB, tables ...*table) {
	tb.Helper()
	for _, t := range tables {
		if err := t.rows.Free(); err != nil {
			tb.Error(err)
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
		job := table.job(random, c.queries)
		job.From, job.To = 0, c.rows
		for i := range job.Queries { // few hits: they are not what this is about
			job.Queries[i].Radius = min(job.Queries[i].Radius, 1)
		}
		k, err := d.kernel(c.kernel)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.scan([]Job{job}, k); err != nil {
			t.Fatal(err)
		}
		table.check(t, job)
		free(t, table)
	}
}

// Hits beyond the room are neither lost nor doubled: with memory for them, and without.
func TestOverflow(t *testing.T) {
	f := newFake(t)
	for i, most := range []int{1 << 20, 300, 200} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			f.Order(cudatest.Orders()[i])
			d := f.open(t, func(c *Config) { c.sizes.hits, c.sizes.maxHits, c.sizes.staging, c.sizes.trial = 200, most, 1000, 64 })
			random := rand.New(rand.NewPCG(2, 2))
			table := MustTable(t, d, random, 1, 2500)
			for _, k := range d.kernels {
				jobs := []Job{table.job(random, 6), table.job(random, 3)}
				if err := d.scan(jobs, k); err != nil {
					t.Fatal(err)
				}
				table.check(t, jobs[0])
				table.check(t, jobs[1])
				one := Job{Rows: table.rows, From: 7, To: 8} // only its queries can be divided
				for range most%1000 + 5 {
					one.Queries = append(one.Queries, hamming.Query{Signature: []uint32{0}, Radius: 32, Hits: []uint32{9, 8}})
				}
				if err := d.scan([]Job{one}, k); err != nil {
					t.Fatal(err)
				}
				table.check(t, one)
			}
			if l := <-d.lanes; l.room != 200 {
				t.Errorf("room for %d hits is kept, want 200", l.room)
			} else {
				d.lanes <- l
			}
		})
	}
}

// What a flood of hits needs may not be in the budget: then it is done in parts.
func TestOverflowWithoutMemory(t *testing.T) {
	d := newFake(t).open(t, func(c *Config) { c.Scans, c.sizes.hits, c.sizes.staging, c.sizes.trial = 1, 1000, 1000, 64 })
	random := rand.New(rand.NewPCG(3, 3))
	table := MustTable(t, d, random, 1, 4000)
	d.budget = d.used + 50_000
	job := table.job(random, 0)
	job.From, job.To = 0, 4000
	for range 8 { // 32,000 hits, 256,000 bytes
		job.Queries = append(job.Queries, hamming.Query{Signature: []uint32{0}, Radius: 32, Hits: []uint32{9, 8}})
	}
	if err := d.Scan([]Job{job}); err != nil {
		t.Fatal(err)
	}
	table.check(t, job)
}

// More queries than a launch takes.
func TestManyQueries(t *testing.T) {
	d := newFake(t).open(t, func(c *Config) {
		c.Kernel, c.sizes.queries, c.sizes.hits, c.sizes.staging = "popcount", 50, 1<<12, 500
	})
	random := rand.New(rand.NewPCG(4, 4))
	a, b := MustTable(t, d, random, 2, 700), MustTable(t, d, random, 2, 90)
	jobs := []Job{a.job(random, 70), b.job(random, 3), a.job(random, 16), b.job(random, 40)}
	if err := d.Scan(jobs); err != nil {
		t.Fatal(err)
	}
	for i, of := range []*table{a, b, a, b} {
		of.check(t, jobs[i])
	}
}

// Jobs of one width go out in one launch.
func TestOneLaunch(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel = "imma" })
	random := rand.New(rand.NewPCG(5, 5))
	var tables []*table
	var jobs []Job
	for range 40 {
		tables = append(tables, MustTable(t, d, random, 2, 1+random.IntN(40)))
		jobs = append(jobs, tables[len(tables)-1].job(random, 3))
		jobs[len(jobs)-1].From = 0
	}
	before := strings.Count(f.Log(), "cuLaunchKernel")
	if err := d.Scan(jobs); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(f.Log(), "cuLaunchKernel") - before; got != 1 {
		t.Errorf("%d launches, want 1", got)
	}
	for i, of := range tables {
		of.check(t, jobs[i])
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
		job := table.job(random, 1+random.IntN(5))
		if err := d.Scan([]Job{job}); err != nil {
			t.Error(err)
			return
		}
		table.check(t, job)
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
		job := shared.job(random, 2)
		if err := d.Scan([]Job{job}); err != nil {
			t.Fatal(err)
		}
		shared.check(t, job)
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
			jobs := []Job{table.job(random, int(queries)), table.job(random, 2)}
			if err := device.scan(jobs, k); err != nil {
				t.Fatal(err)
			}
			table.check(t, jobs[0])
			table.check(t, jobs[1])
		}
	})
}
