package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// MeasureConfig says what Measure measures. DefaultMeasure has values for all of it.
type MeasureConfig struct {
	Kernels  []string // by name
	Words    []int    // of a signature
	Rows     []int    // random signatures, so many for each series; ascending
	Queries  int      // of which one in 16 is near to a row
	Radius   int      // a word
	Runs     int      // of each, 1 or more, of which the median counts; one more warms up
	Check    int      // queries whose hits are compared with those of the CPU, 0 to Queries
	Seed     uint64
	Progress func(done, total int, last Measurement) // called after each measurement; nil: nothing is
}

// DefaultMeasure is the paper's number of queries, 2,000, on a million rows, with every kernel of a device.
func DefaultMeasure(d *Device) MeasureConfig {
	return MeasureConfig{Kernels: d.Kernels(), Words: []int{1, 2}, Rows: []int{1_000_000}, Queries: 2000, Radius: 3,
		Runs: 5, Check: 64}
}

func (c *MeasureConfig) validate() error {
	var errs []error
	if !slices.IsSorted(c.Rows) {
		errs = append(errs, errors.New("numbers of rows have to ascend"))
	}
	if c.Queries < 1 || c.Runs < 1 || c.Radius < 0 {
		errs = append(errs, fmt.Errorf("%d queries, %d runs, radius %d: want 1 or more, 1 or more, 0 or more", c.Queries,
			c.Runs, c.Radius))
	}
	if c.Check < 0 || c.Check > c.Queries {
		errs = append(errs, fmt.Errorf("check %d: want 0 to the queries, %d", c.Check, c.Queries))
	}
	return errors.Join(errs...)
}

// Measurement is how long one kernel took for all queries on some rows.
type Measurement struct {
	Kernel  string
	Words   int // a signature
	Rows    int
	Queries int
	Radius  int
	Hits    int           // of all queries
	Device  time.Duration // while the device compared, median
	Scan    time.Duration // from the call of Scan to its return with sorted hits, median
	Checked int           // queries compared with the CPU
	Wrong   int           // of them those with other hits
	Skipped string        // why there are no figures, such as memory
}

// PerSecond is the number of comparisons a second on the device.
func (m Measurement) PerSecond() float64 {
	if m.Device <= 0 {
		return 0
	}
	return float64(m.Rows) * float64(m.Queries) / m.Device.Seconds()
}

// Measure times every kernel on growing tables of random signatures: comparisons a second, the paper's Table 5 and, up to
// what memory holds, its Figure 6. Tables that do not fit the budget are reported as
// skipped. Rows are made block by block, so that host memory holds few of them.
func Measure(d *Device, c MeasureConfig) ([]Measurement, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	m := &measuring{device: d, config: c}
	for _, words := range c.Words {
		if err := m.series(words); err != nil {
			return m.done, fmt.Errorf("measure %d words: %w", words, err)
		}
	}
	return m.done, nil
}
