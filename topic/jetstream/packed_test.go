package jetstream_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

func packable(n int) []topic.Record {
	records := make([]topic.Record, n)
	for i := range records {
		records[i] = topic.Record{Partition: 1, Time: time.Unix(0, 7).UTC(), Trace: strings.Repeat("t", i%3),
			Data: fmt.Append(nil, i)}
	}
	return records
}

// TestPackedResumes goes on behind every record of a topic whose records share messages: nothing comes twice and nothing
// is left out. The first ones were written before the topic was packed.
func TestPackedResumes(t *testing.T) {
	s := MustStart(t)
	want := packable(200)
	conformance.MustAppend(t, MustOpenTopic(t, s), want[:3]...)
	x := MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Packed = true })
	conformance.MustAppend(t, x, want[3:]...)
	all := conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), len(want))
	start, end := conformance.MustBounds(t, x)
	if start[1] != all[0].Position || end[1] != all[len(all)-1].Position+1 {
		t.Errorf("bounds %d to %d of records at %d to %d", start[1], end[1], all[0].Position, all[len(all)-1].Position)
	}
	if messages := end[1]/32 - 1; messages != 3+7 {
		t.Errorf("%d messages, want 3 and 7 for 197 records of 32 a message", messages)
	}
	for i := range all {
		want[i].Position = all[i].Position
		if i > 0 && all[i].Position <= all[i-1].Position {
			t.Fatalf("record %d at %d behind one at %d", i, all[i].Position, all[i-1].Position)
		}
		rest := conformance.MustFetch(t, conformance.MustOpen(t, x, -1, all[i].Position, -1), len(all)-i)
		if !reflect.DeepEqual(all[i:], rest) { // cmp takes a hundred times as long
			t.Fatalf("from record %d on: %s", i, cmp.Diff(all[i:], rest))
		}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// TestPackedSizes: what is too large for a shared message, or of another time or partition, has one of its own.
func TestPackedSizes(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.Packed = true })
	want := packable(8)
	want[2].Partition, want[4].Time = 2, time.Unix(0, 8).UTC()
	want[6].Data = make([]byte, 100_000)
	conformance.MustAppend(t, x, want...)
	got := conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), len(want))
	messages := map[int64][]int{}
	for i := range got {
		want[i].Position = got[i].Position
		messages[got[i].Position/32] = append(messages[got[i].Position/32], i)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[int64][]int{1: {0, 1}, 2: {2}, 3: {3}, 4: {4}, 5: {5}, 6: {6}, 7: {7}}, messages); diff != "" {
		t.Errorf("messages (-want +got): %s", diff)
	}
}

// TestPackedGarbage: a message that says it is packed and is not is handed on as it is, for the reader of the records to
// leave out. An error would be met again by whoever begins anew before it.
func TestPackedGarbage(t *testing.T) {
	s := MustStart(t)
	x := MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Name, c.Packed = "events", true })
	r := conformance.MustOpen(t, x, 0, 0, 0)
	for _, data := range []string{"", "\x00", "\x00\x05abc", "\x00\x01a\x00\x01bc"} {
		if err := s.PublishPacked("events.1", "2", data); err != nil {
			t.Fatal(err)
		}
		if got := conformance.MustFetch(t, r, 1); string(got[0].Data) != data {
			t.Errorf("got %q, want %q", got[0].Data, data)
		}
	}
	conformance.MustAppend(t, x, packable(2)...)
	conformance.MustFetch(t, r, 2)
}

// TestUnpacked: a topic that was packed and is no more gives each message as one record, at positions that are its own.
func TestUnpacked(t *testing.T) {
	s := MustStart(t)
	conformance.MustAppend(t, MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Packed = true }), packable(64)...)
	x := MustOpenTopic(t, s)
	if start, end := conformance.MustBounds(t, x); start[1] != 1 || end[1] != 3 {
		t.Errorf("bounds %d to %d of two messages", start[1], end[1])
	}
	conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 2)
}

// TestPackedTruncated lets retention drop what a reader of a packed topic was still to be given.
func TestPackedTruncated(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.MaxBytes, c.Packed = 2<<20, true })
	for range 500 {
		conformance.MustAppend(t, x, topic.Record{Partition: 1, Data: make([]byte, 1<<14)},
			topic.Record{Partition: 1, Data: make([]byte, 1<<14)})
	}
	start, end := conformance.MustBounds(t, x)
	if end[1] != 501*32 || start[1] < 400*32 || start[1]%32 != 30 {
		t.Fatalf("bounds %d to %d: want some of 500 messages of two records", start[1], end[1])
	}
	r := conformance.MustOpen(t, x, -1, 70, -1)
	_, err := r.Fetch(t.Context())
	var truncated *topic.ErrTruncated
	if !errors.As(err, &truncated) || truncated.From != 70 || truncated.Start > start[1] || truncated.Start < start[1]-32 {
		t.Fatalf("got %v, want an ErrTruncated from 70 to about %d", err, start[1])
	}
	if got := conformance.MustFetch(t, r, int(end[1]-start[1]+30)/32*2); got[0].Position != start[1] {
		t.Errorf("behind the gap: position %d, want %d", got[0].Position, start[1])
	}
}
