package e2e

import (
	"bufio"
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

var (
	metricLine  = regexp.MustCompile(`^(refrain_\w+?)(?:\{(.*)\})? (\S+)$`)
	resultLabel = regexp.MustCompile(`result="(\w+)"`)
)

// TryCounters is Counters of a server that may be away.
func (p *Process) TryCounters() (map[string]float64, error) {
	r, err := http.NewRequest(http.MethodGet, p.URL("/metrics"), nil)
	if err != nil {
		return nil, err
	}
	if p.Token != "" {
		r.Header.Set("Authorization", "Bearer "+p.Token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	sums := map[string]float64{}
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		m := metricLine.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		sums[m[1]] += v
		sums[m[1]+"#"]++ // how many series there are
		if r := resultLabel.FindStringSubmatch(m[2]); r != nil {
			sums[m[1]+"/"+r[1]] += v
		}
	}
	return sums, in.Err()
}

// SinksAreDone reports whether both sinks of a test, the broker and the index, have all events.
func (p *Process) SinksAreDone() bool {
	c, err := p.TryCounters()
	return err == nil && c["refrain_publish_lag#"] == 2 && c["refrain_publish_lag"] == 0
}
