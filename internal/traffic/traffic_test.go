package traffic

import (
	"io"
	"net"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestMeter: two meters of a kind count together, another kind apart, and what is cut short as far as it got.
func TestMeter(t *testing.T) {
	reader := metric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(old) })

	ours, broker := net.Pipe()
	first, second := New("kafka"), New("kafka")
	New("nats").Request("messages")
	first.Request("Fetch")
	second.Request("Fetch")
	second.Request("Produce")
	c := first.Wrap(ours)
	go func() {
		_, _ = io.ReadFull(broker, make([]byte, 7)) // the test fails without it
		_, _ = broker.Write([]byte("abc"))
		_ = broker.Close()
	}()
	if _, err := c.Write([]byte("1234567")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	got := sums(t, reader)
	want := map[string]int64{"refrain_kafka_sent_bytes": 7, "refrain_kafka_received_bytes": 3, "refrain_kafka_requests Fetch": 2,
		"refrain_kafka_requests Produce": 1, "refrain_nats_requests messages": 1}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d, want %d", name, got[name], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}

// sums are all counters by name and request.
func sums(t *testing.T, reader *metric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				name := m.Name
				if v, ok := p.Attributes.Value("request"); ok {
					name += " " + v.AsString()
				}
				out[name] = p.Value
			}
		}
	}
	return out
}
