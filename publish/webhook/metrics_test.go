package webhook_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
)

func TestMetrics(t *testing.T) {
	before := otel.GetMeterProvider()
	defer otel.SetMeterProvider(before)
	synctest.Test(t, func(t *testing.T) {
		reader := sdk.NewManualReader()
		otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
		r := newRig(t)
		r.cfg.Retries = []time.Duration{5 * time.Second, time.Minute}
		r.recv.answer = statuses(has("bad"), 500)
		r.append(events("bad", "p0", "p1")...)
		r.append(match("filtered", func(m *feed.Match) { m.Later.Lang = "de" }), retraction("q"))
		r.cfg.Filter.Languages = []string{"en"}
		r.start()
		wait(2 * time.Second)
		got := collect(t, reader)
		for name, want := range map[string]float64{
			"refrain_webhook_deliveries endpoint=desk,result=delivered": 3,
			"refrain_webhook_deliveries endpoint=desk,result=failed":    1,
			"refrain_webhook_events endpoint=desk,result=delivered":     3, "refrain_webhook_events endpoint=desk,result=filtered": 1,
			"refrain_webhook_events endpoint=desk,result=deleted": 0, "refrain_webhook_events endpoint=desk,result=dead": 0,
			"refrain_webhook_pending endpoint=desk": 1, "refrain_webhook_held endpoint=desk": 0,
			"refrain_webhook_disabled endpoint=desk": 0,
			"refrain_webhook_duration endpoint=desk": 4, "refrain_publish_events sink=desk": 3,
			"refrain_publish_failures sink=desk": 1,
			"refrain_publish_lag sink=desk":      5,
		} {
			if n, ok := got[name]; !ok || n != want {
				t.Errorf("%s is %v (%v), want %v", name, n, ok, want)
			}
		}
		r.end()
		if _, ok := collect(t, reader)["refrain_webhook_pending endpoint=desk"]; ok {
			t.Error("an endpoint that has stopped is still observed")
		}
	})
}

// collect returns values by name and attributes; of a histogram, how many there were.
func collect(t *testing.T, reader *sdk.ManualReader) map[string]float64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			note := func(attributes attribute.Set, value float64) {
				out[m.Name+" "+attributes.Encoded(attribute.DefaultEncoder())] = value
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, float64(p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, float64(p.Count))
				}
			}
		}
	}
	return out
}
