package server

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// What is of interest only where several processes share the topics.

// observePartitions makes metrics of who has which partition: a series for each that is assigned to this process.
func (m *matcher) observePartitions() error {
	if !m.n.cfg.onBroker() {
		return nil
	}
	meter := otel.Meter("refrain/shard")
	caughtUp, err1 := meter.Int64ObservableGauge("refrain_shard_partition_caught_up",
		metric.WithDescription("Of each partition that is assigned to this process: 1 once it has caught up, else 0."))
	gained, err2 := meter.Int64ObservableCounter("refrain_shard_partitions_gained",
		metric.WithDescription("Partitions whose windows this process has begun to read back."))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return m.n.observe(meter, func(_ context.Context, o metric.Observer) error {
		for _, p := range m.crew.Partitions() {
			o.ObserveInt64(caughtUp, meters.Bool(p.CaughtUp), metric.WithAttributes(attribute.Int("partition", p.Partition)))
		}
		o.ObserveInt64(gained, m.gained.Load())
		return nil
	}, caughtUp, gained)
}
