package jetstream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// MustValidEnd returns up to where x still is what it was in an incarnation.
func MustValidEnd(tb testing.TB, x topic.Topic, incarnation string) int64 {
	tb.Helper()
	_, end := conformance.MustBounds(tb, x)
	valid, known := topic.ValidEnds(x, incarnation, end)
	if !known || slices.Max(valid) != slices.Min(valid) {
		tb.Fatalf("incarnation %s of %v: kept %v, known %v", incarnation, x.Lineage(), valid, known)
	}
	return valid[0]
}

func numbered(n int) (records []topic.Record) {
	for i := range n {
		records = append(records, topic.Record{Partition: i % 3, Data: fmt.Appendf(make([]byte, 0, 100), "record number %d", i)})
	}
	return records
}

// TestIncarnations: each start of a server begins one, and nothing is lost between two.
func TestIncarnations(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	var ends []int64
	for range 3 {
		s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
		x := MustOpenTopic(t, s)
		id := x.Lineage().Current()
		if slices.Contains(ids, id) || id == "" {
			t.Errorf("incarnation %q again: %v", id, x.Lineage())
		}
		if again := MustOpenTopic(t, s).Lineage().Current(); again != id {
			t.Errorf("opened again: %s, was %s", again, id)
		}
		for i := range ids {
			if valid := MustValidEnd(t, x, ids[i]); valid != ends[i] {
				t.Errorf("incarnation %d kept up to %d, want %d", i, valid, ends[i])
			}
		}
		if _, known := topic.ValidEnds(x, "another", make([]int64, 3)); known {
			t.Error("an unknown incarnation is known")
		}
		conformance.MustAppend(t, x, numbered(10)...)
		_, end := conformance.MustBounds(t, x)
		ids, ends = append(ids, id), append(ends, slices.Max(end))
		MustClose(t, s)
	}
}

// TestLostTail: the last file of a stream is cut short, as a power cut leaves it. What is below the cut is what it was,
// however far the topic grows after that. The server's own summary may remember more than there is.
func TestLostTail(t *testing.T) {
	for _, summary := range []bool{true, false} {
		for _, packed := range []bool{true, false} {
			t.Run(fmt.Sprintf("summary=%v packed=%v", summary, packed), func(t *testing.T) { testLostTail(t, summary, packed) })
		}
	}
}

func testLostTail(t *testing.T, summary, packed bool) {
	dir := t.TempDir()
	open := func() (*jetstream.Server, *jetstream.Topic) {
		s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
		return s, MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Packed = packed })
	}
	s, x := open()
	id := x.Lineage().Current()
	for range 20 {
		conformance.MustAppend(t, x, numbered(9)...)
	}
	all := conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 180)
	MustClose(t, s)
	files := filepath.Join(dir, "jetstream", "$G", "streams", "sentences", "msgs")
	cutShort(t, filepath.Join(files, "1.blk"), 700)
	if !summary {
		if err := os.Remove(filepath.Join(files, "index.db")); err != nil {
			t.Fatal(err)
		}
	}
	s, x = open()
	valid := MustValidEnd(t, x, id)
	remaining := 0
	for remaining < len(all) && all[remaining].Position < valid {
		remaining++
	}
	if remaining == 180 || remaining < 150 {
		t.Fatalf("%d of 180 records lie below %d", remaining, valid)
	}
	for i, r := range conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), remaining) {
		if r.Position != all[i].Position || string(r.Data) != string(all[i].Data) {
			t.Fatalf("record %d is %d %q, was %d %q", i, r.Position, r.Data, all[i].Position, all[i].Data)
		}
	}
	conformance.MustAppend(t, x, numbered(90)...)
	MustClose(t, s)
	_, x = open()
	if again := MustValidEnd(t, x, id); again != valid {
		t.Errorf("when it has grown again: kept up to %d, was %d", again, valid)
	}
}

func cutShort(t *testing.T, path string, n int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-n)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAllLost: an empty stream has lost what retention cannot have dropped yet.
func TestAllLost(t *testing.T) {
	for _, old := range []bool{false, true} {
		dir := t.TempDir()
		open := func(now time.Time) (*jetstream.Server, *jetstream.Topic) {
			s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
			return s, MustOpenTopic(t, s, func(c *jetstream.TopicConfig) {
				c.MaxAge, c.Now = time.Hour, func() time.Time { return now }
			})
		}
		s, x := open(time.Now())
		id := x.Lineage().Current()
		conformance.MustAppend(t, x, numbered(9)...)
		MustClose(t, s)
		if err := os.Truncate(filepath.Join(dir, "jetstream", "$G", "streams", "sentences", "msgs", "1.blk"), 0); err != nil {
			t.Fatal(err)
		}
		now, want := time.Now(), int64(1)
		if old { // it looks the same, and is not
			now, want = now.Add(2*time.Hour), 10
		}
		_, x = open(now)
		if valid := MustValidEnd(t, x, id); valid != want {
			t.Errorf("old %v: kept up to %d, want %d", old, valid, want)
		}
	}
}
