package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
)

// meter makes the counters readable. The global provider can be set once, so all tests of a process share it.
func meter(t *testing.T) *metric.ManualReader {
	t.Helper()
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	return reader
}

// sums are the counters, by name and result.
func sums(t *testing.T, reader *metric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, p := range sum.DataPoints {
				name := m.Name
				if result, ok := p.Attributes.Value("result"); ok {
					name += " " + result.AsString()
				}
				got[name] += p.Value
			}
		}
	}
	return got
}

// TestBalance is promise 6: what split counted has become something, and every sentence was looked up everywhere.
func TestBalance(t *testing.T) {
	reader := meter(t)
	for _, ordered := range []bool{true, false} {
		before := sums(t, reader)
		r := newRouteOver(t, memoryOf(3, ordered))
		workers := []*Worker{r.mustOpen(r.config(0, 2)), r.mustOpen(r.config(1))}
		if err := r.split.Delete(context.Background(), []feed.Tombstone{{Post: "p3"}}); err != nil {
			t.Fatal(err)
		}
		r.now = r.now.Add(time.Minute)
		var posts []feed.Post
		for i := range 20 {
			text := fmt.Sprintf("%s %d\ntoo short\n%d six seven eight nine", words, i%7, i)
			posts = append(posts, feed.Post{ID: fmt.Sprint("p", i), Text: text, Time: 1_690_000_000_000, Timed: true})
		}
		for _, batch := range [][]feed.Post{posts[:10], posts[10:], posts[5:8]} { // three posts are delivered again
			if err := r.split.Write(context.Background(), batch, "s"); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			for i, w := range workers {
				if i == 1 { // restarted all the time: nothing is counted twice
					w = r.mustOpen(r.config(1))
				}
				r.mustStep(w)
			}
		}
		after := sums(t, reader)
		got := func(name string) int64 { return after[name] - before[name] }
		const sentences, short, deleted, repeats = 23 * 3, 23, 2, 6
		want := map[string]int64{
			"refrain_split_sentences": sentences, "refrain_sigstore_sentences too_short": short,
			"refrain_sigstore_sentences deleted": deleted, "refrain_sigstore_sentences repeat": repeats,
			"refrain_sigstore_sentences inserted": sentences - short - deleted - repeats,
			// A repeat is known where its text lives, and looked up in the other partitions.
			"refrain_shard_lookups": (sentences-short-deleted-repeats)*3 + repeats*2,
		}
		for name, n := range want {
			if got(name) != n {
				t.Errorf("ordered %v: %s: got %d, want %d", ordered, name, got(name), n)
			}
		}
		if n := int64(len(r.out())) - 1; got("refrain_detector_events") != n { // less the retraction
			t.Errorf("ordered %v: %d events counted, %d in the topic", ordered, got("refrain_detector_events"), n)
		}
	}
}
