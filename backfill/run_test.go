package backfill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/feed"
)

// drawPosts draws posts with many ties.
func drawPosts(t *rapid.T) []feed.Post {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) feed.Post {
		return feed.Post{
			Time: feed.Time(rapid.IntRange(-3, 30).Draw(t, "time")), Source: rapid.SampledFrom([]string{"", "b", "ab"}).Draw(t, "source"),
			ID: rapid.StringN(1, 3, 8).Draw(t, "id"), Text: rapid.StringN(0, 5, 2000).Draw(t, "text"), Author: "a", Lang: "en",
			Timed: rapid.Bool().Draw(t, "timed"), Adjusted: rapid.Bool().Draw(t, "adjusted"), Meta: `{"a":1}`, Link: "https://example.org/",
		}
	}), 0, 60).Draw(t, "posts")
}

// TestRuns: what sorters of any size write, in any number of runs, or keep in memory, and mergers read again, is the posts of a
// stretch of time in the order of the feed, with all that they had.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		posts := drawPosts(rt)
		from := feed.Time(rapid.IntRange(-5, 32).Draw(rt, "from"))
		to := from + feed.Time(rapid.IntRange(0, 35).Draw(rt, "length"))
		runs := mustRuns(t, posts, rapid.IntRange(1, 5).Draw(rt, "runs"))
		if rapid.Bool().Draw(rt, "in memory") {
			runs = inMemory(posts, len(runs))
		}
		defer func() { _ = closeRuns(runs) }()
		m, err := mergePosts(runs, from, to)
		if err != nil {
			rt.Fatal(err)
		}
		var got []feed.Post
		for {
			p, raw, ok, err := m.next()
			if err != nil {
				rt.Fatal(err)
			}
			if !ok {
				break
			}
			if raw != "raw "+p.ID {
				rt.Errorf("post %q came in as %q", p.ID, raw)
			}
			got = append(got, p)
		}
		want := slices.DeleteFunc(slices.Clone(posts), func(p feed.Post) bool { return p.Time < from || p.Time >= to })
		slices.SortFunc(want, func(a, b feed.Post) int {
			return compareRecords(a.Time, appendBody(nil, &a, nil), b.Time, appendBody(nil, &b, nil))
		})
		key := func(p feed.Post) feed.Key { return feed.Key{Time: p.Time, Source: p.Source, Post: p.ID} }
		if !slices.IsSortedFunc(want, func(a, b feed.Post) int { return key(a).Compare(key(b)) }) {
			rt.Error("records are not in the order of the feed")
		}
		if !slices.Equal(got, want) {
			rt.Errorf("got %d posts, want %d:\n%v\n%v", len(got), len(want), got, want)
		}
	})
}

// deal deals posts to so many sorters.
func deal(posts []feed.Post, n int) (sorters []*sorter) {
	for i := range n {
		s := newSorter(1 << 20)
		for j := range posts {
			if j%n == i {
				s.add(&posts[j], []byte("raw "+posts[j].ID))
			}
		}
		sorters = append(sorters, s)
	}
	return sorters
}

func inMemory(posts []feed.Post, n int) (all []sorted) {
	for _, s := range deal(posts, n) {
		s.sort()
		all = append(all, s)
	}
	return all
}

// mustRuns writes posts to so many runs, and opens them.
func mustRuns(t testing.TB, posts []feed.Post, n int) (runs []sorted) {
	t.Helper()
	for i, s := range deal(posts, n) {
		var b bytes.Buffer
		w := newRunWriter(&b)
		if err := errors.Join(s.writeTo(w), w.close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.run", i))
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := openRun(path)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

// TestManyBlocks: a stretch is found in a run of many blocks, also where thousands of posts have one time.
func TestManyBlocks(t *testing.T) {
	var posts []feed.Post
	for i := range 20_000 {
		posts = append(posts, feed.Post{ID: fmt.Sprintf("%06d", i), Time: feed.Time(i / 7000), Text: "some words to make it longer"})
	}
	runs := mustRuns(t, posts, 1)
	defer func() { _ = closeRuns(runs) }()
	if blocks := runs[0].(*run).blocks; len(blocks) < 20 {
		t.Fatalf("%d blocks: nothing is tried", len(blocks))
	}
	for at, want := range []int{7000, 7000, 6000, 0} {
		m, err := mergePosts(runs, feed.Time(at), feed.Time(at+1))
		n := 0
		for ; err == nil; n++ {
			var ok bool
			var p feed.Post
			if p, _, ok, err = m.next(); !ok {
				break
			}
			if p.ID != posts[7000*at+n].ID {
				t.Fatalf("post %d at %d is %s, want %s", n, at, p.ID, posts[7000*at+n].ID)
			}
		}
		if err != nil || n != want {
			t.Errorf("%d posts at %d, want %d: %v", n, at, want, err)
		}
	}
}

// TestOurs: of n parts each slice is one's, and a part has all posts of its slices and of their run-ins.
func TestOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Default()
		c.Parts = rapid.IntRange(1, 5).Draw(t, "parts")
		c.Slice, c.Window.Span = 7*time.Second, time.Millisecond*time.Duration(rapid.IntRange(1, 40_000).Draw(t, "span"))
		at := feed.Time(rapid.IntRange(-50_000, 50_000).Draw(t, "time"))
		owners, wanted := 0, 0
		for c.Part = 1; c.Part <= c.Parts; c.Part++ {
			needed := false
			for s := c.sliceOf(at) - 1; s <= c.sliceOf(at)+10; s++ {
				needed = needed || c.isOurs(s) && at >= c.start(s)-c.span() && at < c.start(s+1)
			}
			if c.needs(at) != needed {
				t.Errorf("part %d of %d wants a post at %d: %t", c.Part, c.Parts, at, !needed)
			}
			if c.isOurs(c.sliceOf(at)) {
				owners++
			}
			if needed {
				wanted++
			}
		}
		if owners != 1 || wanted < 1 {
			t.Errorf("%d owners, wanted by %d", owners, wanted)
		}
	})
}

// TestLockIsRemoved: the lock of a folder keeps others out also where whoever has it removes its file, as the last one does, while
// others wait for it.
func TestLockIsRemoved(t *testing.T) {
	d := directory{out: t.TempDir()}
	d.part = filepath.Join(d.work(), "part-1-of-1")
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				unlock, err := d.lockFolder()
				if err != nil {
					t.Error(err)
					return
				}
				inside.Add(1)
				for range 20 {
					runtime.Gosched() // lets others try
				}
				if inside.Load() > 1 {
					t.Error("two have the lock")
				}
				inside.Add(-1)
				if err := d.removeEmpty(); err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	wg.Wait()
}
