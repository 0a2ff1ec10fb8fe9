package kafka

import (
	"cmp"
	"context"

	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"refrain/internal/tracing"
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
	parent, state := tracing.Split(cmp.Or(event, batch))
	if parent != "" {
		headers = append(headers, header(tracing.Parent, parent))
	}
	if state != "" {
		headers = append(headers, header(tracing.State, state))
	}
	return headers
}

func header(key, value string) kafka.Header { return kafka.Header{Key: key, Value: []byte(value)} }

// maxLinks is how many traces the span of a batch names.
const maxLinks = 32

// startSpan begins the span of a batch, linked to the traces of its events, by the semantic conventions for messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/kafka/).
func startSpan(ctx context.Context, topic string, events []publish.Event) (context.Context, func(error)) {
	ctx, span := otel.Tracer("refrain/publish").Start(ctx, "send "+topic, trace.WithSpanKind(kindOf(events)),
		trace.WithLinks(links(events)...), trace.WithAttributes(
			semconv.MessagingSystemKafka, semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("send"),
			semconv.MessagingDestinationName(topic), semconv.MessagingBatchMessageCount(len(events)),
		))
	return ctx, func(err error) {
		if err != nil {
			span.SetAttributes(semconv.ErrorType(err))
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// kindOf is PRODUCER where the span is what some event names as its trace, and CLIENT where all have traces of their own.
func kindOf(events []publish.Event) trace.SpanKind {
	for i := range events {
		if events[i].Trace == "" {
			return trace.SpanKindProducer
		}
	}
	return trace.SpanKindClient
}

func links(events []publish.Event) []trace.Link {
	return tracing.Links(func(yield func(string) bool) {
		for i := range events {
			if !yield(events[i].Trace) {
				return
			}
		}
	}, maxLinks)
}
