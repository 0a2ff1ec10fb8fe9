package split

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

type metrics struct {
	sentences, unconfirmed metric.Int64Counter

	// late has ingest in its name, since it tells of what sources bring. It is counted here because only a Split knows the
	// clocks of all of them.
	late metric.Int64Counter
}

func newMetrics() metrics {
	const scope = "refrain/split"
	m := metrics{
		sentences: meters.Counter(scope, "refrain_split_sentences",
			"Sentences of posts that became durable, too short ones included"),
		unconfirmed: meters.Counter(scope, "refrain_split_unconfirmed_sentences",
			"Sentences of appends that failed and were made again, or given up: the topic may have some of them all the same"),
		late: meters.Counter(scope, "refrain_ingest_late",
			"Posts more than lateness behind the least clock of the active source partitions"),
	}
	for _, c := range []metric.Int64Counter{m.sentences, m.unconfirmed, m.late} {
		c.Add(context.Background(), 0) // there from the start: an alert needs a first value
	}
	return m
}

func (m *metrics) countWritten(ctx context.Context, sentences, late int) {
	m.sentences.Add(ctx, int64(sentences))
	if late > 0 {
		m.late.Add(ctx, int64(late))
	}
}
