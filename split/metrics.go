package split

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

type metrics struct {
	sentences, unconfirmed, late metric.Int64Counter
}

func newMetrics() (m metrics, err error) {
	var errs [3]error
	meter := otel.Meter("refrain/split")
	m.sentences, errs[0] = meter.Int64Counter("refrain_split_sentences",
		metric.WithDescription("Sentences of posts that became durable, too short ones included"))
	m.unconfirmed, errs[1] = meter.Int64Counter("refrain_split_unconfirmed_sentences",
		metric.WithDescription("Sentences of appends that failed and were made again, or given up: the topic may have "+
			"some of them all the same"))
	m.late, errs[2] = meter.Int64Counter("refrain_ingest_late",
		metric.WithDescription("Posts more than lateness behind the least clock of the active source partitions"))
	if err = errors.Join(errs[:]...); err == nil {
		m.sentences.Add(context.Background(), 0)
		m.unconfirmed.Add(context.Background(), 0)
		m.late.Add(context.Background(), 0) // there from the start: an alert needs a first value
	}
	return m, err
}

func (m *metrics) countWritten(ctx context.Context, sentences, late int) {
	m.sentences.Add(ctx, int64(sentences))
	if late > 0 {
		m.late.Add(ctx, int64(late))
	}
}
