package gpu

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"refrain/cuda"
)

// Speed is what comparing takes, from the call to the hits, in ns.
type Speed struct {
	Launch     float64 // a batch, whatever it compares
	Comparison float64 // a query with a row
}

// What Speed measures: a batch of few hits, which is made larger until it takes so many times as long as one that compares
// nearly nothing.
const (
	speedRows = 4096
	speedJobs = 256 // of all rows, at most
	speedGain = 8
	speedRuns = 3 // of which the fastest counts; one more warms up
)

// Speed is that of the slowest device that is not lost, for signatures of so many words. It is measured once. The error is that
// of the last device where none can be measured.
func (d *Devices) Speed(words int) (slowest Speed, err error) {
	d.measuring.Lock()
	defer d.measuring.Unlock()
	err = cuda.ErrDeviceLost
	for _, c := range d.cards {
		if c.lost.Load() {
			continue
		}
		s, failed := c.speed(words)
		if failed != nil {
			err = fmt.Errorf("measure %s: %w", c.device.Name(), failed)
			continue
		}
		slowest.Launch, slowest.Comparison = max(slowest.Launch, s.Launch), max(slowest.Comparison, s.Comparison)
	}
	if slowest.Launch > 0 {
		err = nil
	}
	return slowest, err
}

func (c *card) speed(words int) (Speed, error) {
	if s, ok := c.speeds[words]; ok {
		return s, nil
	}
	s, err := measure(c.device, words)
	if errors.Is(err, cuda.ErrDeviceLost) {
		c.lost.Store(true)
	}
	if err != nil {
		return s, err
	}
	if c.speeds == nil {
		c.speeds = map[int]Speed{}
	}
	c.speeds[words] = s
	return s, nil
}

func measure(device *cuda.Device, words int) (s Speed, err error) {
	rows, err := device.NewRows(words, speedRows)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, rows.Free()) }()
	random := rand.New(rand.NewPCG(1, uint64(words)))
	planes := make([][]uint32, words)
	for w := range planes {
		for range speedRows {
			planes[w] = append(planes[w], random.Uint32())
		}
	}
	if err := rows.Append(planes); err != nil {
		return s, err
	}
	if s.Launch, err = fastest(device, batchOf(random, words, cuda.Job{Rows: rows, To: 1}, 1)); err != nil {
		return s, err
	}
	for jobs := 1; ; jobs *= 2 {
		ns, err := fastest(device, batchOf(random, words, cuda.Job{Rows: rows, To: speedRows}, jobs))
		if err != nil || ns >= speedGain*s.Launch || jobs >= speedJobs {
			s.Comparison = max(0, ns-s.Launch) / float64(jobs*speedRows*Batch)
			return s, err
		}
	}
}

// batchOf asks so many times for the rows of a job, by queries of which hardly any is near to one.
func batchOf(random *rand.Rand, words int, job cuda.Job, jobs int) *cuda.Batch {
	b := &cuda.Batch{}
	b.Reset(words, 1, 1)
	b.SetRadius(0, 0, 2*words)
	query := make([]uint32, words)
	for range Batch {
		for w := range query {
			query[w] = random.Uint32()
		}
		b.AddQuery(query, 0)
	}
	job.Last = Batch
	for range jobs {
		b.AddJob(job)
	}
	return b
}

func fastest(device *cuda.Device, b *cuda.Batch) (ns float64, err error) {
	ns = math.Inf(1)
	for run := range 1 + speedRuns {
		begin := time.Now()
		if err := device.Scan(b, func(cuda.Hit) {}); err != nil {
			return 0, err
		}
		if run > 0 {
			ns = min(ns, float64(time.Since(begin).Nanoseconds()))
		}
	}
	return ns, nil
}

// Sharing is how many windows share a device that is not lost, on the average, and at least one; 0 where all are lost.
func (d *Devices) Sharing() float64 {
	windows, devices := 0.0, 0.0
	for _, c := range d.cards {
		if !c.lost.Load() {
			windows, devices = windows+float64(c.windows.Load()), devices+1
		}
	}
	if devices == 0 {
		return 0
	}
	return max(1, windows/devices)
}
