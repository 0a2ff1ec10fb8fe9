package server

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"refrain/detector"
)

// observe makes the windows' sizes metrics.
func (n *node) observe() error {
	meter := otel.Meter("refrain/sigstore")
	texts, err1 := meter.Int64ObservableGauge("refrain_sigstore_texts", metric.WithDescription("Texts in the window."))
	occurrences, err2 := meter.Int64ObservableGauge("refrain_sigstore_occurrences", metric.WithDescription("Occurrences of texts that the window keeps."))
	bytes, err3 := meter.Int64ObservableGauge("refrain_sigstore_bytes", metric.WithDescription("Bytes that the window holds."))
	span, err4 := meter.Float64ObservableGauge("refrain_sigstore_span_seconds", metric.WithDescription("How far back the window reaches for certain: less than the span when the budget forces texts out."))
	forced, err5 := meter.Int64ObservableCounter("refrain_sigstore_forced", metric.WithDescription("Texts that the budget dropped before their time."))
	candidates, err6 := meter.Int64ObservableCounter("refrain_detector_candidates", metric.WithDescription("Texts that look-ups compared word by word."))
	similar, err7 := meter.Int64ObservableCounter("refrain_detector_similar", metric.WithDescription("Those of them that were similar enough."))
	again, err8 := meter.Int64ObservableGauge("refrain_shard_redeliveries_bytes",
		metric.WithDescription("Bytes of what tells which posts without a usable time are sent again."))
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
		if err != nil {
			return err
		}
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t := detector.Total(n.detectors)
		o.ObserveInt64(texts, int64(t.Groups))
		o.ObserveInt64(occurrences, int64(t.Occurrences))
		o.ObserveInt64(bytes, t.Bytes)
		o.ObserveFloat64(span, t.Span.Seconds())
		o.ObserveInt64(forced, t.Forced)
		o.ObserveInt64(candidates, t.Candidates)
		o.ObserveInt64(similar, t.Similar)
		o.ObserveInt64(again, n.again.Bytes())
		return nil
	}, texts, occurrences, bytes, span, forced, candidates, similar, again)
	return err
}
