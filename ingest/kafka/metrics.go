package kafka

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

type metrics struct {
	controls, aborted, losses metric.Int64Counter
	group                     attribute.KeyValue // two sources may read a topic of one name
	close                     func()             // ends watching the lag
}

// newMetrics makes the counters of a source appear, at 0, and watches its lag.
func newMetrics(s *Source) *metrics {
	const scope = "refrain/ingest"
	m := &metrics{
		group: attribute.String("group", s.cfg.Group),
		controls: meters.Counter(scope, "refrain_ingest_kafka_control_records",
			"Control records of transactions dropped from topics of posts."),
		aborted: meters.Counter(scope, "refrain_ingest_kafka_aborted_records",
			"Records of aborted transactions dropped from topics of posts."),
		losses: meters.Counter(scope, "refrain_ingest_kafka_lost_records",
			"Records of topics of posts that retention deleted before they were read, at most."),
	}
	m.dropped(0, 0)
	for _, topic := range s.cfg.Topics {
		m.countLost(topic, 0)
	}
	lag := meters.Gauge(scope, "refrain_ingest_kafka_lag", "Records of a partition that are not yet acknowledged.")
	m.close = meters.Observe(scope, func(_ context.Context, o metric.Observer) error {
		s.observe(o, lag)
		return nil
	}, lag)
	return m
}

// observe reports the lag of the partitions that have been read.
func (s *Source) observe(o metric.Observer, lag metric.Int64Observable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.assigned {
		if done, _ := p.window.uncommitted(); done >= 0 && p.highWatermark.Load() >= 0 {
			o.ObserveInt64(lag, max(p.highWatermark.Load()-done, 0),
				metric.WithAttributes(attribute.String("group", s.cfg.Group),
					attribute.String("topic", p.topic), attribute.Int("partition", p.number)))
		}
	}
}

func (m *metrics) dropped(control, aborted int64) {
	m.controls.Add(context.Background(), control)
	m.aborted.Add(context.Background(), aborted)
}

func (m *metrics) countLost(topic string, n int64) {
	m.losses.Add(context.Background(), n, metric.WithAttributes(m.group, attribute.String("topic", topic)))
}
