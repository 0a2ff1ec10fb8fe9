package kafka

import (
	"context"
	"slices"
	"strconv"

	"github.com/segmentio/kafka-go/protocol"
	"go.opentelemetry.io/otel"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"refrain/ingest"
	"refrain/internal/tracing"
)

// maxLinks is how many traces the span of a batch names, when its records come from many.
const maxLinks = 32

// traces are the different traces of the records of a batch, and whether some record had none.
type traces struct {
	parents []string
	without bool
}

func (t *traces) reset() { t.parents, t.without = t.parents[:0], false }

func (t *traces) add(headers []protocol.Header) {
	trace := traceOf(headers)
	switch {
	case trace == "":
		t.without = true
	case len(t.parents) < maxLinks && !slices.Contains(t.parents, trace):
		t.parents = append(t.parents, trace)
	}
}

func traceOf(headers []protocol.Header) string {
	var parent, state []byte
	for i := range headers {
		switch headers[i].Key {
		case tracing.Parent:
			parent = headers[i].Value
		case tracing.State:
			state = headers[i].Value
		}
	}
	if len(parent) > maxParent {
		return ""
	}
	return tracing.Join(string(parent), string(state))
}

// maxParent is longer than a traceparent of any version so far: whoever writes records may put anything there.
const maxParent = 128

// start makes the span of a batch and returns its trace. It goes on with the trace of the records if they have one in
// common, and is linked to theirs if not. Its name and attributes are those of the semantic conventions for messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/kafka/).
func (t *traces) start(p *partition, b *ingest.Batch) string {
	ctx := context.Background()
	opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		semconv.MessagingSystemKafka, semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"),
		semconv.MessagingDestinationName(p.topic), semconv.MessagingDestinationPartitionID(strconv.Itoa(p.number)),
		semconv.MessagingConsumerGroupName(p.src.cfg.Group),
		semconv.MessagingBatchMessageCount(len(b.Posts)+len(b.Rejected)+len(b.Deleted)),
	)}
	if len(t.parents) == 1 && !t.without {
		ctx = tracing.Context(ctx, t.parents[0])
	} else {
		opts = append(opts, trace.WithLinks(tracing.Links(slices.Values(t.parents), maxLinks)...))
	}
	ctx, span := otel.Tracer("refrain/ingest").Start(ctx, "process "+p.topic, opts...)
	defer span.End()
	return tracing.Of(ctx)
}
