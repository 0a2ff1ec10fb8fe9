package server

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/delays"
)

// What becomes of a canary in a partition.
const (
	canarySeen   = "seen"
	canaryLate   = "late"
	canaryFailed = "failed"
)

type canaryMetrics struct {
	total      metric.Int64Counter
	delay      metric.Float64Histogram
	registered metric.Registration
}

func newCanaryMetrics(c *canaries) (*canaryMetrics, error) {
	meter := otel.Meter("refrain/server")
	total, err1 := meter.Int64Counter("refrain_server_canaries",
		metric.WithDescription("Canaries, one for each partition a time, by what became of them: seen, late or failed."))
	delay, err2 := meter.Float64Histogram("refrain_server_canary_delay", metric.WithUnit("s"), delays.Buckets(),
		metric.WithDescription("From the second post of a pair of canaries to its event read back."))
	age, err3 := meter.Float64ObservableGauge("refrain_server_canary_age", metric.WithUnit("s"),
		metric.WithDescription("How long ago a pair of canaries last came through whole."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	registered, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		o.ObserveFloat64(age, time.Since(c.last).Seconds())
		return nil
	}, age)
	m := &canaryMetrics{total, delay, registered}
	for _, result := range []string{canarySeen, canaryLate, canaryFailed} {
		m.count(result, 0)
	}
	return m, err
}

func (m *canaryMetrics) count(result string, n int) {
	m.total.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String("result", result)))
}

func (m *canaryMetrics) seen(delay time.Duration) {
	m.count(canarySeen, 1)
	m.delay.Record(context.Background(), delay.Seconds())
}

func (m *canaryMetrics) close() { _ = m.registered.Unregister() } // it cannot fail
