package topic_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/topic"
	"refrain/topic/conformance"
)

func newMemory(partitions int, ordered bool) *topic.Memory {
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Ordered = partitions, ordered
	return topic.NewMemory(cfg)
}

func TestMemory(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			conformance.RunTopic(t, func(*testing.T) topic.Topic {
				return newMemory(3, ordered)
			})
		})
	}
}

func TestMemoryStore(t *testing.T) {
	conformance.RunStore(t, func(*testing.T) topic.Store { return new(topic.MemoryStore) })
}

func TestMemoryTruncate(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) { testMemoryTruncate(t, ordered) })
	}
}

func testMemoryTruncate(t *testing.T, ordered bool) {
	m := newMemory(2, ordered)
	for i := range 10 {
		conformance.MustAppend(t, m, topic.Record{Partition: i % 2, Data: []byte{byte(i)}})
	}
	all := conformance.MustFetch(t, conformance.MustOpen(t, m, -1, 0), 5)
	r := conformance.MustOpen(t, m, 0, 0)
	m.Truncate(1, all[2].Position)
	_, err := r.Fetch(t.Context())
	var truncated *topic.ErrTruncated
	if !errors.As(err, &truncated) {
		t.Fatalf("got %v, want an ErrTruncated", err)
	}
	if diff := cmp.Diff(&topic.ErrTruncated{Partition: 1, From: 0, Start: all[2].Position}, truncated); diff != "" {
		t.Error(diff)
	}
	conformance.MustFetch(t, r, 8)
	// Behind the gap nothing is missing, whether the position is that of a record or not.
	r = conformance.MustOpen(t, m, -1, all[1].Position+1)
	if diff := cmp.Diff(all[2:], conformance.MustFetch(t, r, 3)); diff != "" {
		t.Error(diff)
	}
	start, end := conformance.MustBounds(t, m)
	if start[1] != all[2].Position || end[1] != all[4].Position+1 {
		t.Errorf("bounds %v to %v", start, end)
	}
}

// TestMemoryTryFetch reads without waiting, a few records at a time, with stamps from a clock of our own.
func TestMemoryTryFetch(t *testing.T) {
	now := time.UnixMilli(1000)
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Now = 2, func() time.Time { return now }
	m := topic.NewMemory(cfg)
	r, err := m.OpenMemory(t.Context(), []int64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.TryFetch(3); err != nil || len(got) != 0 {
		t.Fatalf("empty topic: got %v, %v", got, err)
	}
	for i := range 6 {
		now = now.Add(time.Millisecond)
		conformance.MustAppend(t, m, topic.Record{Partition: i / 4, Data: []byte{byte(i)}})
	}
	var got []string
	for {
		records, err := r.TryFetch(3)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			break
		}
		for _, x := range records {
			got = append(got, fmt.Sprintf("%d/%d %d %dms", x.Partition, x.Position, x.Data[0], x.Time.UnixMilli()))
		}
		got = append(got, "-")
	}
	want := []string{"0/0 0 1001ms", "0/1 1 1002ms", "0/2 2 1003ms", "-", "1/0 4 1005ms", "1/1 5 1006ms", "0/3 3 1004ms", "-"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMemoryCut: below the cut positions mean what they meant, however often the topic is cut and grows.
func TestMemoryCut(t *testing.T) {
	for ordered, want := range map[bool][]int64{false: {1, 2}, true: {3, 3}} {
		x := newMemory(2, ordered)
		for i := range 8 {
			conformance.MustAppend(t, x, topic.Record{Partition: i % 2, Data: []byte{byte(i)}})
		}
		first := x.Lineage().Current()
		x.Cut([]int64{map[bool]int64{false: 1, true: 3}[ordered], map[bool]int64{false: 3, true: 5}[ordered]})
		conformance.MustAppend(t, x, topic.Record{Partition: 1}, topic.Record{Partition: 0})
		second := x.Lineage().Current()
		x.Cut([]int64{100, map[bool]int64{false: 2, true: 4}[ordered]})
		conformance.MustAppend(t, x, topic.Record{Partition: 1}, topic.Record{Partition: 0})
		_, end := conformance.MustBounds(t, x)
		if valid, _ := topic.ValidEnds(x, first, end); !cmp.Equal(valid, want) {
			t.Errorf("ordered %v: of the first incarnation %v is kept, want %v", ordered, valid, want)
		}
		if valid, known := topic.ValidEnds(x, second, end); !known || valid[1] != map[bool]int64{false: 2, true: 4}[ordered] {
			t.Errorf("ordered %v: of the second incarnation %v is kept", ordered, valid)
		}
	}
}
