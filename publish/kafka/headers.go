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

var contentType = kafka.Header{Key: "content-type", Value: []byte("application/cloudevents+json; charset=UTF-8")}

// headers are those of one event. Its trace is its post's; one without is found from the span of its batch.
func headers(event, batch string) []kafka.Header {
	out := []kafka.Header{contentType}
	parent, state := tracing.Split(cmp.Or(event, batch))
	if parent != "" {
		out = append(out, kafka.Header{Key: tracing.Parent, Value: []byte(parent)})
	}
	if state != "" {
		out = append(out, kafka.Header{Key: tracing.State, Value: []byte(state)})
	}
	return out
}

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
