package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

const minTokens = 4

var threshold = text.Threshold{Num: 4, Den: 5}

// world is one simulation.
type world struct {
	*rand.Rand
	subject  Subject
	plan     plan
	now      time.Time
	draining bool // no more faults: everything that was accepted comes to its end
	depth    int  // of turns within turns

	sentenceTopic, eventTopic, controlTopic *topic.Memory
	store                                   *topic.MemoryStore
	puts                                    []put // into the store, all of them
	powerCuts                               int
	gone                                    []topic.Record // of the sentence topic, dropped since the last power cut
	past                                    []topic.Record // dropped before it
	taken                                   []sentence     // what there was before a power cut

	feeder  feeder
	sources []*source
	writers []*writer
	done    time.Time // when everything was last through

	slots   []*slot
	zombies []*slot
	process *any // of all slots
	crashes int

	accepted []feed.Post
	deleted  []deletion
	failure  error
}

// writer is the place of a Writer, and which of the sources are its own.
type writer struct {
	Writer
	expects bool      // what it is to expect it has been told
	ticked  time.Time // when it last was
}

// deletion is a tombstone, and a time that it was stamped no later than.
type deletion struct {
	feed.Tombstone
	by time.Time
}

// slot is the place of a worker: some partitions, and who serves them now.
type slot struct {
	owned  []int
	worker Worker // nil: dead
	agent  *agent
	busy   bool
	lazy   float64 // how likely its turn passes
	turns  int     // left to live, for a zombie
}

func newWorld(subject Subject, r *rand.Rand) *world {
	w := &world{Rand: r, subject: subject, plan: drawPlan(r), now: time.Unix(1_700_000_000, 0)}
	w.done = w.now
	n := w.plan.Partitions
	w.sentenceTopic = w.newTopic(n, w.plan.Ordered)
	w.eventTopic = w.newTopic(1+r.IntN(3), false)
	w.controlTopic = w.newTopic(1, false)
	w.store = &topic.MemoryStore{}
	w.feeder = feeder{Rand: r, newest: feed.FromTime(w.now)}
	if !w.plan.Live { // an old feed: dates are years behind the wall clock
		w.feeder.newest = w.feeder.newest.Add(-10_000 * time.Hour)
	}
	for range w.plan.Writers {
		w.writers = append(w.writers, &writer{})
	}
	for i := range w.plan.Sources {
		w.sources = append(w.sources, &source{name: fmt.Sprintf("s%d", i), writer: w.writers[i%len(w.writers)], dropped: true})
	}
	return w
}

func (w *world) newTopic(partitions int, ordered bool) *topic.Memory {
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Ordered, cfg.Now = partitions, ordered, func() time.Time { return w.now }
	return topic.NewMemory(cfg)
}

func (w *world) run() error {
	for _, writer := range w.writers {
		w.start(writer)
	}
	w.assign()
	for range w.plan.Turns {
		for _, writer := range w.writers {
			w.expected(writer)
		}
		w.turn()
		if w.plan.PowerCuts && w.IntN(30) == 0 {
			w.powerCut()
		}
		if w.failure != nil {
			return w.failure
		}
	}
	if err := w.drain(); err != nil {
		return err
	}
	return w.isWritten()
}

// turn lets something happen.
func (w *world) turn() {
	switch n := w.IntN(40); {
	case n < 4 && w.plan.Live:
		w.redeliver(w.sources[w.IntN(len(w.sources))])
	case n < 12:
		w.write(w.sources[w.IntN(len(w.sources))])
	case n < 30:
		w.work(w.slots[w.IntN(len(w.slots))])
	case n < 33:
		w.tick()
	case n < 36:
		w.pass()
	case n < 37:
		w.handOver()
	case n < 38 && w.depth == 0:
		w.start(w.writers[w.IntN(len(w.writers))])
	case n < 39:
		w.redeliver(w.sources[w.IntN(len(w.sources))])
	default:
		w.purge()
	}
	if w.plan.Deletions && w.IntN(12) == 0 {
		w.delete()
	}
	if len(w.zombies) > 0 {
		w.haunt()
	}
}

// interleave lets something else happen in the middle of a call.
func (w *world) interleave() {
	if w.draining || w.depth >= 2 || w.Float64() >= w.plan.Interleave {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.goBy(time.Duration(w.IntN(500)) * time.Millisecond)
	for range 1 + w.IntN(3) {
		w.turn()
	}
}

// tick lets the writers write marks. Meanwhile no batch of a source can go out: the writer would make it wait.
func (w *world) tick() {
	var free []*source
	for _, s := range w.sources {
		if !s.busy {
			s.busy = true
			free = append(free, s)
		}
	}
	for _, writer := range w.writers {
		w.rest(writer)
		if w.failure != nil {
			return
		}
		writer.Tick(context.Background(), w.now)
	}
	for _, s := range free {
		s.busy = false
	}
}

// rest counts the time without posts as the writer is to: a source that has none for 30 s may be idle.
func (w *world) rest(of *writer) {
	gap := min(w.now.Sub(of.ticked), 5*time.Second)
	of.ticked = w.now
	for _, s := range w.sources {
		if s.writer != of {
			continue
		}
		if s.pending != nil { // its posts are on their way
			s.quiet = 0
			of.Touch(s.name)
			continue
		}
		s.quiet += gap
		s.dropped = s.dropped || s.quiet >= 30*time.Second
	}
}

// pass lets time go by: now and then more than a source may be silent. Either all goes on meanwhile but the posts, or
// nothing does, for minutes.
func (w *world) pass() {
	n := w.IntN(6)
	if w.plan.Apart && w.IntN(3) == 0 {
		n = 1
	}
	switch n {
	case 0:
		for range 8 + w.IntN(16) {
			w.goBy(time.Duration(1+w.IntN(5)) * time.Second)
			w.tick()
		}
	case 1:
		w.standStill(time.Duration(w.IntN(600)) * time.Second)
	default:
		w.goBy(time.Duration(w.IntN(4000)) * time.Millisecond)
	}
}

// standStill lets time go by without anything happening. In the present it may last long, and the topic then drops
// what is older than it keeps.
func (w *world) standStill(d time.Duration) {
	if w.plan.Live && w.depth == 0 && (w.plan.Apart || w.IntN(2) == 0) && w.ready() {
		d = time.Duration(30+w.IntN(25)) * time.Minute
		defer w.drop()
	}
	w.goBy(d)
}

// ready brings everything through, and one source into the present: retention asks that much of a service, or the
// topic drops what is still needed.
func (w *world) ready() bool {
	w.draining, w.zombies = true, nil
	defer func() { w.draining = false }()
	if w.deliverAll(); !w.present(w.sources[0]) {
		return false
	}
	w.goBy(time.Second) // a mark is due
	w.tick()
	if w.finish() != nil || w.failure != nil {
		return false
	}
	w.done = w.now
	return true
}

// present lets a source have posts of now.
func (w *world) present(s *source) bool {
	now := feed.FromTime(w.now)
	if !w.expected(s.writer) || now > w.limit(s) {
		return false
	}
	d := &delivery{least: now}
	for range 3 {
		p := w.feeder.post(s)
		p.Time, p.Timed = now, true
		d.posts = append(d.posts, p)
	}
	w.feeder.newest, s.level, s.pending = max(w.feeder.newest, now), max(s.level, now), d
	w.deliver(s)
	return s.pending == nil
}

// drop is retention: records go by their age.
func (w *world) drop() {
	if w.now.Sub(w.done) > slack-2*time.Minute { // posts may be a minute ahead
		return
	}
	keep := w.plan.Span + w.plan.Lateness + w.plan.MaxHold
	if w.subject.Keep != nil {
		keep = w.subject.Keep(w.plan.Span, w.plan.Lateness, w.plan.MaxHold)
	}
	w.dropping(func() { w.sentenceTopic.Expire(w.now.Add(-keep - slack)) })
	w.handOver() // rows come from the topic again
}

// goBy keeps the present where it makes no post on its way too late.
func (w *world) goBy(d time.Duration) {
	if w.plan.Live && w.now.Add(d).After(w.limit(nil).Time()) {
		return
	}
	w.now = w.now.Add(d)
}

// limit is the newest time that a post of s may have without making one that is on its way too late: no clock may
// get more than lateness ahead of it.
func (w *world) limit(s *source) feed.Time {
	limit := feed.Time(1 << 50)
	for _, o := range w.sources {
		if o != s && o.pending != nil && (!o.pending.again || o.pending.anew) {
			limit = min(limit, o.pending.least.Add(w.plan.Lateness+w.ahead(o)))
		}
	}
	return limit
}

// ahead is how far the others may get ahead of a source.
func (w *world) ahead(of *source) time.Duration {
	if !w.plan.Apart || of.dropped {
		return 0
	}
	return w.plan.MaxHold
}

// write hands on the next batch of s, or once more the last one, if that failed.
func (w *world) write(s *source) {
	if s.busy {
		return
	}
	if s.silent > 0 {
		s.silent--
		return
	}
	if w.IntN(30) == 0 {
		s.silent = 20
	}
	if !w.expected(s.writer) {
		return
	}
	if s.pending == nil {
		if w.plan.Apart && w.depth == 0 && w.IntN(20) == 0 && !w.move(s) {
			return
		}
		s.pending = w.feeder.batch(w, s, w.limit(s))
	}
	if s.pending != nil {
		w.deliver(s)
	}
}

func (w *world) deliver(s *source) {
	s.busy = true
	defer func() { s.busy = false }()
	d := s.pending
	s.quiet = 0 // it has posts, whatever becomes of them
	if s.writer.Write(context.Background(), d.posts, s.name) != nil {
		if w.IntN(2) == 0 && w.feeder.sendAnew(w, s, d) {
			d.anew = d.again
		}
		return
	}
	s.pending = nil
	if d.again {
		return
	}
	s.dropped = false
	w.accepted = append(w.accepted, d.posts...)
	if !d.future {
		s.acked = append(s.acked, d)
	}
}

// redeliver hands on once more what was acknowledged long ago.
func (w *world) redeliver(s *source) {
	if s.busy || s.pending != nil || len(s.acked) == 0 || !w.expected(s.writer) {
		return
	}
	d := *s.acked[w.IntN(len(s.acked))]
	if w.IntN(2) == 0 {
		d = *s.acked[len(s.acked)-1]
	}
	d.posts, d.again = slices.Clone(d.posts), true
	if w.IntN(4) > 0 && w.feeder.sendAnew(w, s, &d) {
		d.anew, d.least = true, feed.FromTime(w.now)
	}
	s.pending = &d
	w.deliver(s)
}

// comeBack lets sources post, and workers read that, right after a deletion.
func (w *world) comeBack() {
	for range w.IntN(8) {
		w.goBy(time.Millisecond)
		w.write(w.sources[w.IntN(len(w.sources))])
		w.work(w.slots[w.IntN(len(w.slots))])
	}
}

func (w *world) delete() {
	if len(w.accepted) == 0 {
		return
	}
	p := w.accepted[w.IntN(len(w.accepted))]
	t := feed.Tombstone{Source: p.Source, Post: p.ID}
	if w.IntN(2) == 0 {
		t = feed.Tombstone{Source: p.Source, Author: p.Author}
	}
	err := w.writers[0].Delete(context.Background(), []feed.Tombstone{t})
	w.deleted = append(w.deleted, deletion{t, w.now}) // even if the writing failed half-way
	w.comeBack()
	if err != nil && !errors.Is(err, errInjected) {
		w.failure = err
	}
}

// purge drops what no worker needs any more, as the service does: some may have stored an older state again.
func (w *world) purge() {
	before := slices.Repeat([]int64{1 << 60}, w.plan.Partitions)
	for _, s := range w.slots {
		if s.worker == nil {
			return // what it needs is not known
		}
		for p, n := range s.worker.Needed() {
			before[p] = min(before[p], n)
		}
	}
	if w.plan.Ordered { // one stream, cut at one place
		before = slices.Repeat([]int64{slices.Min(before)}, len(before))
	}
	w.dropping(func() {
		if err := w.sentenceTopic.Purge(context.Background(), before); err != nil {
			w.failure = err
		}
	})
}

// dropping remembers what f makes the sentence topic drop: its events have to have come all the same.
func (w *world) dropping(f func()) {
	all := records(w.sentenceTopic)
	f()
	start, _, err := w.sentenceTopic.Bounds(context.Background())
	if err != nil {
		w.failure = err
		return
	}
	for _, r := range all {
		if r.Position < start[r.Partition] {
			w.gone = append(w.gone, r)
		}
	}
}

// start ends the life of a writer, clocks and all; batches on their way are delivered to the next one.
func (w *world) start(of *writer) {
	next, err := w.subject.Writer(w.env(&agent{world: w}, nil))
	if err != nil {
		w.failure = err
		return
	}
	of.Writer, of.expects, of.ticked = next, !w.plan.Apart, w.now
}

// expected tells a writer which sources it has, before it gets any post of them.
func (w *world) expected(of *writer) bool {
	if of.expects || w.depth > 0 { // in the middle of a mark it would have to wait for that
		return of.expects
	}
	var names []string
	for _, s := range w.sources {
		if s.writer == of {
			names = append(names, s.name)
		}
	}
	of.expects = of.Expect(context.Background(), names) == nil
	return of.expects
}

// move gives a source to another writer, which hears of it before it gets a post.
func (w *world) move(s *source) bool {
	to := w.writers[w.IntN(len(w.writers))]
	switch {
	case to == s.writer:
		return true
	case !w.expected(to):
		return false
	}
	s.busy = true
	defer func() { s.busy = false }()
	if to.Expect(context.Background(), []string{s.name}) != nil {
		return false
	}
	s.writer = to
	return true
}

// assign deals the partitions out to new workers.
func (w *world) assign() {
	w.slots, w.process = nil, new(any)
	for range w.plan.Workers {
		w.slots = append(w.slots, &slot{lazy: 0.8 * w.Float64()})
	}
	for q := range w.plan.Partitions {
		s := w.slots[w.IntN(len(w.slots))]
		s.owned = append(s.owned, q)
	}
	w.slots = slices.DeleteFunc(w.slots, func(s *slot) bool { return len(s.owned) == 0 })
}

// handOver gives the partitions to new workers, while the old ones go on for a while, not knowing.
func (w *world) handOver() {
	for _, s := range w.slots {
		s.turns = w.IntN(6)
		if s.worker != nil {
			w.zombies = append(w.zombies, s)
		}
	}
	w.assign()
}

func (w *world) haunt() {
	s := w.zombies[w.IntN(len(w.zombies))]
	s.turns--
	if s.turns < 0 {
		w.zombies = slices.DeleteFunc(w.zombies, func(z *slot) bool { return z == s })
		return
	}
	if s.worker != nil {
		w.work(s)
	}
}

// work lets a worker take a turn, or brings one up.
func (w *world) work(s *slot) {
	if s.busy || !w.draining && w.Float64() < s.lazy {
		return
	}
	s.busy = true
	defer func() {
		s.busy = false
		r := recover()
		if r == nil {
			return
		}
		if d, died := r.(death); !died || d.of != s.agent {
			panic(r) // not one of ours
		}
		s.worker = nil
		w.crashes++
	}()
	if s.worker == nil {
		w.open(s)
	}
	if s.worker == nil {
		return
	}
	s.agent.left = w.life()
	if err := s.worker.Step(context.Background()); err != nil && !errors.Is(err, errInjected) {
		w.failure = err
	}
}

func (w *world) open(s *slot) {
	s.agent = &agent{world: w, left: w.life()}
	worker, err := w.subject.Worker(w.env(s.agent, s.owned))
	if err == nil {
		s.worker = worker
	} else if !errors.Is(err, errInjected) {
		w.failure = err
	}
}

// life is how many calls an agent may make in this turn before it dies.
func (w *world) life() int {
	if w.draining || w.Float64() >= w.plan.Crash {
		return 0
	}
	return 1 + w.IntN(30)
}

// drain brings what was accepted to its end, without faults.
func (w *world) drain() error {
	w.draining, w.zombies = true, nil
	w.deliverAll()
	return w.finish()
}

// deliverAll delivers what is pending.
func (w *world) deliverAll() {
	for _, s := range w.sources {
		if s.pending != nil && w.expected(s.writer) {
			w.deliver(s)
		}
	}
}

// finish lets the workers take turns until they are through.
func (w *world) finish() error {
	_, ends, err := w.sentenceTopic.Bounds(context.Background())
	if err != nil {
		return err
	}
	for range 10_000 {
		if w.failure != nil || w.through(ends) {
			return w.failure
		}
		for _, s := range w.slots {
			w.work(s)
		}
	}
	return errors.New("the workers do not come to the end")
}

func (w *world) through(ends []int64) bool {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range w.slots {
		if s.worker == nil || s.worker.WaitFor(ended, ends) != nil {
			return false
		}
	}
	return true
}
