package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

// judge compares the events with the definition.
func (w *world) judge() *Result {
	allowed, want := w.define()
	got := w.events()
	r := &Result{Plan: w.plan.String(), Pairs: len(want), Crashes: w.crashes, Cuts: w.powerCuts}
	for id := range want {
		if !got[id] {
			r.Missing = append(r.Missing, id)
		}
	}
	for id := range got {
		if _, ok := allowed[id]; !ok {
			r.Invented = append(r.Invented, id)
		}
	}
	for _, ids := range [][]feed.Hash{r.Missing, r.Invented} {
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

// define returns every event that the feed allows, and those that have to come. Both may or may not have been reported
// before they went: a deleted post, and a sentence whose record the power has taken, even where a redelivery of the same
// time is left. The same holds for one whose forerunner was dropped before a power cut. Without a usable time it is a
// redelivery to a worker that goes on from a state, and counts for one that looks everything up again; with one it may
// come when the window has gone on.
func (w *world) define() (allowed, want map[feed.Hash]pair) {
	remaining := w.counted(nil)
	required := slices.DeleteFunc(w.counted(w.past), func(s sentence) bool { return s.late || w.isDeleted(&s) })
	return w.pairs(append(remaining, w.beforeCut...)), w.pairs(required)
}

// pairs compares every two sentences.
func (w *world) pairs(sentences []sentence) map[feed.Hash]pair {
	pairs := map[feed.Hash]pair{}
	span := feed.Time(w.plan.Span.Milliseconds())
	for i := range sentences {
		for j := range sentences {
			a, b := &sentences[i].Sentence, &sentences[j].Sentence
			if isMatch(a, b, threshold, span) {
				pairs[feed.EventID("near", b.Source, b.Post, b.Index, b.Group, a.Group)] = pair{a, b}
			}
		}
	}
	return pairs
}

// isDeleted: a deleted post is, whenever it came; a deleted author's if its record is stamped no later than the tombstone.
func (w *world) isDeleted(s *sentence) bool {
	return slices.ContainsFunc(w.deleted, func(d deletion) bool {
		return d.Tombstone == feed.Tombstone{Source: s.Source, Post: s.Post} ||
			d.Tombstone == feed.Tombstone{Source: s.Source, Author: s.Author} && !s.stamp.After(d.by)
	})
}

// sentence is one of the sentence topic, and the stamp of its record.
type sentence struct {
	feed.Sentence
	stamp time.Time
	// late: it stood there before, of the same time, and comes again when that is further back than lateness. It need not
	// be found: the window may have gone on.
	late bool
}

// identity is a sentence of whatever time.
type identity struct {
	source, post string
	version      uint64
	index        int
	group        feed.Hash
}

// timedIdentity is a sentence and its time, 0 without a usable one.
type timedIdentity struct {
	identity
	time feed.Time
}

func timedIdentityOf(s *feed.Sentence) timedIdentity {
	p := timedIdentity{identity: identity{s.Source, s.Post, s.Version, s.Index, s.Group}}
	if !s.Untimed && !s.TimeAdjusted {
		p.time = s.Time
	}
	return p
}

// counted are the sentences written that count. In a partition, in the order of positions, one is a redelivery that
// stands up to Redelivery after another of the same identity without a usable time; if it has one itself, after one with a
// date in the future. Time is the greatest append stamp so
// far, in twelfths of Redelivery. What stood there before counts too, and is left out.
func (w *world) counted(before []topic.Record) (counted []sentence) {
	slot := w.plan.Redelivery.Nanoseconds() / 12
	stamps := make([]int64, w.plan.Partitions)
	last := map[identity]int64{}      // without a usable time
	dated := map[identity]int64{}     // of them, those with one in the future
	timed := map[timedIdentity]bool{} // that count
	stood := map[timedIdentity]bool{} // with the time that they were given, too
	for i, r := range slices.Concat(before, w.written()) {
		stamps[r.Partition] = max(stamps[r.Partition], r.Time.UnixNano())
		now := stamps[r.Partition] / slot
		for _, s := range sentencesOf(r) {
			at := timedIdentityOf(&s)
			stamped := timedIdentity{at.identity, s.Time}
			seenAt, redelivered := last[at.identity]
			if at.time != 0 {
				seenAt, redelivered = dated[at.identity]
			}
			if redelivered = redelivered && seenAt >= now-12; !redelivered && !timed[at] {
				timed[at] = at.time != 0
				if i >= len(before) {
					counted = append(counted, sentence{s, r.Time, stood[stamped] && r.Time.Sub(s.Time.Time()) > w.plan.Lateness})
				}
			}
			stood[stamped] = true
			if at.time == 0 {
				last[at.identity] = now
			}
			if s.TimeAdjusted {
				dated[at.identity] = now
			}
		}
	}
	return counted
}

func sentencesOf(r topic.Record) []feed.Sentence {
	b, err := topic.DecodeBatch(r.Data)
	if err != nil {
		panic(err)
	}
	return b.Sentences
}

// isWritten reports what was acknowledged and is not in the sentence topic as it was stamped. A power cut may take that.
func (w *world) isWritten() error {
	if w.powerCuts > 0 {
		return nil
	}
	written := map[timedIdentity]bool{}
	for _, r := range w.written() {
		for _, s := range sentencesOf(r) {
			written[timedIdentityOf(&s)] = true
		}
	}
	var splitter text.Splitter
	for i := range w.accepted {
		sentences, _ := splitter.Sentences(nil, &w.accepted[i], minTokens)
		for _, s := range sentences {
			if !written[timedIdentityOf(&s)] {
				return fmt.Errorf("%s/%s[%d] at %s was acknowledged and not written", s.Source, s.Post, s.Index, s.Time)
			}
		}
	}
	return nil
}

// written are the records of the sentence topic, those too that it has dropped since the last power cut.
func (w *world) written() []topic.Record {
	return append(slices.Clone(w.dropped), records(w.sentenceTopic)...)
}

// records are all that a topic holds, each partition's in order.
func records(t *topic.Memory) (all []topic.Record) {
	start, _, err := t.Bounds(context.Background())
	if err != nil {
		panic(err)
	}
	r, err := t.OpenMemory(context.Background(), start)
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
