package storetest

import (
	"context"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/lookup"
)

// testLongPost: what an event costs does not depend on how many there were of its posts. Each sentence of a long post
// repeats an older post, and is repeated by a later one, in batches as they come live.
func testLongPost(t *testing.T, open Open) {
	const sentences, batch, growth = 500, 50, 8
	small, large := longPostBytes(t, open, sentences, batch), longPostBytes(t, open, growth*sentences, batch)
	t.Logf("%d sentences: %d bytes of records; %d: %d", sentences, small, growth*sentences, large)
	if small == 0 && isModel(t, open) {
		return // it keeps no records
	}
	if small == 0 || large > 3*growth*small { // the small one fits into fewer pages; quadratic growth would be 64 times
		t.Errorf("%d sentences take %d bytes of records, %d take %d: more than in proportion", sentences, small,
			growth*sentences, large)
	}
	if per := large / (2 * growth * sentences); per > 64<<10 {
		t.Errorf("%d bytes of records for each event", per)
	}
}

func isModel(t *testing.T, open Open) bool {
	s := open(t, NewClock().Now, Retention)
	defer closed(t, s)
	_, ok := s.(*Memory)
	return ok
}

// longPostBytes applies the events of a post of n sentences, asks about it, deletes it, and returns the bytes of
// records that this took.
func longPostBytes(t *testing.T, open Open, n, batch int) int64 {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(noop.NewMeterProvider())
	s := open(t, NewClock().Now, Retention)
	defer closed(t, s)
	var changes []lookup.Change
	for i := range n {
		group := groupOf(1000 + i)
		older := feed.Occurrence{Post: fmt.Sprint("old", i), Time: 1000, Text: "words"}
		long := feed.Occurrence{Post: "long", Time: 2000, Sentence: i, Text: "words"}
		later := feed.Occurrence{Post: fmt.Sprint("new", i), Time: 3000, Text: "words"}
		changes = append(changes, lookup.Change{Match: Match(long, older, group, 1)},
			lookup.Change{Match: Match(later, long, group, 0.8)})
	}
	for len(changes) > 0 {
		apply(t, changes[:batch], s)
		changes = changes[batch:]
	}
	r, err := s.Reuse(context.Background(), "", "long", lookup.Page{Limit: 20})
	if err != nil || len(r.RepeatOf) != n || r.Total != n || len(r.RepeatedBy) != 20 || r.RepeatOf[n-1].Sentence != n-1 {
		t.Errorf("%d sentences: %d repeats, %d repeated by, a page of %d, %v", n, len(r.RepeatOf), r.Total, len(r.RepeatedBy), err)
	}
	apply(t, []lookup.Change{{Deleted: feed.Tombstone{Post: "long"}}}, s)
	x, _, err := s.Text(context.Background(), groupOf(1000), lookup.Page{Limit: 5})
	if err != nil || len(x.RepeatedBy) != 1 {
		t.Errorf("a text of the deleted post: %+v, %v", x, err)
	}
	return valueBytes(t, reader)
}

// valueBytes is what the metric of the records' bytes says.
func valueBytes(t *testing.T, reader *sdkmetric.ManualReader) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			for i := range sum.DataPoints {
				if ok && m.Name == "refrain_lookup_values" {
					n += sum.DataPoints[i].Value
				}
			}
		}
	}
	return n
}
