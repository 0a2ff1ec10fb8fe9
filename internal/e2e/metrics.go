package e2e

import (
	"bufio"
	"errors"
	"net/http"
	"regexp"
	"strconv"
)

// Counters reads the metrics whose names begin with refrain_ and sums each over its labels but result.
func (p *Process) Counters() map[string]float64 {
	p.TB.Helper()
	sums, err := p.TryCounters()
	if err != nil {
		p.TB.Fatal(err)
	}
	return sums
}

// Histogram is one series of a histogram.
type Histogram struct {
	bounds, counts []float64 // of the buckets, each with those before it
}

// Count is how many observations there were.
func (h *Histogram) Count() int {
	if len(h.counts) == 0 {
		return 0
	}
	return int(h.counts[len(h.counts)-1])
}

// Quantile is the bound of the bucket that a part of the observations lies up to.
func (h *Histogram) Quantile(part float64) float64 {
	for i, n := range h.counts {
		if n >= part*float64(h.Count()) {
			return h.bounds[i]
		}
	}
	return 0
}

var (
	bucketLine = regexp.MustCompile(`^(refrain_\w+)_bucket\{(.*)\} (\S+)$`)
	boundLabel = regexp.MustCompile(`\ble="([^"]+)"`)
	sinkLabel  = regexp.MustCompile(`\bsink="([^"]+)"`)
)

// Histograms reads the histograms whose names begin with refrain_, by name, or by name/sink where they have one.
func (p *Process) Histograms() map[string]*Histogram {
	p.TB.Helper()
	all := map[string]*Histogram{}
	err := p.eachMetric(func(line string) error {
		m := bucketLine.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		name := m[1]
		if s := sinkLabel.FindStringSubmatch(m[2]); s != nil {
			name += "/" + s[1]
		}
		if all[name] == nil {
			all[name] = &Histogram{}
		}
		return all[name].add(boundLabel.FindStringSubmatch(m[2]), m[3])
	})
	if err != nil {
		p.TB.Fatal(err)
	}
	return all
}

// add takes in a bucket. Those of a series stand in ascending order.
func (h *Histogram) add(bound []string, count string) error {
	if bound == nil {
		return errors.New("bucket without a bound")
	}
	b, err := strconv.ParseFloat(bound[1], 64)
	n, err2 := strconv.ParseFloat(count, 64)
	h.bounds, h.counts = append(h.bounds, b), append(h.counts, n)
	return errors.Join(err, err2)
}

var (
	metricLine  = regexp.MustCompile(`^(refrain_\w+?)(?:\{(.*)\})? (\S+)$`)
	resultLabel = regexp.MustCompile(`result="(\w+)"`)
)

// TryCounters is Counters of a server that may be away.
func (p *Process) TryCounters() (map[string]float64, error) {
	sums := map[string]float64{}
	err := p.eachMetric(func(line string) error { return add(sums, line) })
	return sums, err
}

func add(sums map[string]float64, line string) error {
	m := metricLine.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	v, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return err
	}
	sums[m[1]] += v
	sums[m[1]+"#"]++ // how many series there are
	if r := resultLabel.FindStringSubmatch(m[2]); r != nil {
		sums[m[1]+"/"+r[1]] += v
	}
	return nil
}

// eachMetric calls f for the lines of /metrics.
func (p *Process) eachMetric(f func(line string) error) error {
	r, err := http.NewRequest(http.MethodGet, p.URL("/metrics"), nil)
	if err != nil {
		return err
	}
	if p.Token != "" {
		r.Header.Set("Authorization", "Bearer "+p.Token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		if err := f(in.Text()); err != nil {
			return err
		}
	}
	return in.Err()
}

// SinksAreDone reports whether both sinks of a test, the broker and the index, have all events.
func (p *Process) SinksAreDone() bool {
	c, err := p.TryCounters()
	return err == nil && c["refrain_publish_lag#"] == 2 && c["refrain_publish_lag"] == 0
}
