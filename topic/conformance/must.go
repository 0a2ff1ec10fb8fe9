package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"refrain/topic"
)

// MustAppend appends, or ends the test.
func MustAppend(tb testing.TB, x topic.Topic, records ...topic.Record) {
	tb.Helper()
	if err := x.Append(tb.Context(), records); err != nil {
		tb.Fatalf("append: %v", err)
	}
}

// MustBounds returns the bounds, or ends the test.
func MustBounds(tb testing.TB, x topic.Topic) (start, end []int64) {
	tb.Helper()
	start, end, err := x.Bounds(tb.Context())
	if err != nil {
		tb.Fatalf("bounds: %v", err)
	}
	return start, end
}

// MustOpen opens a reader that is closed with the test, or ends the test.
func MustOpen(tb testing.TB, x topic.Topic, from ...int64) topic.Reader {
	tb.Helper()
	r, err := x.Open(tb.Context(), from)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Errorf("close reader: %v", err)
		}
	})
	return r
}

// MustFetch returns exactly n records, or ends the test.
func MustFetch(tb testing.TB, r topic.Reader, n int) []topic.Record {
	tb.Helper()
	got := fetchAll(tb, r, n)
	if len(got) != n {
		tb.Fatalf("fetched %d records, want %d", len(got), n)
	}
	return got
}

// fetchAll fetches until there are n records or the deadline has passed; it may run in any goroutine.
func fetchAll(tb testing.TB, r topic.Reader, n int) []topic.Record {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), stepTimeout)
	defer cancel()
	var got []topic.Record
	for len(got) < n {
		records, err := r.Fetch(ctx)
		if err != nil {
			tb.Errorf("fetch after %d of %d records: %v", len(got), n, err)
			return got
		}
		if len(records) == 0 {
			tb.Error("fetch returned neither records nor an error")
			return got
		}
		got = append(got, records...)
	}
	return got
}

// MustNothing checks that a reader has nothing more to give.
func MustNothing(tb testing.TB, r topic.Reader) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 50*time.Millisecond)
	defer cancel()
	got, err := r.Fetch(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || len(got) > 0 {
		tb.Fatalf("got %d records and %v, want none and the deadline", len(got), err)
	}
}

// numbered returns n records whose data are the numbers from first on, over three partitions in turn.
func numbered(first, n int) []topic.Record {
	var out []topic.Record
	for i := first; i < first+n; i++ {
		out = append(out, topic.Record{Partition: i % 3, Data: []byte(fmt.Sprint(i))})
	}
	return out
}

func inPartition(p int, data ...string) []topic.Record {
	var out []topic.Record
	for _, d := range data {
		out = append(out, topic.Record{Partition: p, Data: []byte(d)})
	}
	return out
}

// texts returns the data of one partition's records.
func texts(records []topic.Record, partition int) []string {
	var out []string
	for _, r := range records {
		if r.Partition == partition {
			out = append(out, string(r.Data))
		}
	}
	return out
}

// checkRising reports positions of one partition that do not rise.
func checkRising(tb testing.TB, records []topic.Record, partition int) {
	tb.Helper()
	last := int64(-1)
	for _, r := range records {
		if r.Partition != partition {
			continue
		}
		if r.Position <= last {
			tb.Errorf("partition %d: position %d after %d", partition, r.Position, last)
		}
		last = r.Position
	}
}
