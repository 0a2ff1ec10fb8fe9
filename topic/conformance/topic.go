// Package conformance is the suite of tests that every topic and every store passes.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/topic"
)

// stepTimeout is the deadline of whatever should happen at once. Only what hangs meets it, also under the race detector on a
// machine with much else to do.
const stepTimeout = time.Minute

// RunTopic tests an implementation. open returns an empty topic of three partitions; closing it is its business
// (t.Cleanup).
func RunTopic(t *testing.T, open func(t *testing.T) topic.Topic) {
	tests := []struct {
		name string
		run  func(*testing.T, topic.Topic)
	}{
		{"empty", testEmpty},
		{"records come back whole", testComplete},
		{"order", testOrder},
		{"one order", testOneOrder},
		{"positions are inclusive", testInclusive},
		{"some partitions", testSomePartitions},
		{"own position for each partition", testOwnPositions},
		{"several readers", testSeveralReaders},
		{"append wakes fetch", testWakes},
		{"context ends fetch", testContext},
		{"close ends fetch", testClose},
		{"bounds", testBounds},
		{"refusals", testRefusals},
		{"beyond the end", testBeyondEnd},
		{"concurrent", testConcurrent},
		{"large and empty data", testSizes},
		{"lineage", testLineage},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := open(t)
			if got := x.Partitions(); got != 3 {
				t.Fatalf("got %d partitions, want 3", got)
			}
			test.run(t, x)
		})
	}
}

func testEmpty(t *testing.T, x topic.Topic) {
	start, end := MustBounds(t, x)
	if !slices.Equal(start, end) {
		t.Errorf("bounds of an empty topic: %v to %v", start, end)
	}
	MustAppend(t, x)
	if _, again := MustBounds(t, x); !slices.Equal(again, end) {
		t.Errorf("appending nothing moved the end from %v to %v", end, again)
	}
}

func testComplete(t *testing.T, x topic.Topic) {
	stamp := time.Date(2016, 2, 29, 23, 59, 59, 123456789, time.UTC)
	want := topic.Record{Partition: 2, Time: stamp, Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Origin: "token:Zürich, the newsroom", Data: []byte("a\x00\xff\r\n")}
	before := time.Now()
	MustAppend(t, x, want, topic.Record{Partition: 2, Data: []byte("b")})
	got := MustFetch(t, MustOpen(t, x, 0, 0, 0), 2)
	want.Position = got[0].Position
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	if s := got[1].Time; s.Before(before.Add(-time.Second)) || s.After(time.Now().Add(time.Second)) ||
		s.Location() != time.UTC {
		t.Errorf("a record without a time was stamped %v, at %v", s, before)
	}
	if got[1].Trace != "" {
		t.Errorf("trace %q", got[1].Trace)
	}
	if got[1].Origin != "" {
		t.Errorf("origin %q", got[1].Origin)
	}
}

func testOrder(t *testing.T, x topic.Topic) {
	const n = 1000
	for i := 0; i < n; i += 100 {
		MustAppend(t, x, numbered(i, 100)...)
	}
	got := MustFetch(t, MustOpen(t, x, 0, 0, 0), n)
	for p := range 3 {
		checkRising(t, got, p)
		if diff := cmp.Diff(texts(numbered(0, n), p), texts(got, p)); diff != "" {
			t.Errorf("partition %d: %s", p, diff)
		}
	}
}

func testOneOrder(t *testing.T, x topic.Topic) {
	if !x.Ordered() {
		t.Skip("each partition has an order of its own")
	}
	want := numbered(0, 100)
	MustAppend(t, x, want...)
	got := MustFetch(t, MustOpen(t, x, 0, 0, 0), len(want))
	for i := range got {
		if string(got[i].Data) != string(want[i].Data) || i > 0 && got[i].Position <= got[i-1].Position {
			t.Fatalf("record %d: got %q at %d, want %q", i, got[i].Data, got[i].Position, want[i].Data)
		}
	}
}

func testInclusive(t *testing.T, x topic.Topic) {
	MustAppend(t, x, inPartition(1, "a", "b", "c")...)
	all := MustFetch(t, MustOpen(t, x, -1, 0, -1), 3)
	got := MustFetch(t, MustOpen(t, x, -1, all[1].Position, -1), 2)
	if diff := cmp.Diff(all[1:], got); diff != "" {
		t.Errorf("from the second record's position: %s", diff)
	}
	got = MustFetch(t, MustOpen(t, x, -1, all[1].Position+1, -1), 1)
	if diff := cmp.Diff(all[2:], got); diff != "" {
		t.Errorf("from behind the second record: %s", diff)
	}
}

func testSomePartitions(t *testing.T, x topic.Topic) {
	r := MustOpen(t, x, 0, -1, 0)
	MustAppend(t, x, numbered(0, 30)...)
	got := MustFetch(t, r, 20)
	if n := len(texts(got, 1)); n != 0 {
		t.Errorf("%d records of the partition that was left out", n)
	}
	MustNothing(t, r)
}

func testOwnPositions(t *testing.T, x topic.Topic) {
	MustAppend(t, x, numbered(0, 30)...)
	all := MustFetch(t, MustOpen(t, x, 0, 0, 0), 30)
	var from [3]int64
	for _, r := range all { // partition p from its record number 3p on
		if len(texts(all, r.Partition)) > 0 && slices.Index(texts(all, r.Partition), string(r.Data)) == 3*r.Partition {
			from[r.Partition] = r.Position
		}
	}
	r := MustOpen(t, x, from[:]...)
	got := MustFetch(t, r, 30-3-6)
	for p := range 3 {
		if diff := cmp.Diff(texts(all, p)[3*p:], texts(got, p)); diff != "" {
			t.Errorf("partition %d: %s", p, diff)
		}
	}
	MustNothing(t, r)
}

func testSeveralReaders(t *testing.T, x topic.Topic) {
	a, b := MustOpen(t, x, 0, 0, 0), MustOpen(t, x, 0, 0, 0)
	MustAppend(t, x, numbered(0, 10)...)
	first := MustFetch(t, a, 10)
	MustAppend(t, x, numbered(10, 10)...)
	second := MustFetch(t, b, 20)
	for p := range 3 {
		if got, want := texts(second, p)[:len(texts(first, p))], texts(first, p); !slices.Equal(got, want) {
			t.Errorf("partition %d: one reader got %v, the other %v", p, got, want)
		}
	}
}

func testWakes(t *testing.T, x topic.Topic) {
	r := MustOpen(t, x, 0, 0, 0)
	got := make(chan []topic.Record)
	go func() {
		defer close(got)
		for range 50 {
			records, err := r.Fetch(t.Context())
			if err != nil {
				t.Errorf("fetch: %v", err)
				return
			}
			got <- records
		}
	}()
	for i := range 50 {
		MustAppend(t, x, numbered(i, 1)...)
		select {
		case records := <-got:
			if len(records) != 1 || string(records[0].Data) != fmt.Sprint(i) {
				t.Fatalf("append %d: got %v", i, records)
			}
		case <-time.After(stepTimeout):
			t.Fatalf("fetch slept through append %d", i)
		}
	}
}

func testContext(t *testing.T, x topic.Topic) {
	r := MustOpen(t, x, 0, 0, 0)
	MustNothing(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Fetch(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch: got %v, want context.Canceled", err)
	}
	if err := x.Append(ctx, numbered(0, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("append: got %v, want context.Canceled", err)
	}
	MustAppend(t, x, numbered(1, 1)...)
	if got := MustFetch(t, r, 1); string(got[0].Data) != "1" {
		t.Errorf("after cancelled calls: got %q", got[0].Data)
	}
}

func testClose(t *testing.T, x topic.Topic) {
	r := MustOpen(t, x, 0, 0, 0)
	err := make(chan error)
	go func() {
		_, e := r.Fetch(context.Background())
		err <- e
	}()
	for range 2 { // twice is allowed
		if e := r.Close(); e != nil {
			t.Errorf("close: %v", e)
		}
	}
	select {
	case e := <-err:
		if !errors.Is(e, topic.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", e)
		}
	case <-time.After(stepTimeout):
		t.Fatal("close did not end fetch")
	}
	MustAppend(t, x, numbered(0, 1)...)
	if _, e := r.Fetch(t.Context()); !errors.Is(e, topic.ErrClosed) {
		t.Errorf("fetch after close: got %v, want ErrClosed", e)
	}
}

func testBounds(t *testing.T, x topic.Topic) {
	MustAppend(t, x, inPartition(1, "a", "b")...)
	all := MustFetch(t, MustOpen(t, x, 0, 0, 0), 2)
	start, end := MustBounds(t, x)
	if start[1] != all[0].Position || end[1] != all[1].Position+1 {
		t.Errorf("partition 1: got %d to %d, want %d to %d", start[1], end[1], all[0].Position, all[1].Position+1)
	}
	if start[0] != end[0] || start[2] != end[2] {
		t.Errorf("partitions without records: %v to %v", start, end)
	}
	r := MustOpen(t, x, end...)
	MustAppend(t, x, topic.Record{Partition: 0, Data: []byte("c")}, topic.Record{Partition: 1, Data: []byte("d")})
	got := MustFetch(t, r, 2)
	if a, b := texts(got, 0), texts(got, 1); !slices.Equal(a, []string{"c"}) || !slices.Equal(b, []string{"d"}) {
		t.Errorf("from the ends: got %v and %v", a, b)
	}
}

// testLineage: while nothing is lost, every position of the present incarnation means what it meant.
func testLineage(t *testing.T, x topic.Topic) {
	before := x.Lineage()
	MustAppend(t, x, inPartition(1, "a", "b")...)
	_, end := MustBounds(t, x)
	valid, known := topic.ValidEnds(x, before.Current(), end)
	for p := range end {
		if !known || valid[p] < end[p] {
			t.Errorf("partition %d ends at %d and is kept up to %d, known %v", p, end[p], valid[p], known)
		}
	}
	if _, known := topic.ValidEnds(x, "another", end); known {
		t.Errorf("an incarnation that never was is known: %v", x.Lineage())
	}
}

func testRefusals(t *testing.T, x topic.Topic) {
	for _, p := range []int{-1, 3} {
		if err := x.Append(t.Context(), []topic.Record{{Partition: 0}, {Partition: p}}); err == nil {
			t.Errorf("partition %d: no error", p)
		}
	}
	if start, end := MustBounds(t, x); !slices.Equal(start, end) {
		t.Errorf("a refused batch was appended in part: %v to %v", start, end)
	}
	for _, from := range [][]int64{nil, {0}, {0, 0, 0, 0}, {-1, -1, -1}} {
		if r, err := x.Open(t.Context(), from); err == nil {
			t.Errorf("open at %v: no error", from)
			_ = r.Close()
		}
	}
}

func testBeyondEnd(t *testing.T, x topic.Topic) {
	MustAppend(t, x, inPartition(1, "a", "b")...)
	_, end := MustBounds(t, x)
	if r, err := x.Open(t.Context(), []int64{-1, end[1] + 1, -1}); !errors.Is(err, topic.ErrBeyondEnd) {
		t.Errorf("got %v, want ErrBeyondEnd", err)
		_ = r.Close()
	}
}

func testConcurrent(t *testing.T, x topic.Topic) {
	const writers, each, readers = 4, 25, 3
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := x.Append(t.Context(), numbered(1000*w+4*i, 4)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	for range readers {
		r := MustOpen(t, x, 0, 0, 0)
		wg.Go(func() { checkWriters(t, fetchAll(t, r, writers*each*4), writers) })
	}
	wg.Wait()
}

// checkWriters holds each writer's records to its order within every partition.
func checkWriters(t *testing.T, got []topic.Record, writers int) {
	for p := range 3 {
		checkRising(t, got, p)
		last := slices.Repeat([]int{-1}, writers)
		for _, s := range texts(got, p) {
			var n int
			if _, err := fmt.Sscan(s, &n); err != nil {
				t.Errorf("data %q: %v", s, err)
				return
			}
			if n <= last[n/1000] {
				t.Errorf("partition %d: %d came after %d", p, n, last[n/1000])
			}
			last[n/1000] = n
		}
	}
}

func testSizes(t *testing.T, x topic.Topic) {
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = byte(i % 251)
	}
	var records []topic.Record
	for range 40 { // more than what is on its way or read ahead at a time
		records = append(records, topic.Record{Partition: 1, Data: large}, topic.Record{Partition: 1})
	}
	MustAppend(t, x, records...)
	for i, r := range MustFetch(t, MustOpen(t, x, 0, 0, 0), len(records)) {
		if string(r.Data) != string(records[i].Data) {
			t.Fatalf("record %d: %d bytes, not the %d that were appended", i, len(r.Data), len(records[i].Data))
		}
	}
}
