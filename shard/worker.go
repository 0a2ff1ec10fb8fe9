package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"refrain/internal/retry"
	"refrain/topic"
)

// Worker looks every sentence up in the rows of the partitions it owns. Step and Run belong to one goroutine; EachMatch,
// WaitFor and Locked may be called by others meanwhile. What a worker owns changes between turns alone: see absorb and
// release.
type Worker struct {
	cfg     Config
	tracer  trace.Tracer
	metrics *metrics

	turning lock                         // held by a turn, and by who changes what is owned
	serving atomic.Pointer[[]*partition] // owned, for others
	opening replayed                     // how far it is with what there was when it was opened

	owned []*partition
	home  []*partition // by partition; nil where not owned
	// redeliveries are those of the configuration, or of this worker's own.
	redeliveries *observer
	deleted      *deletions
	deletedTo    atomic.Int64 // see knowsDeletions
	controlRead  time.Time    // when the control topic was last read
	controlAsked atomic.Bool  // somebody waits for what it says: it is read in the next turn

	reader  topic.Reader   // nil: to be opened
	reading []bool         // the partitions it reads
	next    []int64        // per partition, the first position not received
	pending []topic.Record // fetched from the reader, and not received yet
	bound   turnBound
	queue   queue // records whose rows are not there yet; unused in an ordered topic

	outbox      outbox
	spilling    sync.Mutex // guards the outbox while partitions are served side by side
	spillFailed error      // in this turn
	moved       bool       // since the last commit
	committed   time.Time
	olderTurn   int64                   // when older states were last stored, in units of Config.OlderInterval
	olderNeeds  [maxOlderStates][]int64 // by slot, what the states kept there need; nil: there is none
	topics      [3]string               // the incarnations of the sentence, event and control topic
	progress    progress
	stored      sync.Mutex     // guards the two
	needed      []int64        // see Needed
	replaysFrom map[int]int64  // see ReplaysFrom
	passing     rate.Sometimes // says that max_hold lets a source partition go
	warned      bool           // of another version of the normalisation
	behind      atomic.Int64   // nanoseconds since 1970, of the last turn that began so
	health      health
	opened      int64         // nanoseconds since 1970
	done        []*item       // looked up, and not reported: see report
	reported    []int64       // per partition, the first position that was in done at no time
	appending   time.Duration // how long events took to become durable meanwhile
}

// Open makes a worker that goes on from what is stored of its partitions. It reads the control topic to its end,
// and no sentence yet: the rows come back as the worker takes its turns.
func Open(ctx context.Context, cfg Config) (*Worker, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open worker: %w", err)
	}
	m, err := newMetrics()
	if err != nil {
		return nil, fmt.Errorf("open worker: %w", err)
	}
	n := cfg.Sentences.Partitions()
	cfg.Tombstones = cmp.Or(cfg.Tombstones, NewTombstones())
	if cfg.Redeliveries, err = cfg.redeliveries(n); err != nil {
		return nil, fmt.Errorf("open worker: %w", err)
	}
	w := &Worker{
		cfg: cfg, tracer: otel.Tracer("refrain/shard"), metrics: m,
		home: make([]*partition, n), next: make([]int64, n), reading: make([]bool, n),
		bound: minTurnSentences, queue: newQueue(n), deleted: &deletions{control: cfg.Control, known: cfg.Tombstones},
		progress: newProgress(n, cfg.progressed), opened: cfg.Now().UnixNano(), turning: newLock(),
		reported: make([]int64, n),
		passing:  rate.Sometimes{Interval: time.Minute},
	}
	w.deleted.corrupt = w.skipControl
	w.outbox = outbox{topic: cfg.Events, deployment: cfg.Deployment, now: cfg.Now, dead: cfg.DeadLetters,
		logger: cfg.Logger, metrics: m}
	w.topics[0], w.topics[1] = cfg.Sentences.Lineage().Current(), cfg.Events.Lineage().Current()
	if cfg.Control != nil {
		w.topics[2] = cfg.Control.Lineage().Current()
	}
	if err := w.restore(ctx); err != nil {
		return nil, fmt.Errorf("open worker: %w", err)
	}
	m.appear(ctx, w.owned)
	if err := w.readDeletions(ctx); err != nil {
		w.redeliveries.leave()
		return nil, fmt.Errorf("open worker: %w", err)
	}
	w.advanceRows()
	return w, nil
}

// Step takes one turn: it reads some records, looks up what can be looked up, makes the events durable and stores
// how far it has got. After an error the next Step goes on where this one stopped. When ctx ends Step stops
// waiting for records, but finishes what it has in hand.
func (w *Worker) Step(ctx context.Context) error {
	w.turning.Lock()
	defer w.turning.Unlock()
	if len(w.owned) == 0 {
		return nil
	}
	err := w.turn(ctx)
	w.noteTrouble(err)
	return err
}

func (w *Worker) turn(ctx context.Context) error {
	work := context.WithoutCancel(ctx)
	w.spillFailed = nil
	for _, q := range w.owned {
		q.found.spill = func() { w.spill(ctx, &q.found) }
	}
	if err := w.flush(work); err != nil { // left by a turn that failed
		return err
	}
	if err := w.readDeletions(work); err != nil {
		return err
	}
	items, err := w.receive(ctx)
	if err != nil {
		return err
	}
	w.begins(items)
	if w.lag(items) > usualWait {
		w.behind.Store(w.cfg.Now().UnixNano())
	}
	begin := w.cfg.Now()
	defer func() { w.bound.fit(sentencesOf(items), w.cfg.Now().Sub(begin)) }()
	work, span := w.startSpan(work, items)
	defer span.End()
	if err := w.process(work, items); err != nil {
		span.RecordError(err)
		return err
	}
	if err := w.flush(work); err != nil {
		return err
	}
	w.each(func(q *partition) { q.advance(&w.cfg) })
	w.ends()
	w.opening.note(w.next)
	w.metrics.turn(work, w)
	w.publishView()
	if err := w.commit(work, w.cfg.Commit); err != nil {
		return err
	}
	w.snapshot()
	return nil
}

// A record of a quiet feed waits for two or three milliseconds; a worker that has received older ones is behind, and
// stays so for a while, since a busy feed has pauses.
const (
	usualWait = 5 * time.Millisecond
	behindFor = 200 * time.Millisecond
)

// Behind reports whether records wait longer than they do when all goes as it should. Any goroutine may ask.
func (w *Worker) Behind() bool {
	return w.cfg.Now().Sub(time.Unix(0, w.behind.Load())) < behindFor
}

func (w *Worker) process(ctx context.Context, items []*item) error {
	if w.cfg.Sentences.Ordered() {
		return w.processOrdered(ctx, items)
	}
	return w.processUnordered(ctx, items)
}

// turnSentences bounds what is looked up between two appends of events.
const turnSentences = 4096

// processOrdered passes records in the order that all partitions share.
func (w *Worker) processOrdered(ctx context.Context, items []*item) error {
	w.applyTombstones(items)
	for len(items) > 0 {
		n, sentences := 0, 0
		for n < len(items) && (n == 0 || sentences < turnSentences) {
			sentences += len(items[n].batch.Sentences)
			n++
		}
		w.each(func(q *partition) {
			q.expect(items[:n])
			for _, x := range items[:n] {
				q.timed(x, q.pass)
			}
		})
		w.looked(items[:n])
		w.moved = true
		if err := w.flush(ctx); err != nil {
			// What was looked up stays so; the rest is read again.
			w.unread(items[n:])
			return err
		}
		items = items[n:]
	}
	return nil
}

// applyTombstones asks once a sentence what all the partitions want to know.
func (w *Worker) applyTombstones(items []*item) {
	for _, x := range items {
		w.deleted.known.apply(x)
	}
}

// processUnordered inserts first, then asks for the ends, then looks up what waits for no more rows.
func (w *Worker) processUnordered(ctx context.Context, items []*item) error {
	w.applyTombstones(items)
	for _, waiting := range w.queue.parts {
		w.applyTombstones(waiting)
	}
	for _, x := range items {
		if q := w.home[x.partition]; q != nil {
			q.lock.Lock()
			q.insertItem(x)
			q.lock.Unlock()
		}
		w.queue.push(x, w.lookedUpTo(x.partition))
		w.moved = true
	}
	if err := w.fetchEnds(ctx); err != nil {
		return err
	}
	for w.lookupQueue() {
		w.moved = true
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fetchEnds asks how far the partitions reach, for the records that came since it asked last.
func (w *Worker) fetchEnds(ctx context.Context) error {
	if len(w.queue.fresh) == 0 {
		return nil
	}
	_, ends, err := w.cfg.Sentences.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("get the ends of the sentence topic: %w", err)
	}
	w.queue.setEnds(ends)
	return nil
}

// lookupQueue looks up what it can, within bounds; false when there was nothing.
func (w *Worker) lookupQueue() bool {
	var mu sync.Mutex
	any := false
	w.each(func(q *partition) {
		n := 0
		for p := range w.queue.parts {
			n += w.lookupPartition(q, p, turnSentences-n)
		}
		mu.Lock()
		defer mu.Unlock()
		any = any || n > 0
	})
	for p := range w.queue.parts {
		w.looked(w.queue.drop(p, w.lookedUpTo(p)))
	}
	return any
}

// lookupPartition looks the first records of p up in q's rows, those that the rows are ready for; limit bounds the
// sentences. It returns a measure of what it did, zero for nothing.
func (w *Worker) lookupPartition(q *partition, p, limit int) int {
	ready, n := w.ready(q, p, limit)
	q.expect(ready)
	for _, x := range ready {
		q.timed(x, q.lookupItem)
	}
	return n
}

// ready are the first records of p that q's rows are ready for, and a measure of them.
func (w *Worker) ready(q *partition, p, limit int) (items []*item, n int) {
	for _, x := range w.queue.parts[p] {
		if x.position < q.state.LookupFrom[p] {
			continue
		}
		if n >= limit || !q.holds(x, w.cfg.Delta) {
			break
		}
		items = append(items, x)
		n += 1 + len(x.batch.Sentences)
	}
	return items, n
}

// lookedUpTo is the position of p up to which all owned partitions have looked it up.
func (w *Worker) lookedUpTo(p int) int64 {
	return w.lowest(func(q *partition) int64 { return q.state.LookupFrom[p] })
}

// lowest is the lowest position of all owned partitions.
func (w *Worker) lowest(position func(*partition) int64) int64 {
	lowest := position(w.owned[0])
	for _, q := range w.owned[1:] {
		lowest = min(lowest, position(q))
	}
	return lowest
}

// each calls f for every owned partition, locked.
func (w *Worker) each(f func(q *partition)) {
	locked := func(q *partition) {
		q.lock.Lock()
		defer q.lock.Unlock()
		f(q)
	}
	if !w.cfg.Parallel {
		for _, q := range w.owned {
			locked(q)
		}
		return
	}
	var wg sync.WaitGroup
	for _, q := range w.owned {
		wg.Go(func() { locked(q) })
	}
	wg.Wait()
}

// flush makes the events of the look-ups so far durable, and tells who waits for that.
func (w *Worker) flush(ctx context.Context) error {
	for _, q := range w.owned {
		w.outbox.add(&q.found)
	}
	begin := w.cfg.Now()
	if err := w.outbox.flush(ctx); err != nil {
		return err
	}
	w.appending += w.cfg.Now().Sub(begin)
	w.reportCanaries()
	w.progress.reach(w.lookedUpTo)
	w.report()
	return nil
}

// commit stores the state of every owned partition, each whole, when that is due. It runs after flush.
func (w *Worker) commit(ctx context.Context, every time.Duration) error {
	now := w.cfg.Now()
	if !w.commitIsDue(now, every) {
		return nil
	}
	states, err := w.states(ctx)
	if err != nil {
		return err
	}
	for i, q := range w.owned {
		if err := w.cfg.Store.Put(ctx, stateKey(q.id, q.epoch), states[i]); err != nil {
			return fmt.Errorf("store the state of partition %d: %w", q.id, err)
		}
	}
	if err := w.putOlder(ctx, states); err != nil {
		return err
	}
	w.moved, w.committed = false, now
	w.redeliveries.passed(w.rereads(), w.allNeeds())
	w.updateNeeded()
	return nil
}

func (w *Worker) commitIsDue(now time.Time, every time.Duration) bool {
	return w.moved && now.Sub(w.committed) >= every
}

// states are those of the owned partitions, encoded.
func (w *Worker) states(ctx context.Context) ([][]byte, error) {
	end, err := w.outbox.end(ctx)
	if err != nil {
		return nil, err
	}
	states := make([][]byte, len(w.owned))
	for i, q := range w.owned {
		w.updateObserveFrom(q)
		s := &q.state
		s.EventEnd, s.SentenceTopic, s.EventTopic, s.ControlTopic = end, w.topics[0], w.topics[1], w.topics[2]
		states[i] = s.Append(nil)
	}
	return states, nil
}

// updateObserveFrom notes from where every partition must be observed again to go on from q's state.
func (w *Worker) updateObserveFrom(q *partition) {
	for p := range q.state.ObserveFrom {
		q.state.ObserveFrom[p] = w.redeliveries.of.from(p, q.needs(p))
	}
}

// needs is the first position of p that is passed again when q is restored from its state.
func (q *partition) needs(p int) int64 {
	if p == q.id {
		return min(q.state.LookupFrom[p], q.state.ReplayFrom)
	}
	return q.state.LookupFrom[p]
}

// needs is the first position of p that some owned partition needs.
func (w *Worker) needs(p int) int64 {
	return w.lowest(func(q *partition) int64 { return q.needs(p) })
}

func (w *Worker) allNeeds() []int64 {
	all := make([]int64, len(w.next))
	for p := range all {
		all[p] = w.needs(p)
	}
	return all
}

// Run takes turns until ctx ends; then it finishes the turn in hand and stores where it has got. An error of a topic
// or the store is logged and the turn tried again; Run gives up only where trying again cannot help.
func (w *Worker) Run(ctx context.Context) error {
	defer func() { _ = w.Close() }() // a reader: there is nothing to lose
	pauses := retry.Steady()
	for ctx.Err() == nil && !w.isEmpty() {
		err := w.Step(ctx)
		switch {
		case err == nil:
			pauses.Reset()
		case ctx.Err() == nil && (errors.Is(err, topic.ErrClosed) || errors.Is(err, topic.ErrBatchFormat)):
			return fmt.Errorf("match worker: %w", err)
		default:
			pause := pauses.NextBackOff()
			w.logTrouble(err, pause)
			_ = retry.Sleep(ctx, pause) // the loop sees that ctx has ended
		}
	}
	return w.finish(context.WithoutCancel(ctx))
}

func (w *Worker) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	w.turning.Lock()
	defer w.turning.Unlock()
	if len(w.owned) == 0 {
		return nil
	}
	if err := w.flush(ctx); err != nil {
		return fmt.Errorf("match worker: last events: %w", err)
	}
	if err := w.commit(ctx, 0); err != nil {
		return fmt.Errorf("match worker: last commit: %w", err)
	}
	return nil
}

// Close ends the reading. What was not stored is done again by the next worker.
func (w *Worker) Close() error {
	w.turning.Lock()
	defer w.turning.Unlock()
	return w.closeReaders()
}

func (w *Worker) closeReaders() error {
	w.deleted.close()
	w.redeliveries.leave()
	if w.reader == nil {
		return nil
	}
	r := w.reader
	w.reader = nil
	return r.Close()
}
