package shard

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Fair shares. One post may cost a microsecond or a minute of look-ups, and what it costs is known when it is done. So that
// nobody's posts wait for another's, each sender (topic.Record.Origin) has a share of the time of every turn:
//
//   - As long as it lasts, records are passed in the order of the topic: each sentence is inserted and looked up.
//   - A sender who has used his up while others are there is late: what follows of him is still inserted in its order,
//     but looked up later, a share in every turn.
//   - Where he is alone the turn ends, and the next goes on where it stopped: perhaps somebody has come.
//
// No pair is lost by it: of any two sentences the one appended later is looked up in rows that hold the one appended
// earlier, since insertions keep their order, and a look-up that comes later meets more rows and not fewer. For that the
// window's clock, too, waits: LookupFrom and Watermarks move on only when everything before is looked up, and so does what
// is stored.
// What is late is looked up by EachMatch, since what it meets may have met it already; such an event comes twice.
//
// A sentence is not interrupted, so an honest post waits for a share of each sender that is late, and one look-up of theirs.

// maxWaiting bounds the bytes of the records that are held or late, but for what one turn receives; with more, nothing is
// received until they are fewer.
const maxWaiting = 16 << 20

// shares are those of a turn.
type shares struct {
	now       func() time.Time
	each      time.Duration // of a sender, in one partition
	contested bool          // there are several senders
}

// undone is a record of which look-ups are not done, or that waits for one before it.
type undone struct {
	*item
	done int  // sentences looked up
	late bool // there are more
}

// undoneBytes is about what one takes without its sentences.
const undoneBytes = 256

// late is what the look-ups of a partition have passed and not done.
type late struct {
	line    []*undone // everything from the first on that is late, in the order of the topic
	senders []sender  // who came first before who came later
	bytes   int
}

// sender is one who has late records, oldest first.
type sender struct {
	origin  string
	records []*undone
}

// beginShares begins a turn.
func (w *Worker) beginShares() *shares {
	s := &shares{now: w.cfg.Now, each: w.cfg.Share / time.Duration(len(w.owned))}
	origins := map[string]bool{}
	for _, x := range w.held {
		origins[x.origin] = true
	}
	for _, q := range w.owned {
		for _, o := range q.late.senders {
			origins[o.origin] = true
		}
	}
	s.contested = len(origins) > 1
	for _, q := range w.owned {
		q.beginShares(s)
	}
	return s
}

// beginShares takes a share off what everybody has used: a look-up that took as long as ten of them is nine more to wait for.
func (q *partition) beginShares(s *shares) {
	maps.DeleteFunc(q.used, func(_ string, used time.Duration) bool { return !s.contested || s.each == 0 || used < 2*s.each })
	for origin := range q.used {
		q.used[origin] -= s.each
	}
}

// passSome passes the first records that are not passed yet, until the time of one who is alone is used up.
func (q *partition) passSome(items []*item, s *shares) {
	q.timed = s.now()
	for _, x := range items {
		if x.position >= q.taken && !q.pass(x, s) {
			return
		}
	}
}

// pass is the turn of a record where all partitions share one order: each sentence is inserted if it is q's own,
// and looked up among what came before it. What that reports has been reported of no row before, or is not durable yet
// and will be found again: the rows are replayed to where the last durable look-up stood. It is false where it stops in
// the middle.
func (q *partition) pass(x *item, s *shares) bool {
	own := x.partition == q.id && x.position >= q.insert
	look := x.position >= q.state.LookupFrom[x.partition]
	r := &undone{item: x, done: q.part}
	for i := q.part; i < len(x.posts()); i++ {
		if look && !r.late && q.hasUsedUp(x.origin, s) {
			if !s.contested {
				q.part = i
				return false
			}
			r.late = true
		}
		if own {
			q.insertSentence(x, i)
		}
		if look && !r.late {
			q.lookUpTimed(r, q.rows.EachNewMatch, s)
		}
	}
	if own {
		q.inserted(x)
	}
	q.taken, q.part, q.insert = x.position+1, 0, max(q.insert, x.position+1)
	if look {
		q.notePassed(r)
	}
	return true
}

// hasUsedUp reports whether a sender has to wait: one who is late does, and everybody has a sentence a turn.
func (q *partition) hasUsedUp(origin string, s *shares) bool {
	return q.late.of(origin) >= 0 || q.shareIsOver(origin, s)
}

func (q *partition) shareIsOver(origin string, s *shares) bool {
	used, any := q.used[origin]
	return any && used >= s.each
}

// lookUpTimed looks the next sentence of a record up. The time since the look-up before it counts as its own: what is
// between them is short, and so the clock is read once.
func (q *partition) lookUpTimed(r *undone, look lookupFunc, s *shares) {
	q.lookupSentence(r.item, r.done, look)
	r.done++
	now := s.now()
	q.used[r.origin] += now.Sub(q.timed)
	q.timed = now
}

// notePassed notes a record that was passed. Everything before it has been looked up only where nobody is late.
func (q *partition) notePassed(r *undone) {
	q.lookupCanary(r.item)
	if !r.late && len(q.late.line) == 0 {
		q.reach(r.item)
		return
	}
	q.late.line = append(q.late.line, r)
	q.late.bytes += undoneBytes
	if r.late {
		q.late.add(r)
	} else {
		r.item = r.withoutPosts()
	}
}

// withoutPosts is what the clocks want of a record.
func (x *item) withoutPosts() *item {
	o := *x
	o.batch.Sentences = nil
	return &o
}

// reach notes that everything up to x has been looked up: of all partitions, for there is nothing else below.
func (q *partition) reach(x *item) {
	q.lookedUp(x)
	for p := range q.state.LookupFrom {
		q.state.LookupFrom[p] = max(q.state.LookupFrom[p], x.position+1)
	}
}

// lookUpLate gives the senders that are late their shares.
func (w *Worker) lookUpLate(ctx context.Context, s *shares) error {
	if !slices.ContainsFunc(w.owned, func(q *partition) bool { return len(q.late.senders) > 0 }) {
		return nil
	}
	for _, q := range w.owned {
		for _, r := range q.late.line {
			w.deleted.known.apply(r.item)
		}
	}
	w.each(func(q *partition) {
		q.rows.Expect(nil)
		q.timed = s.now()
		for _, o := range q.late.senders {
			q.lookUpSome(o.records, s)
		}
		q.settleLate()
	})
	w.moved = true
	return w.flush(ctx)
}

// lookUpSome looks up what a sender's share is enough for.
func (q *partition) lookUpSome(records []*undone, s *shares) {
	for _, r := range records {
		for r.late {
			if q.shareIsOver(r.origin, s) {
				return
			}
			q.lookUpTimed(r, q.rows.EachMatch, s)
			r.late = r.done < len(r.posts())
		}
	}
}

// settleLate lets go what is done.
func (q *partition) settleLate() {
	l := &q.late
	for i := range l.senders {
		l.drop(&l.senders[i])
	}
	l.senders = slices.DeleteFunc(l.senders, func(o sender) bool { return len(o.records) == 0 })
	n := 0
	for ; n < len(l.line) && !l.line[n].late; n++ {
		q.reach(l.line[n].item)
	}
	l.line = slices.Delete(l.line, 0, n)
	l.bytes -= n * undoneBytes
}

// drop lets go the records of a sender that are done. They stay in line for their watermarks.
func (l *late) drop(o *sender) {
	n := 0
	for ; n < len(o.records) && !o.records[n].late; n++ {
		l.bytes -= o.records[n].size
		o.records[n].item = o.records[n].withoutPosts()
	}
	o.records = slices.Delete(o.records, 0, n)
}

// add makes a record the last of its sender's.
func (l *late) add(r *undone) {
	l.bytes += r.size
	i := l.of(r.origin)
	if i < 0 {
		i, l.senders = len(l.senders), append(l.senders, sender{origin: r.origin})
	}
	l.senders[i].records = append(l.senders[i].records, r)
}

// of is the index of a sender, -1 where he is not late.
func (l *late) of(origin string) int {
	return slices.IndexFunc(l.senders, func(o sender) bool { return o.origin == origin })
}

// waits reports whether something is received and not looked up, and whether it is so much that nothing more is received.
func (w *Worker) waits() (any, full bool) {
	bytes := 0
	for _, x := range w.held {
		bytes += x.size
	}
	for _, q := range w.owned {
		any = any || len(q.late.line) > 0
		bytes += q.late.bytes
	}
	return any || len(w.held) > 0, bytes > maxWaiting
}

// lateSince is, by sender that is late, the stamp of the oldest record of his.
func (w *Worker) lateSince() map[string]int64 {
	since := map[string]int64{}
	for _, q := range w.owned {
		for _, o := range q.late.senders {
			stamp, known := since[o.origin]
			if first := o.records[0].stamp; !known || first < stamp {
				since[o.origin] = first
			}
		}
	}
	return since
}

// oldest is the oldest stamp that waits; false when nothing does.
func (w *Worker) oldest() (stamp int64, waits bool) {
	stamp, waits = w.queue.oldest()
	add := func(x *item) {
		if !waits || x.stamp < stamp {
			stamp, waits = x.stamp, true
		}
	}
	if len(w.held) > 0 {
		add(w.held[0])
	}
	for _, q := range w.owned {
		if len(q.late.line) > 0 {
			add(q.late.line[0].item)
		}
	}
	return stamp, waits
}
