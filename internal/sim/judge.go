package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/text"
)

// judge compares the events with the definition.
func (w *world) judge() *Result {
	sentences := w.sentences()
	allowed, want := w.define(sentences)
	got := w.events()
	r := &Result{Plan: w.plan.String(), Pairs: len(want), Crashes: w.crashes, Cuts: w.powerCuts}
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
// post, or on a sentence that the power has taken. A deleted post may or may not have been reported before it went.
func (w *world) define(sentences []feed.Sentence) (allowed, want map[feed.Hash]pair) {
	allowed, want = map[feed.Hash]pair{}, map[feed.Hash]pair{}
	span := feed.Time(w.plan.Span.Milliseconds())
	held := w.held()
	for i := range sentences {
		for j := range sentences {
			a, b := &sentences[i], &sentences[j]
			if !isMatch(a, b, threshold, span) {
				continue
			}
			id := feed.EventID("near", b.Source, b.Post, b.Index, b.Group, a.Group)
			allowed[id] = pair{a, b}
			if !w.isDeleted(a) && !w.isDeleted(b) && held(a) && held(b) {
				want[id] = pair{a, b}
			}
		}
	}
	return allowed, want
}

func (w *world) isDeleted(s *feed.Sentence) bool {
	return slices.Contains(w.deleted, feed.Tombstone{Source: s.Source, Post: s.Post})
}

// sentences are those of everything that was acknowledged, as it was stamped.
func (w *world) sentences() []feed.Sentence {
	var splitter text.Splitter
	var all []feed.Sentence
	for i := range w.accepted {
		all, _ = splitter.Sentences(all, &w.accepted[i], minTokens)
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
