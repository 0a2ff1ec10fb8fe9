package webhook

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
	"refrain/publish"
)

// What became of events, in metrics.
const (
	delivered = "delivered"
	filtered  = "filtered"
	deleted   = "deleted" // after they were read: they show a post that is deleted
	dead      = "dead"
)

// metrics are those of one endpoint.
type metrics struct {
	publish.Meter
	endpoint   attribute.KeyValue
	deliveries metric.Int64Counter
	events     metric.Int64Counter
	duration   metric.Float64Histogram
}

const meterScope = "refrain/publish/webhook"

func newMetrics(endpoint string) *metrics {
	duration, err := otel.Meter(meterScope).Float64Histogram("refrain_webhook_duration", metric.WithUnit("s"),
		metric.WithDescription("How long an endpoint takes to answer, or to fail."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30))
	meters.Handle(err)
	m := &metrics{
		Meter: publish.NewMeter(endpoint), endpoint: attribute.String("endpoint", endpoint), duration: duration,
		deliveries: meters.Counter(meterScope, "refrain_webhook_deliveries", "Requests to an endpoint, by result."),
		events:     meters.Counter(meterScope, "refrain_webhook_events", "What became of events, for an endpoint."),
	}
	for _, result := range []string{attemptDelivered, attemptFailed} {
		m.deliveries.Add(context.Background(), 0, m.result(result))
	}
	for _, result := range []string{delivered, filtered, deleted, dead} {
		m.count(result, 0)
	}
	return m
}

func (m *metrics) result(r string) metric.MeasurementOption {
	return metric.WithAttributes(m.endpoint, attribute.String("result", r))
}

func (m *metrics) count(result string, events int) {
	m.events.Add(context.Background(), int64(events), m.result(result))
}

func (m *metrics) attempt(r result) {
	outcome := attemptDelivered
	if r.err != nil {
		outcome = attemptFailed
	}
	m.deliveries.Add(context.Background(), 1, m.result(outcome))
	m.duration.Record(context.Background(), r.elapsed.Seconds(), metric.WithAttributes(m.endpoint))
}

// watch observes the state of an endpoint, until the function it returns is called.
func (m *metrics) watch(e *Endpoint) (stop func()) {
	pending := meters.Gauge(meterScope, "refrain_webhook_pending", "Events that wait for a retry.")
	held := meters.Gauge(meterScope, "refrain_webhook_held", "1 while so many wait that no more are read.")
	disabled := meters.Gauge(meterScope, "refrain_webhook_disabled",
		"1 while an endpoint that answered 410 is not sent anything.")
	paused := meters.Gauge(meterScope, "refrain_webhook_paused", "1 while an endpoint is paused, by the API.")
	replaying := meters.Gauge(meterScope, "refrain_webhook_replaying", "1 while an endpoint is sent events again.")
	return meters.Observe(meterScope, func(_ context.Context, o metric.Observer) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		endpoint := metric.WithAttributes(m.endpoint)
		o.ObserveInt64(pending, int64(e.status.Waiting), endpoint)
		o.ObserveInt64(held, meters.Bool(e.status.Held), endpoint)
		o.ObserveInt64(disabled, meters.Bool(e.enable != nil), endpoint)
		o.ObserveInt64(paused, meters.Bool(!e.paused.IsZero()), endpoint)
		o.ObserveInt64(replaying, meters.Bool(e.replay != nil), endpoint)
		return nil
	}, pending, held, disabled, paused, replaying)
}
