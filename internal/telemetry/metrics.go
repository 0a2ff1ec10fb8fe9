package telemetry

import (
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// buildInfo is always 1: its labels say what runs, and join with those of other metrics.
func buildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "refrain_build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version(), "goos": runtime.GOOS, "goarch": runtime.GOARCH},
	}, func() float64 { return 1 })
}

// withoutClash leaves out go_memstats_alloc_bytes. In OpenMetrics the counter go_memstats_alloc_bytes_total is of a family
// of that name, and strict parsers refuse a page with two such families, all of it. go_memstats_heap_alloc_bytes is the
// same number.
type withoutClash struct{ prometheus.Gatherer }

// Gather implements prometheus.Gatherer.
func (g withoutClash) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.Gatherer.Gather()
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "go_memstats_alloc_bytes" }), err
}
