package jetstream_test

import (
	"context"
	"slices"
	"testing"

	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// TestPurge drops what all partitions can spare, and nothing else.
func TestPurge(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.Partitions, c.Purged = 8, true })
	conformance.MustAppend(t, x, eight()...)
	conformance.MustAppend(t, x, eight()...)
	_, end, err := x.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Purge(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	start, _, err := x.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for p, s := range start {
		if want := slices.Min(end); s < want {
			t.Errorf("partition %d starts at %d, want nothing before %d", p, s, want)
		}
	}
	r := conformance.MustOpen(t, x, end...)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for range 2 { // nothing more to purge, nothing at all
		if err := x.Purge(t.Context(), make([]int64, 8)); err != nil {
			t.Error(err)
		}
	}
}

// TestPurgedWhole: a topic that was purged to its end has lost nothing.
func TestPurgedWhole(t *testing.T) {
	dir := t.TempDir()
	open := func() (*jetstream.Server, *jetstream.Topic) {
		s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
		return s, MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Purged = true })
	}
	s, x := open()
	conformance.MustAppend(t, x, numbered(10)...)
	_, end := conformance.MustBounds(t, x)
	last := slices.Max(end)
	if err := x.Purge(t.Context(), slices.Repeat([]int64{last}, len(end))); err != nil {
		t.Fatal(err)
	}
	id := x.Lineage().Current()
	MustClose(t, s)
	_, x = open()
	if valid := MustValidEnd(t, x, id); valid != last {
		t.Errorf("kept up to %d, want %d", valid, last)
	}
}

// BenchmarkPurge drops 400 KB at a time of 400 MB: one file is rewritten each time.
func BenchmarkPurge(b *testing.B) {
	x := MustOpenTopic(b, MustStart(b), func(c *jetstream.TopicConfig) { c.Partitions, c.Purged = 8, true })
	records := eight()
	for range 1000 {
		conformance.MustAppend(b, x, records...)
	}
	b.ResetTimer()
	for i := range b.N {
		if err := x.Purge(context.Background(), slices.Repeat([]int64{int64(8 * (i%1000 + 1))}, 8)); err != nil {
			b.Fatal(err)
		}
	}
}
