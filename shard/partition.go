package shard

import (
	"sync"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// item is a record of the sentence topic on its way through a worker.
type item struct {
	partition int
	position  int64
	stamp     int64 // nanoseconds since 1970
	trace     string
	size      int
	batch     topic.Batch

	// ends are the ends of all partitions as reported after the item was received; nil until then.
	ends []int64
	// redelivered marks the sentences that are redeliveries for everybody: see Redeliveries; nil when none is.
	redelivered []bool
	// repeats marks the sentences that were redeliveries at their insertion; nil when none was, or it is not known.
	repeats []bool
}

// partition is an owned partition q with its rows.
type partition struct {
	id     int
	rows   Rows
	insert int64 // I: the first position of q that has not been inserted
	state  State
	stamp  int64 // the newest stamp among the inserted records
	window []held
	young  young
	counts counts
	found  []found
	// mostFound is how many events found may hold.
	mostFound int
	// counted is where counting begins: what lies before was counted before the last restart.
	counted int64
	passed  string // the source partition that W passed last because of MaxHold
	scratch []feed.Match
	ahead   []*feed.Sentence // scratch
	spill   func()           // makes found durable before the turn ends, when it has grown long

	mu sync.Mutex // held while the rows are in use
}

// held is a record of q with sentences in the window.
type held struct {
	position int64
	newest   feed.Time
}

// found is an event and the trace of the record it came from.
type found struct {
	match feed.Match
	trace string
}

// insertItem inserts a record of q; deleted says which posts are deleted.
func (q *partition) insertItem(x *item, deleted *deletions) {
	if x.position < q.insert {
		return
	}
	for i := range x.batch.Sentences {
		q.insertSentence(x, i, deleted)
	}
	q.inserted(x)
}

func (q *partition) insertSentence(x *item, i int, deleted *deletions) {
	s := &x.batch.Sentences[i]
	var result *int64
	switch {
	case deleted.has(s, x.stamp):
		result = &q.counts.deleted
	case x.redelivered != nil && x.redelivered[i]:
		result = &q.counts.repeats
	case q.rows.Insert(s):
		if deleted.control != nil {
			q.young.add(s, x.stamp)
		}
		result = &q.counts.inserted
	default:
		result = &q.counts.repeats
		if x.repeats == nil {
			x.repeats = make([]bool, len(x.batch.Sentences))
		}
		x.repeats[i] = true
	}
	if x.position >= q.counted {
		*result++
	}
}

// inserted moves I past a record.
func (q *partition) inserted(x *item) {
	q.insert = x.position + 1
	q.stamp = max(q.stamp, x.stamp)
	q.young.trim()
	if x.position >= q.counted {
		q.counts.short += int64(x.batch.TooShort)
	}
	if len(x.batch.Sentences) == 0 {
		return
	}
	h := held{x.position, x.batch.Sentences[0].Time}
	for i := range x.batch.Sentences {
		h.newest = max(h.newest, x.batch.Sentences[i].Time)
	}
	q.window = append(q.window, h)
}

// expect tells the rows what will be looked up next, so that they can search for several at once.
func (q *partition) expect(items []*item) {
	q.ahead = q.ahead[:0]
	for _, x := range items {
		if x.position < q.state.Look[x.partition] {
			continue
		}
		for i := range x.batch.Sentences {
			q.ahead = append(q.ahead, &x.batch.Sentences[i])
		}
	}
	q.rows.Expect(q.ahead)
}

// lookUpItem looks a record up in q's rows, unless that has been done.
func (q *partition) lookUpItem(x *item, deleted *deletions) {
	if x.position < q.state.Look[x.partition] {
		return
	}
	for i := range x.batch.Sentences {
		q.lookUpSentence(x, i, deleted, q.rows.Lookup)
	}
	q.lookedUp(x)
}

// lookUp is one of the two of Rows.
type lookUp = func(dst []feed.Match, x *feed.Sentence) []feed.Match

// lookUpSentence leaves out what everybody knows for a redelivery, and that of what q holds: it was looked up, or will
// be, where it stood first.
func (q *partition) lookUpSentence(x *item, i int, deleted *deletions, look lookUp) {
	s := &x.batch.Sentences[i]
	if deleted.has(s, x.stamp) || x.redelivered != nil && x.redelivered[i] || x.partition == q.id && x.repeats != nil && x.repeats[i] {
		return
	}
	q.scratch = look(q.scratch[:0], s)
	q.counts.lookups++
	q.counts.events += int64(len(q.scratch))
	if len(q.scratch) > 0 && q.scratch[0].Truncated {
		q.counts.truncated++
	}
	for _, m := range q.scratch {
		q.found = append(q.found, found{m, x.trace})
	}
	if len(q.found) >= q.mostFound {
		q.spill()
	}
}

func (q *partition) lookedUp(x *item) {
	q.state.Look[x.partition] = x.position + 1
	q.state.Marks.observe(x.partition, x.stamp, x.batch.Mark)
}

// pass is the turn of a record where all partitions share one order: each sentence is inserted if it is q's own,
// and looked up among what came before it. What that reports has been reported of no row before, or is not durable yet
// and will be found again: the rows are replayed to where the last durable look-up stood. Then every partition has been looked up to here, for there is nothing
// else below.
func (q *partition) pass(x *item, deleted *deletions) {
	own := x.partition == q.id && x.position >= q.insert
	look := x.position >= q.state.Look[x.partition]
	for i := range x.batch.Sentences {
		if own {
			q.insertSentence(x, i, deleted)
		}
		if look {
			q.lookUpSentence(x, i, deleted, q.rows.LookupNew)
		}
	}
	if own {
		q.inserted(x)
	}
	if !look {
		return
	}
	q.lookedUp(x)
	for p := range q.state.Look {
		q.state.Look[p] = max(q.state.Look[p], x.position+1)
	}
	q.insert = max(q.insert, x.position+1)
}

// holds reports whether q's rows hold everything that was appended before x.
func (q *partition) holds(x *item, delta time.Duration) bool {
	return q.insert >= x.ends[q.id] || q.stamp > x.stamp+delta.Nanoseconds()
}

// settle moves the window's clock and lets go what it leaves behind.
func (q *partition) settle(cfg *Config) {
	moved, passed := q.state.Marks.rise(cfg.Silence, cfg.MaxHold)
	if moved {
		q.rows.Advance(q.state.Marks.clock)
	}
	if passed != "" {
		q.counts.passed++
		q.passed = passed
	}
	q.trim(cfg.Span + cfg.Lateness)
	q.rows.PurgeSome(purgeRows)
}

// purgeRows is how many rows a turn looks through for what deleted authors have said: about 2 ms.
const purgeRows = 8192

// delete takes what a tombstone says out of the rows.
func (q *partition) delete(d *deletion) {
	if d.Author == "" {
		q.rows.Delete(d.Source, d.Post)
		return
	}
	q.rows.DeleteAuthor(d.Source, d.Author, q.young.since(d))
}

// trim moves replayFrom to the first record that may hold a sentence of the window.
func (q *partition) trim(reach time.Duration) {
	if clock, known := q.state.Marks.Clock(); known {
		horizon := clock.Add(-reach)
		n := 0
		for n < len(q.window) && q.window[n].newest < horizon {
			n++
		}
		q.window = q.window[n:]
	}
	q.state.ReplayFrom = q.insert
	if len(q.window) > 0 {
		q.state.ReplayFrom = q.window[0].position
	}
}

// skip goes on behind records of partition p that the topic no longer has.
func (q *partition) skip(p int, start int64) {
	q.state.Look[p] = max(q.state.Look[p], start)
	if p == q.id {
		q.insert = max(q.insert, start)
	}
}
