package cuda

import (
	"fmt"
	"slices"
	"time"
)

// MeasureConfig says what Measure measures. Zero fields take the value in brackets.
type MeasureConfig struct {
	Kernels  []string // [all that the device has]
	Words    []int    // of a signature [1, 2]
	Rows     []int    // random signatures, so many for each series; ascending [1 M]
	Queries  int      // of which one in 16 is near to a row [2,000, as in the paper]
	Radius   int      // [3 a word]
	Runs     int      // of each, of which the median counts; one more warms up [5]
	Check    int      // queries whose hits are compared with those of the CPU [64]; -1 for none
	Seed     uint64
	Progress func(done, total int, last Measurement) // called after each measurement; nil for none
}

func (c MeasureConfig) orDefault(d *Device) MeasureConfig {
	if len(c.Kernels) == 0 {
		c.Kernels = d.Kernels()
	}
	if len(c.Words) == 0 {
		c.Words = []int{1, 2}
	}
	if len(c.Rows) == 0 {
		c.Rows = []int{1_000_000}
	}
	if c.Queries == 0 {
		c.Queries = 2000
	}
	if c.Radius == 0 {
		c.Radius = 3
	}
	if c.Runs == 0 {
		c.Runs = 5
	}
	if c.Check == 0 {
		c.Check = 64
	}
	c.Check = min(max(c.Check, 0), c.Queries)
	return c
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
func Measure(d *Device, config MeasureConfig) ([]Measurement, error) {
	c := config.orDefault(d)
	if !slices.IsSorted(c.Rows) {
		return nil, fmt.Errorf("measure: numbers of rows have to ascend")
	}
	m := &measuring{device: d, config: c}
	for _, words := range c.Words {
		if err := m.series(words); err != nil {
			return m.done, fmt.Errorf("measure %d words: %w", words, err)
		}
	}
	return m.done, nil
}
