package split

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/topic"
)

// lossy appends, and says that it has not: an acknowledgement is lost.
type lossy struct {
	topic.Topic
	times int
}

func (l *lossy) Append(ctx context.Context, records []topic.Record) error {
	err := l.Topic.Append(ctx, records)
	if l.times--; l.times >= 0 {
		return errors.New("no acknowledgement")
	}
	return err
}

// TestWhatMayBeThereTwiceIsCounted: the sentences in the topic are those that were counted as durable, and at most as many
// more as were counted as unconfirmed.
func TestWhatMayBeThereTwiceIsCounted(t *testing.T) {
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	b := newBench(t, 2)
	s := b.mustNew(&lossy{b.topic, 2})
	posts := []feed.Post{{ID: "1", Text: "one two three four five\nsix seven eight nine ten\nho"}}
	if err := s.Write(t.Context(), posts, "s"); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, batch := range b.batches(0) {
		count += len(batch.Sentences) + batch.TooShort
	}
	durable, unconfirmed := sum(t, reader, "refrain_split_sentences"), sum(t, reader, "refrain_split_unconfirmed_sentences")
	if count != 9 || durable != 3 || unconfirmed != 6 {
		t.Errorf("%d sentences in the topic, %d durable, %d unconfirmed: want 9, 3, 6", count, durable, unconfirmed)
	}
}

// full takes so many appends, and then no more.
type full struct {
	topic.Topic
	room int
}

func (f *full) Append(ctx context.Context, records []topic.Record) error {
	if f.room--; f.room < 0 {
		return topic.ErrFull
	}
	return f.Topic.Append(ctx, records)
}

// TestPiecesBeforeOneThatFailsAreCounted: what a batch had written when the topic was full is there as well, and again when
// the batch comes again.
func TestPiecesBeforeOneThatFailsAreCounted(t *testing.T) {
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	b := newBench(t, 1)
	s := b.mustNew(&full{b.topic, 1})
	long := strings.Repeat("one two three four five\n", pieceText/24)
	posts := []feed.Post{{ID: "1", Text: long}, {ID: "2", Text: long}}
	if err := s.Write(t.Context(), posts, "s"); !errors.Is(err, topic.ErrFull) {
		t.Fatalf("written with %v, want %v", err, topic.ErrFull)
	}
	there := int64(0)
	for _, batch := range b.batches(0) {
		there += int64(len(batch.Sentences) + batch.TooShort)
	}
	durable, unconfirmed := sum(t, reader, "refrain_split_sentences"), sum(t, reader, "refrain_split_unconfirmed_sentences")
	if there == 0 || durable != 0 || unconfirmed != 2*there {
		t.Errorf("%d sentences in the topic, %d durable, %d unconfirmed: want those of both posts to be unconfirmed", there,
			durable, unconfirmed)
	}
}

func sum(t *testing.T, reader *metric.ManualReader, name string) (total int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, point := range data.DataPoints {
					total += point.Value
				}
			}
		}
	}
	return total
}
