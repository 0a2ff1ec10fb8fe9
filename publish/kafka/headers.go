package kafka

import (
	"context"

	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"refrain/publish"
)

var contentType = kafka.Header{Key: "content-type", Value: []byte("application/cloudevents+json; charset=UTF-8")}

// headers are those of one event. Its trace is its post's; one without is found from the span of its batch.
func headers(event, batch string) []kafka.Header {
	if event == "" {
		event = batch
	}
	if event == "" {
		return []kafka.Header{contentType}
	}
	return []kafka.Header{contentType, {Key: "traceparent", Value: []byte(event)}}
}

// maxLinks is how many traces the span of a batch names.
const maxLinks = 32

// startSpan begins the span of a batch, linked to the traces of its events.
func startSpan(ctx context.Context, topic string, events []publish.Event) (context.Context, func(error)) {
	ctx, span := otel.Tracer("refrain/publish").Start(ctx, "send "+topic, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithLinks(links(events)...), trace.WithAttributes(
			attribute.String("messaging.system", "kafka"), attribute.String("messaging.operation.type", "send"),
			attribute.String("messaging.destination.name", topic),
			attribute.Int("messaging.batch.message_count", len(events)),
		))
	return ctx, func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

func links(events []publish.Event) []trace.Link {
	var out []trace.Link
	seen := map[string]bool{"": true}
	for i := range events {
		if t := events[i].Trace; !seen[t] && len(out) < maxLinks {
			seen[t] = true
			ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": t})
			out = append(out, trace.LinkFromContext(ctx))
		}
	}
	return out
}

func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
