package kafka

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type metrics struct {
	controls, aborted, losses metric.Int64Counter
	lag                       metric.Registration
}

// newMetrics makes the counters of a source appear, at 0, and watches its lag.
func newMetrics(s *Source) *metrics {
	m := &metrics{
		controls: counter("refrain_ingest_kafka_control_records", "Control records of transactions dropped from topics of posts."),
		aborted:  counter("refrain_ingest_kafka_aborted_records", "Records of aborted transactions dropped from topics of posts."),
		losses:   counter("refrain_ingest_kafka_lost_records", "Records of topics of posts that retention deleted before they were read, at most."),
	}
	m.dropped(0, 0)
	for _, topic := range s.cfg.Topics {
		m.countLost(topic, 0)
	}
	meter := otel.Meter("refrain/ingest")
	lag, err := meter.Int64ObservableGauge("refrain_ingest_kafka_lag",
		metric.WithDescription("Records of a partition that are not yet acknowledged."))
	if err != nil {
		otel.Handle(err)
		return m
	}
	m.lag, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s.observe(o, lag)
		return nil
	}, lag)
	if err != nil {
		otel.Handle(err)
	}
	return m
}

func counter(name, description string) metric.Int64Counter {
	c, err := otel.Meter("refrain/ingest").Int64Counter(name, metric.WithDescription(description))
	if err != nil {
		otel.Handle(err) // the instrument still works as a no-op
	}
	return c
}

// observe reports the lag of the partitions that have been read.
func (s *Source) observe(o metric.Observer, lag metric.Int64Observable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.assigned {
		if done, _ := p.window.uncommitted(); done >= 0 && p.highWatermark.Load() >= 0 {
			o.ObserveInt64(lag, max(p.highWatermark.Load()-done, 0),
				metric.WithAttributes(attribute.String("topic", p.topic), attribute.Int("partition", p.number)))
		}
	}
}

func (m *metrics) dropped(control, aborted int64) {
	m.controls.Add(context.Background(), control)
	m.aborted.Add(context.Background(), aborted)
}

func (m *metrics) countLost(topic string, n int64) {
	m.losses.Add(context.Background(), n, metric.WithAttributes(attribute.String("topic", topic)))
}

func (m *metrics) close() {
	if m.lag != nil {
		_ = m.lag.Unregister() // it cannot fail
	}
}
