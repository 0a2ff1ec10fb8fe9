package nats

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// metrics are those of one source.
type metrics struct {
	lost   metric.Int64Counter
	source metric.MeasurementOption
	close  func() // ends watching the lag
}

func newMetrics(s *Source) *metrics {
	const scope = "refrain/ingest/nats"
	m := &metrics{
		source: metric.WithAttributes(attribute.String("partition", s.name)),
		lost: meters.Counter(scope, "refrain_ingest_nats_lost_messages",
			"Messages that the stream's limits dropped before they were read; known where a consumer takes the whole stream."),
	}
	m.countLost(0)
	lag := meters.Gauge(scope, "refrain_ingest_nats_lag", "Messages that were not acknowledged yet, on the server and here.")
	m.close = meters.Observe(scope, func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(lag, s.pending.Load()+s.unacked.Load(), m.source)
		return nil
	}, lag)
	return m
}

func (m *metrics) countLost(n uint64) { m.lost.Add(context.Background(), int64(n), m.source) }
