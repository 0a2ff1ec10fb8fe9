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
	maxRows      = 1 << 21 // compared: 16 MB of signatures of 64 bits
	bands        = 128     // that a window has about, eight sizes in each of its blocks: so many jobs the rows are cut into
	launchesLong = 4       // is a scan that says what a comparison takes
)

// measure compares queries with ever more random rows until the comparisons take most of the time, or the memory is full.
func measure(device *cuda.Device, words int) (s Speed, err error) {
	rows, err := device.NewRows(words, 0)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, rows.Free()) }()
	t := trial{device, rows, words, rand.New(rand.NewPCG(1, uint64(words)))}
	if s.Launch, err = t.scan(fewRows); err != nil {
		return s, err
	}
	for n := 4 * fewRows; n <= maxRows; n *= 4 {
		took, err := t.scan(n)
		if errors.Is(err, cuda.ErrMemory) && s.Comparison > 0 {
			break
		}
		if err != nil {
			return s, err
		}
		s.Comparison = max(took-s.Launch, 1) / Batch / float64(n-fewRows)
		if took > launchesLong*s.Launch {
			break
		}
	}
	return s, nil
}

// trial is rows that grow.
type trial struct {
	device *cuda.Device
	rows   *cuda.Rows
	words  int
	random *rand.Rand
}

// scan is the time of the quickest of some scans of so many rows, in ns: the first ones find the device's clocks at rest.
func (t *trial) scan(rows int) (float64, error) {
	const (
		minScans = 5
		minTime  = 30 * time.Millisecond
	)
	if err := t.rows.Append(t.draw(t.words, rows-t.rows.Len())); err != nil {
		return 0, err
	}
	batch := t.batch()
	best, start := math.Inf(1), time.Now()
	for n := 0; n < minScans || time.Since(start) < minTime; n++ {
		begin := time.Now()
		if err := t.device.Scan(batch, func(cuda.Hit) {}); err != nil {
			return 0, err
		}
		best = min(best, float64(time.Since(begin).Nanoseconds()))
	}
	return best, nil
}

// batch is random queries, to which hardly any random row is near, and all rows.
func (t *trial) batch() *cuda.Batch {
	var b cuda.Batch
	b.Reset(t.words, 1, 1)
	b.SetRadius(0, 0, 2*t.words)
	for _, q := range t.draw(Batch, t.words) {
		b.AddQuery(q, 0)
	}
	for n, rows := 0, t.rows.Len(); n < bands; n++ {
		b.AddJob(cuda.Job{Rows: t.rows, From: n * rows / bands, To: (n + 1) * rows / bands, Last: Batch})
	}
	return &b
}

// draw makes n slices of random words.
func (t *trial) draw(n, length int) [][]uint32 {
	all := make([][]uint32, n)
	for i := range all {
		all[i] = make([]uint32, length)
		for j := range all[i] {
			all[i][j] = t.random.Uint32()
		}
	}
	return all
}
