package api_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestDurationsByRouteAndStatus: the series are those of the routes, whatever clients ask for.
func TestDurationsByRouteAndStatus(t *testing.T) {
	reader := metric.NewManualReader()
	was := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(was)
	h := mustNew(t, config())
	for _, target := range []string{"/livez", "/livez?wrong=1", "/nothing/here", "/v1/texts/x", "/v1/events"} {
		serve(h, "GET", target, "")
	}
	serve(h, "BREW", "/livez", "")
	want := []string{"/livez 405", "GET /livez 200", "GET /livez 400", "GET /v1/texts/{group} 400", "none 404"}
	if diff := cmp.Diff(want, seriesOf(t, reader, "refrain_api_request_duration")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// seriesOf are the routes and statuses of a histogram.
func seriesOf(t *testing.T, reader metric.Reader, name string) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	series := map[string]bool{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != name {
				continue
			}
			for _, p := range h.DataPoints {
				route, _ := p.Attributes.Value("route")
				status, _ := p.Attributes.Value("status")
				series[route.AsString()+" "+status.AsString()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(series))
}
