package kafka

import (
	"cmp"
	"context"

	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"refrain/publish"
)

// content is what the binding makes of an event: headers, and the value. One that cannot be taken apart goes in the
// structured mode; a consumer knows either by its content-type.
func (s *Sink) content(e *publish.Event) (headers []kafka.Header, value []byte) {
	if s.cfg.Binary {
		if b, err := e.Binary(); err == nil {
			return binaryHeaders(&b), b.Data
		}
	}
	return []kafka.Header{header("content-type", "application/cloudevents+json; charset=UTF-8")}, e.Data
}

func binaryHeaders(b *publish.Binary) (headers []kafka.Header) {
	if b.ContentType != "" {
		headers = append(headers, header("content-type", b.ContentType))
	}
	for _, a := range b.Attributes {
		headers = append(headers, header("ce_"+a.Name, a.Value))
	}
	return headers
}

// traced adds the trace of an event, its post's; one without is found from the span of its batch.
func traced(headers []kafka.Header, event, batch string) []kafka.Header {
	if trace := cmp.Or(event, batch); trace != "" {
		return append(headers, header("traceparent", trace))
	}
	return headers
}

func header(key, value string) kafka.Header { return kafka.Header{Key: key, Value: []byte(value)} }

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
