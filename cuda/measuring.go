package cuda

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"refrain/hashcodes/hamming"
)

// measuring is a run of Measure.
type measuring struct {
	device *Device
	config MeasureConfig
	done   []Measurement
	rows   *Rows
	want   [][]uint32 // the hits of the queries that are checked
}

// series measures all kernels on one growing table.
func (m *measuring) series(words int) error {
	m.rows = m.device.newRows(words, 0)
	defer func() { _ = m.rows.Free() }() // the last thing done with it
	for _, rows := range m.config.Rows {
		filled := m.fill(rows)
		if filled != nil && !errors.Is(filled, ErrMemory) {
			return filled
		}
		queries := m.queries(words, rows)
		if filled == nil {
			m.check(rows, queries[:m.config.Check])
		}
		for _, kernel := range m.config.Kernels {
			if err := m.measure(kernel, rows, queries, filled); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rows are made in blocks, each from its number, so that it can be made again.
const measuredBlock = 1 << 20

func (m *measuring) block(words, number, rows int) [][]uint32 {
	random := rand.New(rand.NewPCG(m.config.Seed, uint64(number)<<8|uint64(words)))
	planes := randomPlanes(random, words, measuredBlock)
	for w := range planes {
		planes[w] = planes[w][:min(measuredBlock, rows-number*measuredBlock)]
	}
	return planes
}

func blocksOf(rows int) int { return (rows + measuredBlock - 1) / measuredBlock }

// fill appends whole blocks until there are at least so many rows.
func (m *measuring) fill(rows int) error {
	for n := m.rows.Len() / measuredBlock; n < blocksOf(rows); n++ {
		end := (n + 1) * measuredBlock
		if err := m.rows.Append(m.block(m.rows.words, n, end)); err != nil {
			return err
		}
	}
	return nil
}

// queries are random, but for one in 16, which is a row of the first block with a bit turned.
func (m *measuring) queries(words, rows int) []hamming.Query {
	random := rand.New(rand.NewPCG(m.config.Seed, 1<<63|uint64(words)))
	queries := randomQueries(random, words, m.config.Queries, m.config.Radius*words)
	first := m.block(words, 0, rows)
	for i := 0; i < len(queries); i += 16 {
		row := random.IntN(len(first[0]))
		for w := range words {
			queries[i].Signature[w] = first[w][row]
		}
		queries[i].Signature[0] ^= 1 << random.IntN(32)
	}
	return queries
}

// check finds the hits of queries by the CPU, on all its cores.
func (m *measuring) check(rows int, queries []hamming.Query) {
	found := make([][]hamming.Query, blocksOf(rows))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(found); n = int(next.Add(1)) - 1 {
				found[n] = blank(queries)
				hamming.ScanBlock(m.block(m.rows.words, n, rows), found[n])
			}
		})
	}
	wait.Wait()
	m.want = make([][]uint32, len(queries))
	for n, block := range found {
		for i, q := range block {
			for _, row := range q.Hits {
				m.want[i] = append(m.want[i], row+uint32(n*measuredBlock))
			}
		}
	}
}

// blank is queries without hits.
func blank(queries []hamming.Query) []hamming.Query {
	queries = slices.Clone(queries)
	for i := range queries {
		queries[i].Hits = nil
	}
	return queries
}

// measure times one kernel; filled is why there are too few rows.
func (m *measuring) measure(name string, rows int, queries []hamming.Query, filled error) error {
	words := m.rows.words
	k, err := m.device.kernel(name)
	if err != nil {
		return err
	}
	result := Measurement{Kernel: name, Words: words, Rows: rows, Queries: len(queries), Radius: m.config.Radius * words}
	if err = filled; err == nil {
		err = m.time(k, &result, queries)
	}
	if errors.Is(err, ErrMemory) {
		result.Skipped, err = err.Error(), nil
	}
	if err != nil {
		return err
	}
	m.done = append(m.done, result)
	if m.config.Progress != nil {
		m.config.Progress(len(m.done), len(m.config.Words)*len(m.config.Rows)*len(m.config.Kernels), result)
	}
	return nil
}

// time scans once to warm up, and then as often as it is told.
func (m *measuring) time(k *kernel, result *Measurement, queries []hamming.Query) error {
	b := batchOf(m.rows, 0, result.Rows, queries)
	var device, whole []time.Duration
	for run := 0; run <= m.config.Runs; run++ {
		for i := range queries {
			queries[i].Hits = queries[i].Hits[:0]
		}
		begin := time.Now()
		if err := m.device.scan(b, k, func(h Hit) { queries[h.Query].Hits = append(queries[h.Query].Hits, h.Row) }); err != nil {
			return err
		}
		if run > 0 {
			whole = append(whole, time.Since(begin))
			device = append(device, time.Duration(b.seconds*float64(time.Second)))
		}
	}
	result.Device, result.Scan = median(device), median(whole)
	m.judge(result, queries)
	return nil
}

// judge counts the hits, and those queries that have others than by the CPU.
func (m *measuring) judge(result *Measurement, queries []hamming.Query) {
	for _, q := range queries {
		result.Hits += len(q.Hits)
	}
	result.Checked = len(m.want)
	for i, want := range m.want {
		if !slices.Equal(queries[i].Hits, want) {
			result.Wrong++
		}
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
