package cuda

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"refrain/hashcodes/hamming"
)

// trial is how kernels are timed before one is chosen.
type trial struct {
	rows, queries int
	warmUp        time.Duration // that the device computes before: the clocks of one that was idle are low
	rounds        int           // in which each kernel scans once
	limit         time.Duration // that the device computes in all rounds, after which no other begins
}

// choose finds the kernel for signatures of so many words, once: the one that is told, or the fastest in a trial. Who asks
// for a width that is being tried waits; scans go on.
func (d *Device) choose(words int) error {
	if d.knows(words) {
		return nil
	}
	d.choice.Lock()
	defer d.choice.Unlock()
	if d.knows(words) {
		return nil
	}
	best := d.forced
	if best == nil {
		var err error
		if best, err = d.fastest(words); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.chosen[words] = best
	return nil
}

// knows says whether there is nothing to choose any more.
func (d *Device) knows(words int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.chosen[words] != nil || d.closed
}

// kernelFor is the kernel chosen; rows of that width exist.
func (d *Device) kernelFor(words int) *kernel {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.chosen[words]
}

// candidates are the kernels to choose from: the baseline only where there is no other.
func (d *Device) candidates() []*kernel {
	if len(d.kernels) == 1 {
		return d.kernels
	}
	return slices.DeleteFunc(slices.Clone(d.kernels), func(k *kernel) bool { return k.name == paper })
}

// fastest is the kernel that takes the least time for random rows, of which hardly any is within the radius; the first where
// memory is short.
func (d *Device) fastest(words int) (*kernel, error) {
	candidates := d.candidates()
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	random := rand.New(rand.NewPCG(uint64(words), 1))
	rows := d.newRows(words, 0)
	defer func() { _ = rows.Free() }() // a device that fails here fails below
	err := rows.Append(randomPlanes(random, words, d.trial.rows))
	if err == nil {
		b := batchOf(rows, 0, rows.length, randomQueries(random, words, d.trial.queries, 2*words))
		candidates, err = d.rank(b, candidates)
	}
	if errors.Is(err, ErrMemory) {
		d.log.Warn("cuda kernels not timed: not enough memory", "device", d.name, "words", words, "kernel", d.kernels[0].name)
		return d.kernels[0], nil
	}
	return candidates[0], err
}

// rank times kernels in turns, so that whatever changes the device's speed meets all of them, and returns them by the median
// of their times.
func (d *Device) rank(b *Batch, kernels []*kernel) ([]*kernel, error) {
	if err := d.warmUp(b, kernels); err != nil {
		return kernels, err
	}
	times := map[*kernel][]time.Duration{}
	var sum time.Duration
	for round := 0; round < d.trial.rounds && sum < d.trial.limit; round++ {
		for _, k := range kernels {
			t, err := d.timed(b, k)
			if err != nil {
				return kernels, err
			}
			times[k] = append(times[k], t)
			sum += t
		}
	}
	kernels = slices.Clone(kernels)
	slices.SortStableFunc(kernels, func(a, b *kernel) int { return int(median(times[a]) - median(times[b])) })
	d.logTimes(b.words, kernels, times)
	return kernels, nil
}

func (d *Device) logTimes(words int, kernels []*kernel, times map[*kernel][]time.Duration) {
	for _, k := range kernels {
		d.log.Debug("cuda kernel timed", "device", d.name, "words", words, "kernel", k.name, "median", median(times[k]),
			"min", slices.Min(times[k]), "max", slices.Max(times[k]), "rounds", len(times[k]))
	}
	d.log.Info("cuda kernel chosen", "device", d.name, "words", words, "kernel", kernels[0].name, "median", median(times[kernels[0]]))
}

// maxWarmUpLaunches ends the warming up of a device that says they take no time.
const maxWarmUpLaunches = 1000

// warmUp has the device compute for a while.
func (d *Device) warmUp(b *Batch, kernels []*kernel) error {
	var sum time.Duration
	for n := 0; n < maxWarmUpLaunches && sum < d.trial.warmUp; n++ {
		t, err := d.timed(b, kernels[n%len(kernels)])
		if err != nil {
			return err
		}
		sum += t
	}
	return nil
}

// timed scans once and returns how long the kernel took.
func (d *Device) timed(b *Batch, k *kernel) (time.Duration, error) {
	err := d.scan(b, k, func(Hit) {})
	return time.Duration(b.seconds * float64(time.Second)), err
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
