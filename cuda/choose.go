package cuda

import (
	"errors"
	"math/rand/v2"

	"refrain/hashcodes/hamming"
)

// choose finds the kernel for signatures of so many words, once: the one that is told, or the fastest in a trial.
func (d *Device) choose(words int) error {
	d.mu.Lock()
	known := d.chosen[words] != nil || d.closed
	d.mu.Unlock()
	if known {
		return nil
	}
	best := d.forced
	if best == nil {
		var err error
		if best, err = d.fastest(words); err != nil {
			return err
		}
		d.log.Info("cuda kernel chosen", "device", d.name, "words", words, "kernel", best.name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.chosen[words] = best
	return nil
}

// kernelFor is the kernel chosen; rows of that width exist.
func (d *Device) kernelFor(words int) *kernel {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.chosen[words]
}

// fastest times the kernels on random rows, of which hardly any is within the radius; the first where memory is short.
func (d *Device) fastest(words int) (*kernel, error) {
	random := rand.New(rand.NewPCG(uint64(words), 1))
	rows := d.newRows(words, 0)
	defer func() { _ = rows.Free() }() // a device that fails here fails below
	if err := rows.Append(randomPlanes(random, words, d.sizes.trial)); errors.Is(err, ErrMemory) {
		return d.kernels[0], nil
	} else if err != nil {
		return nil, err
	}
	b := batchOf(rows, 0, rows.length, randomQueries(random, words, 2048, 2*words))
	best, bestTime := d.kernels[0], 0.0
	for _, k := range d.kernels {
		if k.name == paper && len(d.kernels) > 1 {
			continue
		}
		seconds, err := d.trial(b, k)
		if errors.Is(err, ErrMemory) {
			return d.kernels[0], nil
		}
		if err != nil {
			return nil, err
		}
		if bestTime == 0 || seconds < bestTime {
			best, bestTime = k, seconds
		}
	}
	return best, nil
}

// trial is the time of the second of two, the first of which warms up.
func (d *Device) trial(b *Batch, k *kernel) (float64, error) {
	for range 2 {
		if err := d.scan(b, k, func(Hit) {}); err != nil {
			return 0, err
		}
	}
	return b.seconds, nil
}

// batchOf asks for rows from to to of a table by all queries, each of a class of its own.
func batchOf(rows *Rows, from, to int, queries []hamming.Query) *Batch {
	b := &Batch{}
	b.Reset(rows.words, 1, len(queries))
	for i, q := range queries {
		b.SetRadius(0, i, q.Radius)
		b.AddQuery(q.Signature, i)
	}
	b.AddJob(Job{Rows: rows, From: from, To: to, Last: len(queries)})
	return b
}

// scanQueries is hamming.ScanBlock for rows from to to of a table: every query gets its hits.
func (d *Device) scanQueries(rows *Rows, from, to int, queries []hamming.Query, k *kernel) error {
	return d.scan(batchOf(rows, from, to, queries), k, func(h Hit) {
		queries[h.Query].Hits = append(queries[h.Query].Hits, h.Row)
	})
}

func randomPlanes(random *rand.Rand, words, rows int) [][]uint32 {
	planes := make([][]uint32, words)
	for w := range planes {
		planes[w] = make([]uint32, rows)
		for i := range planes[w] {
			planes[w][i] = random.Uint32()
		}
	}
	return planes
}

func randomQueries(random *rand.Rand, words, n, radius int) []hamming.Query {
	queries := make([]hamming.Query, n)
	for i := range queries {
		queries[i] = hamming.Query{Signature: make([]uint32, words), Radius: radius}
		for w := range words {
			queries[i].Signature[w] = random.Uint32()
		}
	}
	return queries
}
