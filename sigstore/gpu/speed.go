package gpu

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"refrain/cuda"
)

// Speed is what a device takes of the time of a window, as it was measured.
type Speed struct {
	Launch     float64 // ns: queries of a batch sent, few rows compared, answers taken
	Comparison float64 // ns
}

const (
	fewRows      = 2048    // whose comparison costs nothing beside the launch
	maxRows      = 1 << 22 // compared: 32 MB of signatures of 64 bits
	launchesLong = 4       // is a scan that says what a comparison takes
)

// measure compares queries with ever more random rows until the comparisons take most of the time, or the memory is full.
func measure(device *cuda.Device, words int) (s Speed, err error) {
	rows, err := device.NewRows(words, 0)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, rows.Free()) }()
	random := rand.New(rand.NewPCG(1, uint64(words)))
	for n := fewRows; n <= maxRows; n *= 4 {
		err := rows.Append(randomPlanes(random, words, n-rows.Len()))
		if errors.Is(err, cuda.ErrMemory) && s.Comparison > 0 {
			break
		}
		if err != nil {
			return s, err
		}
		took, err := quickest(device, rows, queries(random, words))
		if err != nil {
			return s, err
		}
		if n == fewRows {
			s.Launch = took
			continue
		}
		s.Comparison = max(took-s.Launch, 1) / Batch / float64(n-fewRows)
		if took > launchesLong*s.Launch {
			break
		}
	}
	return s, nil
}

// quickest is the time of the quickest of some scans, in ns: the first ones find the device at rest.
func quickest(device *cuda.Device, rows *cuda.Rows, batch *cuda.Batch) (float64, error) {
	const scans = 5
	batch.AddJob(cuda.Job{Rows: rows, To: rows.Len(), Last: Batch})
	best := math.Inf(1)
	for range scans {
		begin := time.Now()
		if err := device.Scan(batch, func(cuda.Hit) {}); err != nil {
			return 0, err
		}
		best = min(best, float64(time.Since(begin).Nanoseconds()))
	}
	return best, nil
}

// queries are a batch of random ones, to which hardly any random row is near.
func queries(random *rand.Rand, words int) *cuda.Batch {
	var b cuda.Batch
	b.Reset(words, 1, 1)
	b.SetRadius(0, 0, 2*words)
	for range Batch {
		q := make([]uint32, words)
		for w := range q {
			q[w] = random.Uint32()
		}
		b.AddQuery(q, 0)
	}
	return &b
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
