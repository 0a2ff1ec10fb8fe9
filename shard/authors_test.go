package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/text"
)

// authored is a feed of authors that are deleted and come back, and what events may still show of their posts.
type authored struct {
	*route
	*rand.Rand
	posts   []authoredPost
	pending []feed.Tombstone        // no worker has read them
	hidden  map[string]bool         // posts that no further event may show
	deleted map[string]bool         // posts that are deleted in the end
	gone    map[feed.Tombstone]bool // deleted posts, whenever they come
	seen    int                     // events
}

type authoredPost struct {
	id, author string
	text       int
}

// TestDeletedAuthors: once a tombstone has been read no event shows what it deletes, and every other match is
// reported, through restarts, whatever was posted since and inserted before.
func TestDeletedAuthors(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12 // each number of partitions, with each kind of rows
	}
	for seed := range seeds {
		a := &authored{route: newRouteOver(t, memoryOf(1+int(seed%3), seed%2 == 0)), Rand: rand.New(rand.NewPCG(seed, 3)),
			hidden: map[string]bool{}, deleted: map[string]bool{}, gone: map[feed.Tombstone]bool{}}
		cfg := a.config([]int{0, 1, 2}[:1+seed%3]...)
		if seed%4 > 0 {
			rows := detectorRows(t)
			cfg.Rows = func(int) (Rows, error) { return rows(text.DefaultThreshold, cfg.Span, cfg.Lateness) }
		}
		a.run(cfg)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func (a *authored) run(cfg Config) {
	w := a.mustOpen(cfg)
	for range 150 {
		a.now = a.now.Add(time.Duration(1+a.IntN(100)) * time.Microsecond)
		switch n := a.IntN(20); {
		case n < 10:
			a.postOne()
		case n < 12:
			a.deleteOne()
		case n < 13:
			w.Close()
			w = a.mustOpen(cfg)
			a.deletionsRead()
		default:
			a.step(w)
		}
	}
	a.now = a.now.Add(time.Minute)
	for range 3 {
		a.step(w)
	}
	a.judge()
}

func (a *authored) postOne() {
	p := authoredPost{fmt.Sprint("p", len(a.posts)), fmt.Sprint("a", a.IntN(3)), a.IntN(3)}
	post := feed.Post{ID: p.id, Author: p.author, Text: fmt.Sprintf("%s t%d", words, p.text),
		Time: feed.Time(1_690_000_000_000 + len(a.posts)), Timed: true}
	if err := a.split.Write(context.Background(), []feed.Post{post}, "s"); err != nil {
		a.tb.Fatal(err)
	}
	a.posts = append(a.posts, p)
	a.deleted[p.id] = a.gone[feed.Tombstone{Post: p.id}]
}

// deleteOne deletes an author, or a post, which may not have come yet.
func (a *authored) deleteOne() {
	d := feed.Tombstone{Author: fmt.Sprint("a", a.IntN(3))}
	if a.IntN(3) == 0 {
		d = feed.Tombstone{Post: fmt.Sprint("p", a.IntN(len(a.posts)+10))}
	}
	if err := a.split.Delete(context.Background(), []feed.Tombstone{d}); err != nil {
		a.tb.Fatal(err)
	}
	a.pending = append(a.pending, d)
	a.gone[d] = true
	for _, p := range a.posts {
		if p.id == d.Post || p.author == d.Author {
			a.deleted[p.id] = true
		}
	}
}

// deletionsRead: a worker has read the control topic. What was posted after a pending tombstone is not deleted, or is
// so by a later one that is pending too.
func (a *authored) deletionsRead() {
	if len(a.pending) > 0 {
		for id, is := range a.deleted {
			a.hidden[id] = a.hidden[id] || is
		}
		a.pending = nil
	}
	for d := range a.gone {
		if d.Post != "" {
			a.hidden[d.Post] = true
		}
	}
}

func (a *authored) step(w *Worker) {
	controlPosition := w.controlRead
	a.mustStep(w)
	if w.controlRead != controlPosition {
		a.deletionsRead()
	}
	out := a.out()
	for _, e := range out[a.seen:] {
		m, err := feed.DecodeEvent([]byte(e))
		if err != nil {
			continue // a retraction
		}
		for _, post := range []string{m.Later.Post, m.Earlier.Post, m.First.Post} {
			if a.hidden[post] {
				a.tb.Errorf("shows the deleted post %s: %s", post, e)
			}
		}
	}
	a.seen = len(out)
}

// judge wants an event of each post that repeats another, where neither is deleted.
func (a *authored) judge() {
	got := map[string]bool{}
	for _, e := range a.out() {
		if m, err := feed.DecodeEvent([]byte(e)); err == nil {
			got[m.Later.Post] = true
		}
	}
	posted := map[int]bool{}
	for _, p := range a.posts {
		if a.deleted[p.id] {
			continue
		}
		if posted[p.text] && !got[p.id] {
			a.tb.Errorf("post %s repeats another, and no event says so", p.id)
		}
		posted[p.text] = true
	}
}

func TestRetractedAuthor(t *testing.T) {
	r := newRoute(t, 1)
	if err := r.split.Delete(context.Background(), []feed.Tombstone{{Source: "x", Author: "ann"}}); err != nil {
		t.Fatal(err)
	}
	deleted := r.now
	w := r.mustOpen(r.config(0))
	r.mustStep(w)
	want := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","source":"test","id":"`
	rest := `","time":"2023-11-14T22:13:20Z","subject":"ann","partitionkey":"ann",` +
		`"datacontenttype":"application/json","data":{"source":"x","author":"ann"}}`
	if out := r.out(); len(out) != 1 || !strings.HasPrefix(out[0], want) || !strings.HasSuffix(out[0], rest) {
		t.Fatalf("got %s", out)
	}
	for at, want := range map[time.Duration]bool{-time.Hour: true, 0: true, feed.RetractionLag: true,
		feed.RetractionLag + 1: false} {
		if got := w.Deleted(feed.Name{Source: "x", Post: "p", Author: "ann"}, deleted.Add(at)); got != want {
			t.Errorf("an event made %v after: hidden %v, want %v", at, got, want)
		}
	}
	if w.Deleted(feed.Name{Post: "p", Author: "ann"}, deleted) || w.Deleted(feed.Name{Source: "x", Post: "p"}, deleted) {
		t.Error("others are deleted too")
	}
}
