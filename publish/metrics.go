package publish

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/delays"
	"refrain/internal/meters"
)

type metrics struct {
	events   metric.Int64Counter
	failures metric.Int64Counter
	gaps     metric.Int64Counter
	clients  metric.Int64UpDownCounter
	delay    metric.Float64Histogram
	cutOff   metric.Int64Counter
}

const meterScope = "refrain/publish"

func newMetrics() metrics {
	clients, err := otel.Meter(meterScope).Int64UpDownCounter("refrain_publish_clients",
		metric.WithDescription("Clients that follow the events over HTTP."))
	meters.Handle(err)
	delay, err := otel.Meter(meterScope).Float64Histogram("refrain_publish_delivery_delay", metric.WithUnit("s"),
		delays.Buckets(),
		metric.WithDescription("From an event made, just before it is durable, to taken by a sink; over HTTP, by each "+
			"client that follows live."))
	meters.Handle(err)
	return metrics{
		clients: clients, delay: delay,
		events:   meters.Counter(meterScope, "refrain_publish_events", "Events handed to a sink; over HTTP, to each client."),
		failures: meters.Counter(meterScope, "refrain_publish_failures", "Tries at a sink that failed and are made again."),
		gaps: meters.Counter(meterScope, "refrain_publish_gaps",
			"Times that a sink was so far behind that the event topic had dropped what it was still to get."),
		cutOff: meters.Counter(meterScope, "refrain_publish_clients_cut",
			"Clients that followed the events over HTTP and were cut off because they did not read."),
	}
}

func (m metrics) sent(sink string, n int) {
	m.events.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String("sink", sink)))
}

// observeDelay records how long events took to reach a sink that has them now.
func (m metrics) observeDelay(sink string, made ...time.Time) {
	now, to := time.Now(), metric.WithAttributeSet(attribute.NewSet(attribute.String("sink", sink)))
	for _, t := range made {
		m.delay.Record(context.Background(), max(0, now.Sub(t).Seconds()), to)
	}
}

// gap counts a gap, or makes the counter appear at 0.
func (m metrics) gap(sink string, n int64) {
	m.gaps.Add(context.Background(), n, metric.WithAttributes(attribute.String("sink", sink)))
}

func (m metrics) failed(sink string) {
	m.failures.Add(context.Background(), 1, metric.WithAttributes(attribute.String("sink", sink)))
}

// watchLag observes how far a sink is behind, until the function it returns is called.
func (m metrics) watchLag(sink string, r *Reader) (stop func()) {
	lag := meters.Gauge(meterScope, "refrain_publish_lag",
		"Events between a sink's cursor and the end of the event topic, at most.")
	return meters.Observe(meterScope, func(ctx context.Context, o metric.Observer) error {
		n, err := r.Lag(ctx)
		if err == nil {
			o.ObserveInt64(lag, n, metric.WithAttributes(attribute.String("sink", sink)))
		}
		return err
	}, lag)
}

func (m metrics) client(n int64) { m.clients.Add(context.Background(), n) }

// Meter counts for a sink that uses a Reader by itself what Follow counts for others.
type Meter struct {
	sink    string
	metrics metrics
}

// NewMeter returns the meter of a sink, with its counters at 0.
func NewMeter(sink string) Meter {
	m := Meter{sink, newMetrics()}
	m.Sent(0)
	return m
}

// Sent counts events that the sink has accepted.
func (m Meter) Sent(n int) { m.metrics.sent(m.sink, n) }

// ObserveDelay records how long events took that the sink has accepted.
func (m Meter) ObserveDelay(events []Event) { m.metrics.observeDelay(m.sink, foundTimes(events)...) }

func foundTimes(events []Event) []time.Time {
	times := make([]time.Time, len(events))
	for i := range events {
		times[i] = events[i].FoundAt
	}
	return times
}

// Failed counts a try that failed and is made again.
func (m Meter) Failed() { m.metrics.failed(m.sink) }

// WatchLag observes how far r is behind, until the function it returns is called.
func (m Meter) WatchLag(r *Reader) (stop func()) { return m.metrics.watchLag(m.sink, r) }
