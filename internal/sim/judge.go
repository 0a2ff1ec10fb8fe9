package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/text"
	"refrain/topic"
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

// sentences are those of everything that was acknowledged: those with a usable time as they were stamped, the others as
// the sentence topic has them, or had them before the power took them.
func (w *world) sentences() []feed.Sentence {
	all, _ := w.written()
	all = append(all, w.taken...)
	for i := range w.accepted {
		if p := &w.accepted[i]; isTimed(p) {
			all = w.split(all, p)
		}
	}
	return all
}

func isTimed(p *feed.Post) bool { return p.Timed && !p.Adjusted }

func (w *world) split(dst []feed.Sentence, p *feed.Post) []feed.Sentence {
	var splitter text.Splitter
	dst, _ = splitter.Sentences(dst, p, minTokens)
	return dst
}

// identity is a sentence of whatever time.
type identity struct {
	source, post string
	version      uint64
	index        int
	group        feed.Hash
}

func identityOf(s *feed.Sentence) identity {
	return identity{s.Source, s.Post, s.Version, s.Index, s.Group}
}

// isWritten reports what was acknowledged and is not in the sentence topic.
func (w *world) isWritten() error {
	if w.powerCuts > 0 {
		return nil
	}
	_, seen := w.written()
	for i := range w.accepted {
		p := &w.accepted[i]
		if isTimed(p) {
			continue
		}
		for _, s := range w.split(nil, p) {
			if _, ok := seen[identityOf(&s)]; !ok {
				return fmt.Errorf("%s/%s[%d] was acknowledged and not written", s.Source, s.Post, s.Index)
			}
		}
	}
	return nil
}

// written are the sentences without a usable time that count, and where each stands last. In a partition, in the order
// of positions, one that stands up to Redelivery after another of the same identity is a redelivery, and does not.
// Time is the greatest append stamp so far, in twelfths of Redelivery.
func (w *world) written() (counted []feed.Sentence, last map[identity]int64) {
	slot := w.plan.Redelivery.Nanoseconds() / 12
	stamps := make([]int64, w.plan.Partitions)
	last = map[identity]int64{}
	for _, r := range records(w.sentenceTopic) {
		stamps[r.Partition] = max(stamps[r.Partition], r.Time.UnixNano())
		now := stamps[r.Partition] / slot
		b, err := topic.DecodeBatch(r.Data)
		if err != nil {
			panic(err)
		}
		for _, s := range b.Sentences {
			if !s.Untimed && !s.TimeAdjusted {
				continue
			}
			before, again := last[identityOf(&s)]
			last[identityOf(&s)] = now
			if !again || before < now-12 {
				counted = append(counted, s)
			}
		}
	}
	return counted, last
}

// records are all that a topic holds, each partition's in order.
func records(t *topic.Memory) (all []topic.Record) {
	r, err := t.OpenMemory(context.Background(), make([]int64, t.Partitions()))
	if err != nil {
		panic(err)
	}
	for {
		some, err := r.TryFetch(1000)
		if err != nil {
			panic(err)
		}
		if len(some) == 0 {
			return all
		}
		all = append(all, some...)
	}
}

// events are the ids in the event topic, retractions apart.
func (w *world) events() map[feed.Hash]bool {
	ids := map[feed.Hash]bool{}
	for _, r := range records(w.eventTopic) {
		if id, ok := reuseID(r.Data); ok {
			ids[id] = true
		}
	}
	return ids
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
