package shard

import (
	"sync/atomic"
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
	origin    string
	size      int // bytes that it takes, about
	batch     topic.Batch

	// ends are the ends of all partitions as reported after the item was received; nil until then.
	ends []int64
	// redelivered marks the sentences that are redeliveries for everybody: see Redeliveries; nil when none is.
	redelivered []bool
	// deleted marks the sentences that are deleted by what was known at a version of the tombstones; nil when none is.
	deleted        []bool
	deletedVersion int64
	took           atomic.Int64 // nanoseconds of its look-ups: see Spent
	events         atomic.Int64 // that they found, large ones as several
	// ownRedelivered marks the sentences that were redeliveries at their insertion; nil when none was, or it is not known.
	ownRedelivered []bool
}

// posts are the sentences of posts: a canary has none.
func (x *item) posts() []feed.Sentence {
	if x.batch.Canary != nil {
		return nil
	}
	return x.batch.Sentences
}

// partition is an owned partition q with its rows.
type partition struct {
	id     int
	epoch  int64 // see takeOver
	rows   Rows
	insert int64 // I: the first position of q that has not been inserted
	state  State
	stamp  int64 // the newest stamp among the inserted records
	window []windowRecord
	// stretch is how far apart in time records are told apart in window.
	stretch time.Duration
	young   young
	// deletes says that there is a control topic.
	deletes bool
	counts  counts
	found   found
	recent  *recent // nil where partitions share one order
	under   underWay
	report  func(*feed.Match) // add
	// counted is where counting begins: what lies before was counted before the last restart.
	counted int64
	purged  time.Time
	passed  string                                  // the source partition that W passed last because of MaxHold
	ahead   []*feed.Sentence                        // scratch
	caused  func(origin, source string, events int) // nil: nobody asks
	canary  canaryWindow
	now     func() time.Time

	deletedTo int64 // the first position of the control topic that the rows have not been told of
	snapshots snapshotting

	lock lock // held while the rows are in use
	gone bool // guarded by lock: nobody may use the rows any more
}

// windowRecord is a record of q with sentences in the window, or several.
type windowRecord struct {
	position int64     // of the first
	newest   feed.Time // of all
}

// maxStretches is about how many windowRecords there are, however many records: they are not in the window's budget. A replay
// begins so much too early.
const maxStretches = 4096

// appendRecord notes a record with sentences. It goes with those before it, unless it is of a later stretch of time: then these
// leave the window first.
func (q *partition) appendRecord(position int64, newest feed.Time) {
	if n := len(q.window); n > 0 && q.stretchOf(newest) <= q.stretchOf(q.window[n-1].newest) {
		q.window[n-1].newest = max(q.window[n-1].newest, newest)
		return
	}
	q.window = append(q.window, windowRecord{position, newest})
}

func (q *partition) stretchOf(t feed.Time) int64 { return int64(t) / max(1, q.stretch.Milliseconds()) }

// insertItem inserts a record of q.
func (q *partition) insertItem(x *item) {
	if x.position < q.insert {
		return
	}
	for i := range x.posts() {
		q.insertSentence(x, i)
	}
	q.inserted(x)
}

func (q *partition) insertSentence(x *item, i int) {
	s := &x.batch.Sentences[i]
	var result *int64
	switch {
	case x.deleted != nil && x.deleted[i]:
		result = &q.counts.deleted
	case x.redelivered != nil && x.redelivered[i]:
		result = &q.counts.redelivered
	case q.rows.Insert(s):
		if q.deletes {
			q.young.add(s, x.stamp)
		}
		q.snapshots.inserted++
		result = &q.counts.inserted
	default:
		result = &q.counts.redelivered
		if x.ownRedelivered == nil {
			x.ownRedelivered = make([]bool, len(x.batch.Sentences))
		}
		x.ownRedelivered[i] = true
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
	if len(x.posts()) == 0 {
		return
	}
	newest := x.batch.Sentences[0].Time
	for i := range x.batch.Sentences {
		newest = max(newest, x.batch.Sentences[i].Time)
	}
	q.appendRecord(x.position, newest)
}

// expect tells the rows what will be looked up next, so that they can search for several at once.
func (q *partition) expect(items []*item) {
	q.ahead = q.ahead[:0]
	for _, x := range items {
		if x.position < q.state.LookupFrom[x.partition] {
			continue
		}
		for i := range x.batch.Sentences {
			q.ahead = append(q.ahead, &x.batch.Sentences[i])
		}
	}
	q.rows.Expect(q.ahead)
}

// lookupItem looks a record up in q's rows, unless that has been done.
func (q *partition) lookupItem(x *item) {
	if x.position < q.state.LookupFrom[x.partition] {
		return
	}
	for i := range x.posts() {
		q.lookupSentence(x, i, q.rows.EachMatch)
	}
	q.lookedUp(x)
}

// eventUnit is how many bytes of an event count as one more: names and texts of 6 KB make one of 66 KB.
const eventUnit = 4 << 10

// lookupFunc is one of the two of Rows.
type lookupFunc = func(x *feed.Sentence, found func(*feed.Match))

// lookupSentence leaves out what everybody knows for a redelivery, and that of what q holds: it was looked up, or will
// be, where it stood first.
func (q *partition) lookupSentence(x *item, i int, lookup lookupFunc) {
	s := &x.batch.Sentences[i]
	if x.deleted != nil && x.deleted[i] || x.redelivered != nil && x.redelivered[i] ||
		x.partition == q.id && x.ownRedelivered != nil && x.ownRedelivered[i] {
		return
	}
	q.counts.lookups++
	q.under = underWay{item: x}
	lookup(s, q.report)
	x.events.Add(int64(q.under.caused))
	if q.caused != nil && q.under.caused > 0 {
		q.caused(x.origin, s.Source, q.under.caused)
	}
	if q.under.truncated {
		q.counts.truncated++
	}
}

// underWay is the look-up of one sentence. It lies in its partition, since what a function made for each sentence used
// would lie on the heap: two allocations a sentence, which was a fifth of all that a service made.
type underWay struct {
	item      *item
	caused    int // events, large ones as several
	truncated bool
}

// add takes in what the look-up under way finds.
func (q *partition) add(m *feed.Match) {
	u := &q.under
	u.truncated = m.Truncated
	if q.recent != nil && !q.recent.add(m.ID) {
		return
	}
	q.counts.events++
	u.caused += 1 + q.found.add(m, u.item.trace, u.item.stamp)/eventUnit
}

func (q *partition) lookedUp(x *item) {
	q.state.LookupFrom[x.partition] = x.position + 1
	if x.batch.Canary != nil { // nothing was said by it: not even that time has gone by
		q.lookupCanary(x)
		return
	}
	q.state.Watermarks.observe(x.partition, x.stamp, x.batch.Watermark)
}

// pass is the turn of a record where all partitions share one order: each sentence is inserted if it is q's own, and
// looked up among what came before it. What an earlier look-up has reported is left out: it is durable, or will be found
// again after a restart, since the rows are replayed to where the last durable look-up stood. Then every partition has
// been looked up to here, for there is nothing else below.
func (q *partition) pass(x *item) {
	own := x.partition == q.id && x.position >= q.insert
	pending := x.position >= q.state.LookupFrom[x.partition]
	for i := range x.posts() {
		if own {
			q.insertSentence(x, i)
		}
		if pending {
			q.lookupSentence(x, i, q.rows.EachNewMatch)
		}
	}
	if own {
		q.inserted(x)
	}
	if !pending {
		return
	}
	q.lookedUp(x)
	for p := range q.state.LookupFrom {
		q.state.LookupFrom[p] = max(q.state.LookupFrom[p], x.position+1)
	}
	q.insert = max(q.insert, x.position+1)
}

// holds reports whether q's rows hold everything that was appended before x.
func (q *partition) holds(x *item, delta time.Duration) bool {
	return q.insert >= x.ends[q.id] || q.stamp > x.stamp+delta.Nanoseconds()
}

// advance moves the window's clock and lets go what it leaves behind.
func (q *partition) advance(cfg *Config) {
	moved, passed := q.state.Watermarks.advance(cfg.Silence, cfg.MaxHold)
	if moved {
		q.rows.Advance(q.state.Watermarks.clock)
	}
	if passed != "" {
		q.counts.passed++
		q.passed = passed
	}
	q.trim(cfg.Span + cfg.Lateness)
	q.purge(cfg.Now())
}

// A feed with deletions has a few at any time, and so a walk over the rows for what was deleted that never ends: it
// is given a few hundredths of a core.
const (
	maxPurgeRows  = 8192   // in one turn: about 2 ms
	minPurgeRows  = 64     // in one turn, as far as there are any
	purgeRowsRate = 80_000 // a second
)

// purge goes on with the removal of what was deleted, the further the longer the last turn was ago.
func (q *partition) purge(now time.Time) {
	since := now.Sub(q.purged)
	q.purged = now
	q.rows.PurgeSome(int(min(maxPurgeRows, max(minPurgeRows, purgeRowsRate*since.Seconds()))))
}

// trim moves replayFrom to the first record that may hold a sentence of the window.
func (q *partition) trim(reach time.Duration) {
	if clock, known := q.state.Watermarks.Clock(); known {
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
	q.state.LookupFrom[p] = max(q.state.LookupFrom[p], start)
	if p == q.id {
		q.insert = max(q.insert, start)
	}
}
