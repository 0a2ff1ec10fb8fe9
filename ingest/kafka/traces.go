package kafka

import (
	"context"
	"strconv"

	"github.com/segmentio/kafka-go/protocol"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"refrain/ingest"
)

// maxLinks is how many traces the span of a batch names, when its records come from many.
const maxLinks = 32

// traces are the different traceparent headers of the records of a batch, and whether some record had none.
type traces struct {
	parents []string
	without bool
}

func (t *traces) reset() { t.parents, t.without = t.parents[:0], false }

func (t *traces) add(headers []protocol.Header) {
	for i := range headers {
		if headers[i].Key != "traceparent" {
			continue
		}
		for _, have := range t.parents {
			if have == string(headers[i].Value) {
				return
			}
		}
		if len(t.parents) < maxLinks {
			t.parents = append(t.parents, string(headers[i].Value))
		}
		return
	}
	t.without = true
}

// start makes the span of a batch and returns its traceparent. It goes on with the trace of the records if they have
// one in common, and is linked to theirs if not.
func (t *traces) start(topic string, partition int, b *ingest.Batch) string {
	ctx := context.Background()
	opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("messaging.system", "kafka"), attribute.String("messaging.operation.type", "receive"),
		attribute.String("messaging.destination.name", topic),
		attribute.String("messaging.destination.partition.id", strconv.Itoa(partition)),
		attribute.Int("messaging.batch.message_count", len(b.Posts)+len(b.Rejected)),
	)}
	if len(t.parents) == 1 && !t.without {
		ctx = extract(t.parents[0])
	} else {
		for _, p := range t.parents {
			opts = append(opts, trace.WithLinks(trace.LinkFromContext(extract(p))))
		}
	}
	ctx, span := otel.Tracer("refrain/ingest").Start(ctx, "receive "+topic, opts...)
	defer span.End()
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

func extract(traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
}
