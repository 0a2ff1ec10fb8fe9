package server

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestEndedServerIsNotObserved: Run may begin another server in the same process. Counters of both would add up, and the windows of
// the first, half the memory, would stay beside those of the second.
func TestEndedServerIsNotObserved(t *testing.T) {
	reader, old := metric.NewManualReader(), otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(old) })
	stop := mustServe(t, mustNew(t, testConfig(t)))
	if running := mustObserved(t, reader); !strings.Contains(running, "refrain_sigstore_texts ") || !strings.Contains(running, "refrain_models_current ") {
		t.Errorf("while it runs: %s", running)
	}
	stop()
	if left := mustObserved(t, reader); left != "" {
		t.Errorf("after its end: %s", left)
	}
}

// mustObserved are the names of the gauges of ours that somebody observes.
func mustObserved(t *testing.T, reader *metric.ManualReader) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if g, ok := m.Data.(metricdata.Gauge[int64]); ok && len(g.DataPoints) > 0 {
				names.WriteString(m.Name + " ")
			}
		}
	}
	return names.String()
}
