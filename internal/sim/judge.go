package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"refrain/feed"
	"refrain/text"
)

// judge compares the events with the definition.
func (w *world) judge() *Result {
	allowed, want := w.define(w.sentences())
	got := w.events()
	r := &Result{Plan: w.plan.String(), Pairs: len(want), Crashes: w.crashes}
	for id := range want {
		if !got[id] {
			r.Lost = append(r.Lost, id)
		}
	}
	for id := range got {
		if _, ok := allowed[id]; !ok {
			r.Made = append(r.Made, id)
		}
	}
	for _, ids := range [][]feed.Hash{r.Lost, r.Made} {
		slices.SortFunc(ids, func(a, b feed.Hash) int { return bytes.Compare(a[:], b[:]) })
	}
	r.Explain = func(id feed.Hash) string {
		p, ok := allowed[id]
		if !ok {
			return id.String()
		}
		return fmt.Sprintf("%s: %s %s/%s[%d] repeats %s %s/%s[%d]", id, p.b.Time, p.b.Source, p.b.Post, p.b.Index,
			p.a.Time, p.a.Source, p.a.Post, p.a.Index)
	}
	return r
}

type pair struct{ a, b *feed.Sentence }

// define returns every event of the feed by comparing every two sentences, and those that do not lean on a deleted
// post. A deleted post may or may not have been reported before it went.
func (w *world) define(sentences []sentence) (allowed, want map[feed.Hash]pair) {
	allowed, want = map[feed.Hash]pair{}, map[feed.Hash]pair{}
	span := feed.Time(w.plan.Span.Milliseconds())
	for i := range sentences {
		for j := range sentences {
			a, b := &sentences[i], &sentences[j]
			if !isMatch(&a.Sentence, &b.Sentence, threshold, span) {
				continue
			}
			id := feed.EventID("near", b.Source, b.Post, b.Index, b.Group, a.Group)
			allowed[id] = pair{&a.Sentence, &b.Sentence}
			if !w.isDeleted(a) && !w.isDeleted(b) {
				want[id] = pair{&a.Sentence, &b.Sentence}
			}
		}
	}
	return allowed, want
}

// isDeleted: a deleted post is, whenever it came; a deleted author's unless nobody had tried to write it before.
func (w *world) isDeleted(s *sentence) bool {
	return slices.ContainsFunc(w.deleted, func(d deletion) bool {
		return d.Tombstone == feed.Tombstone{Source: s.Source, Post: s.Post} ||
			d.Tombstone == feed.Tombstone{Source: s.Source, Author: s.Author} && !s.tried.After(d.by)
	})
}

// sentence is one of an accepted post.
type sentence struct {
	feed.Sentence
	tried time.Time
}

// sentences are those of everything that was acknowledged, as it was stamped.
func (w *world) sentences() (all []sentence) {
	var splitter text.Splitter
	var some []feed.Sentence
	for i := range w.accepted {
		p := &w.accepted[i]
		some, _ = splitter.Sentences(some[:0], &p.Post, minTokens)
		for _, s := range some {
			all = append(all, sentence{s, p.tried})
		}
	}
	return all
}

// events are the ids in the event topic, retractions apart.
func (w *world) events() map[feed.Hash]bool {
	ids := map[feed.Hash]bool{}
	r, err := w.eventTopic.OpenMemory(context.Background(), make([]int64, w.eventTopic.Partitions()))
	if err != nil {
		panic(err)
	}
	for {
		records, err := r.TryFetch(1000)
		if err != nil {
			panic(err)
		}
		if len(records) == 0 {
			return ids
		}
		for i := range records {
			if id, ok := reuseID(records[i].Data); ok {
				ids[id] = true
			}
		}
	}
}

// reuseID is feed.DecodeEvent without the rest of the event.
func reuseID(event []byte) (feed.Hash, bool) {
	const key = `"id":"`
	at := bytes.Index(event, []byte(key))
	if at < 0 || !bytes.Contains(event, []byte(`"`+feed.ReuseType+`"`)) {
		return feed.Hash{}, false
	}
	id, err := feed.ParseHash(string(event[at+len(key) : at+len(key)+32]))
	return id, err == nil
}
