package file

import (
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestCount reads a file with good and bad lines and balances the metric: posts in = accepted + rejected.
func TestCount(t *testing.T) {
	reader := metric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(old)

	path := writeFile(t, "a.jsonl", good("1")+"bad\n"+good("2")+"\n"+"{}\n"+good("3"))
	_, err := readAll(t, Config{Path: path, BatchPosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := postCounts(t, reader)
	if got["accepted"] != 3 || got["rejected"] != 2 || len(got) != 2 {
		t.Errorf("counted %v, want 3 accepted and 2 rejected", got)
	}
}

func postCounts(t *testing.T, reader *metric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	err := reader.Collect(t.Context(), &all)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "refrain_ingest_posts" {
				continue
			}
			for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
				result, _ := point.Attributes.Value("result")
				counts[result.AsString()] += point.Value
			}
		}
	}
	return counts
}
