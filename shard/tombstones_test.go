package shard

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// TestForgetTombstones: old tombstones go, soon after their time, and the walk over all of them is seldom made.
func TestForgetTombstones(t *testing.T) {
	d, start := NewTombstones(), time.Unix(1e9, 0)
	for i := range 3 {
		d.add([]feed.Tombstone{{Post: fmt.Sprint(i)}, {Author: fmt.Sprint(i)}}, start.Add(time.Duration(i)*expireInterval))
	}
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{0, 6}, {1, 6}, {expireInterval - 1, 6}, {expireInterval + time.Second, 2}, {2*expireInterval - 1, 2},
		{2*expireInterval + 2*time.Second, 0}} {
		if d.expire(start.Add(step.after)); d.Len() != step.left {
			t.Errorf("after %v: %d tombstones, want %d", step.after, d.Len(), step.left)
		}
	}
}

// TestTombstonesAreTold: a name is its source's, posts are not authors, and where one ends the other does not begin.
func TestTombstonesAreTold(t *testing.T) {
	d, at := NewTombstones(), time.Unix(1e9, 5)
	d.add([]feed.Tombstone{{Source: "ab", Post: "c"}, {Source: "s", Author: "ann"}}, at)
	has := func(source, post, author string, stamp int64) bool {
		x := item{stamp: stamp, batch: topic.Batch{Sentences: []feed.Sentence{{Post: "other"},
			{Source: source, Post: post, Author: author}}}}
		d.apply(&x)
		return x.deleted != nil && x.deleted[1] && !x.deleted[0]
	}
	for _, test := range []struct {
		source, post, author string
		after                int64
		want                 bool
	}{
		{"ab", "c", "", 1e9, true}, {"a", "bc", "", 0, false}, {"", "abc", "", 0, false}, {"s", "ann", "", 0, false},
		{"s", "p", "ann", 0, true}, {"s", "p", "ann", 1, false}, {"t", "p", "ann", 0, false}, {"", "", "", 0, false},
	} {
		if got := has(test.source, test.post, test.author, at.UnixNano()+test.after); got != test.want {
			t.Errorf("%+v: deleted %v", test, got)
		}
	}
	if !d.Has(feed.Tombstone{Source: "ab", Post: "c"}, at.Add(-time.Second)) ||
		d.Has(feed.Tombstone{Source: "ab", Post: "c"}, at.Add(time.Second)) {
		t.Error("a second deletion is not told from a first")
	}
}

// TestMarkedAgain: what waits for rows while a tombstone comes is deleted too.
func TestMarkedAgain(t *testing.T) {
	d := NewTombstones()
	x := item{batch: topic.Batch{Sentences: []feed.Sentence{{Post: "a"}, {Post: "b"}}}}
	for i, post := range []string{"x", "b", "a"} {
		d.add([]feed.Tombstone{{Post: post}}, time.Unix(1e9, 0))
		if d.apply(&x); fmt.Sprint(x.deleted) != []string{"[]", "[false true]", "[true true]"}[i] {
			t.Errorf("after %q: %v", post, x.deleted)
		}
	}
}

// TestTombstonesAreSmall: a million, of names as long as names may be, are within what they are counted as.
func TestTombstonesAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	const n = 1_000_000
	long := strings.Repeat("x", feed.MaxName-16)
	d, before := NewTombstones(), heap()
	for i := range n {
		d.add([]feed.Tombstone{{Source: "s", Post: fmt.Sprintf("%s%d", long, i)}}, time.Unix(1e9, 0))
	}
	if held := heap() - before; held > d.Bytes() || d.Bytes() != n*postTombstoneBytes || d.Len() != n {
		t.Errorf("%d bytes held by %d tombstones, %d counted", held, d.Len(), d.Bytes())
	}
	runtime.KeepAlive(d)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{0, 1, 1_000_000} {
		b.Run(fmt.Sprint(n, " tombstones"), func(b *testing.B) {
			d := NewTombstones()
			for i := range n {
				d.add([]feed.Tombstone{{Source: "x", Post: fmt.Sprint("gone", i)}}, time.Unix(1e9, 0))
			}
			x := item{batch: topic.Batch{Sentences: make([]feed.Sentence, 1000)}}
			for i := range x.batch.Sentences {
				x.batch.Sentences[i] = feed.Sentence{Source: "x", Post: fmt.Sprint("post", i), Author: fmt.Sprint("author", i)}
			}
			for b.Loop() {
				for i := range x.batch.Sentences { // so that each finds another place in the memory
					x.batch.Sentences[i].Index++
				}
				x.deletedVersion = -1
				d.apply(&x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x.batch.Sentences)), "ns/sentence")
		})
	}
}
