package ingest_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
)

// TestCount reads a file with good and bad lines and balances the metric: posts in = accepted + rejected.
func TestCount(t *testing.T) {
	reader := mustMeter(t)
	const lines = `{"id":"1","text":"a"}` + "\nbad\n" + `{"id":"2","text":"a"}` + "\n{}\n" + `{"id":"3","text":"a"}`
	cfg := file.Default("-")
	cfg.Stdin, cfg.BatchPosts = strings.NewReader(lines), 2
	f, err := file.Open(cfg)
	for err == nil {
		_, err = f.Next(t.Context())
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	got := postCounts(t, reader)
	if got["accepted"] != 3 || got["rejected"] != 2 || len(got) != 2 {
		t.Errorf("counted %v, want 3 accepted and 2 rejected", got)
	}
}

// TestOnAck: a batch is acknowledged once, whatever Ack is called with later, and counted if it is durable.
func TestOnAck(t *testing.T) {
	reader := mustMeter(t)
	for _, first := range []error{nil, errors.New("disk full")} {
		b := ingest.Batch{Posts: make([]feed.Post, 2), Rejected: make([]ingest.Rejection, 1)}
		var settled []error
		b.OnAck(t.Context(), func(err error) { settled = append(settled, err) })
		b.Done(first)
		b.Done(nil)
		if len(settled) != 1 || settled[0] != first {
			t.Errorf("settled with %v, want %v alone", settled, first)
		}
	}
	if got := postCounts(t, reader); got["accepted"] != 2 || got["rejected"] != 1 {
		t.Errorf("counted %v, want the durable batch, once", got)
	}
}

// mustMeter has the metrics of a test read by the reader that it returns.
func mustMeter(t *testing.T) *metric.ManualReader {
	reader := metric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(old) })
	return reader
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
