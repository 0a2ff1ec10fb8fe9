package nats

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are those of one source.
type metrics struct {
	lost       metric.Int64Counter
	source     metric.MeasurementOption
	registered metric.Registration
}

func newMetrics(s *Source) *metrics {
	meter := otel.Meter("refrain/ingest/nats")
	m := &metrics{source: metric.WithAttributes(attribute.String("partition", s.name))}
	var err error
	m.lost, err = meter.Int64Counter("refrain_ingest_nats_lost_messages",
		metric.WithDescription("Messages that the stream's limits dropped before they were read; known where a consumer takes the whole stream."))
	if err != nil {
		otel.Handle(err) // the instrument still works as a no-op
	}
	m.countLost(0)
	lag, err := meter.Int64ObservableGauge("refrain_ingest_nats_lag",
		metric.WithDescription("Messages that were not acknowledged yet, on the server and here."))
	if err != nil {
		otel.Handle(err)
		return m
	}
	m.registered, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(lag, s.pending.Load()+s.unacked.Load(), m.source)
		return nil
	}, lag)
	if err != nil {
		otel.Handle(err)
	}
	return m
}

func (m *metrics) countLost(n uint64) { m.lost.Add(context.Background(), int64(n), m.source) }

func (m *metrics) close() {
	if m.registered != nil {
		_ = m.registered.Unregister() // it cannot fail
	}
}
