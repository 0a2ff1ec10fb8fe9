package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"refrain/topic"
)

const (
	// maxAhead bounds the bytes, and maxQueue the answers, that wait in the queue of a reader; besides, each broker's loop
	// has one answer in its hands. Fetch takes no further answer when it has maxFetch records, or maxFetchBytes of them.
	maxAhead      = 16 << 20
	maxQueue      = 64
	maxFetch      = 256
	maxFetchBytes = 4 << 20
	// narrowAhead is that of a narrow reader.
	narrowAhead = 1 << 20
	// retryTimeout is how long a reader tries to go on by itself before Fetch says that it cannot.
	retryTimeout = 30 * time.Second
)

// reader is a topic.Reader. For each broker that leads a partition there is a loop, which asks it for all of them at once
// and puts what comes into a bounded queue. A partition is in the hands of one loop at a time, so its records stay in
// order when its leader changes.
type reader struct {
	topic  *Topic
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	loops  sync.WaitGroup
	once   sync.Once

	queue chan item
	ahead *semaphore.Weighted // bytes in the queue
	room  int64               // most of them

	held error // Fetch's: an error that came behind records

	mu      sync.Mutex
	next    []int64             // per partition; -1: not read
	claimed []bool              // per partition: a loop reads it
	marks   []marks             // per partition: of whose loop has claimed it
	running map[int32]*brokerIO // by broker
}

var _ topic.Reader = (*reader)(nil)

// item is what Fetch is given of one answer, or an error.
type item struct {
	records []topic.Record
	size    int64
	err     error
}

// Open implements topic.Topic.
func (t *Topic) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	return t.open(ctx, from, maxAhead)
}

// OpenNarrow is Open for readers of which there are many: it reads a megabyte ahead instead of sixteen.
func (t *Topic) OpenNarrow(ctx context.Context, from []int64) (topic.Reader, error) {
	return t.open(ctx, from, narrowAhead)
}

func (t *Topic) open(ctx context.Context, from []int64, ahead int64) (topic.Reader, error) {
	if err := cmp.Or(topic.CheckFrom(from, t.cfg.Partitions), t.link.lossErr()); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", t.cfg.Name, err)
	}
	end, err := t.ends(ctx)
	if err != nil {
		return nil, fmt.Errorf("open topic %s: %w", t.cfg.Name, err)
	}
	for p := range from {
		if from[p] > end[p] {
			return nil, fmt.Errorf("open topic %s: %w", t.cfg.Name, beyondEnd(p, from[p], end[p]))
		}
	}
	r := &reader{
		topic: t, queue: make(chan item, maxQueue), ahead: semaphore.NewWeighted(ahead), room: ahead,
		next: slices.Clone(from), claimed: make([]bool, len(from)), running: map[int32]*brokerIO{},
		marks: make([]marks, len(from)),
	}
	r.ctx, r.cancel = context.WithCancel(t.link.ctx)
	r.loops.Go(r.supervise)
	return r, nil
}

func beyondEnd(partition int, from, end int64) error {
	return fmt.Errorf("partition %d: %w: from %d, end %d", partition, topic.ErrBeyondEnd, from, end)
}

// Fetch implements topic.Reader.
func (r *reader) Fetch(ctx context.Context) ([]topic.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case r.ctx.Err() != nil:
		return nil, topic.ErrClosed
	case r.topic.link.lossErr() != nil:
		return nil, fmt.Errorf("read topic %s: %w", r.topic.cfg.Name, r.topic.link.lossErr())
	case r.held != nil:
		err := r.held
		r.held = nil
		return nil, err
	}
	select {
	case i := <-r.queue:
		return r.collect(i)
	case <-r.topic.link.ended:
		return nil, fmt.Errorf("read topic %s: %w", r.topic.cfg.Name, r.topic.link.lossErr())
	case <-r.ctx.Done():
		return nil, topic.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// collect takes what else is in the queue. An error behind records waits for the next call.
func (r *reader) collect(first item) ([]topic.Record, error) {
	if err := r.take(first); err != nil {
		r.held = nil
		return nil, err
	}
	out := first.records
	for size := first.size; len(out) < maxFetch && size < maxFetchBytes && r.held == nil; {
		select {
		case i := <-r.queue:
			if r.take(i) == nil {
				out, size = append(out, i.records...), size+i.size
			}
		default:
			return out, nil
		}
	}
	return out, nil
}

func (r *reader) take(i item) error {
	r.ahead.Release(i.size)
	if i.err != nil {
		r.held = i.err
	}
	return i.err
}

// put waits for room in the queue.
func (r *reader) put(i item) error {
	i.size = min(i.size, r.room)
	if err := r.ahead.Acquire(r.ctx, i.size); err != nil {
		return err
	}
	select {
	case r.queue <- i:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// Close implements topic.Reader.
func (r *reader) Close() error {
	r.once.Do(r.cancel)
	r.loops.Wait()
	return nil
}
