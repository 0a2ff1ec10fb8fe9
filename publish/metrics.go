package publish

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type metrics struct {
	events  metric.Int64Counter
	clients metric.Int64UpDownCounter
}

func newMetrics() metrics {
	meter := otel.Meter("refrain/publish")
	events, err := meter.Int64Counter("refrain_publish_events",
		metric.WithDescription("Events handed to a sink; over HTTP, to each client."))
	if err != nil {
		otel.Handle(err) // the instrument still works as a no-op
	}
	clients, err := meter.Int64UpDownCounter("refrain_publish_clients",
		metric.WithDescription("Clients that follow the events over HTTP."))
	if err != nil {
		otel.Handle(err)
	}
	return metrics{events: events, clients: clients}
}

func (m metrics) sent(sink string, n int) {
	if n > 0 {
		m.events.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String("sink", sink)))
	}
}

func (m metrics) client(n int64) { m.clients.Add(context.Background(), n) }
