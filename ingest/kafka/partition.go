package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"refrain/internal/retry"
)

// partition reads one partition in one generation.
type partition struct {
	src    *Source
	topic  string
	number int
	name   string // of the source partition, the same in every process and generation
	window *window
	slots  chan struct{} // one token for every batch that is not yet acknowledged
	posts  posts
	lane   *lane     // among the others of the generation
	busy   bool      // the last fetch brought something
	failed time.Time // since when no fetch has succeeded; zero: the last one did

	next          atomic.Int64 // where the first record stands that is not handed on
	highWatermark atomic.Int64 // where the partition ended when it was last asked
	reached       atomic.Bool  // the broker answered when last asked
}

func newPartition(s *Source, topic string, number int, committed int64) *partition {
	p := &partition{
		src: s, topic: topic, number: number, name: fmt.Sprintf("kafka/%s/%s/%d", s.cfg.Group, topic, number),
		window: newWindow(max(committed, -1)), slots: make(chan struct{}, s.cfg.InFlight),
	}
	p.highWatermark.Store(-1) // not known
	p.posts = posts{cfg: &s.cfg, location: fmt.Sprintf("kafka %s/%d@", topic, number), end: beginning}
	return p
}

func (p *partition) waiting() bool {
	return !p.reached.Load() || p.next.Load() < p.highWatermark.Load()
}

// unreached notes that nobody knows what the partition holds now.
func (p *partition) unreached() { p.reached.Store(false) }

// run reads until ctx ends. What fails is tried again.
func (p *partition) run(ctx context.Context) {
	defer p.unreached()
	pauses := retry.Steady()
	step := p.begin
	for ctx.Err() == nil {
		err := step(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			p.unreached()
			p.noteFailure(time.Now())
			p.src.cfg.Status.Failed(p.name, p.src.conn.Explain(err))
			p.src.warn("kafka: retrying read", "partition", p.name, "error", p.src.conn.Explain(err))
			_ = retry.Sleep(ctx, pauses.NextBackOff()) // the loop sees that ctx has ended
		default:
			step = p.read
			p.failed = time.Time{}
			pauses.Reset()
		}
	}
}

// noteFailure lets the others go on without a partition that has failed for too long.
func (p *partition) noteFailure(now time.Time) {
	if p.failed.IsZero() {
		p.failed = now
	}
	if now.Sub(p.failed) > maxOutage {
		p.lane.leave()
	}
}

// read makes one fetch and hands on what it brings.
func (p *partition) read(ctx context.Context) error {
	if to, failed := p.window.rereadFrom(); failed {
		p.src.warn("kafka: a batch was not made durable; reading it again", "partition", p.name, "offset", to)
		p.next.Store(to)
		p.posts.restart()
		p.lane.restart()
	}
	at := p.next.Load()
	f, err := p.src.fetch(ctx, p.topic, p.number, at, p.busy)
	if errors.Is(err, kafka.OffsetOutOfRange) {
		return p.relocate(ctx, at)
	}
	if err != nil {
		return err
	}
	p.highWatermark.Store(f.highWatermark)
	p.reached.Store(true)
	p.src.cfg.Status.Fetched(p.name)
	if !p.busy && len(f.sets) == 0 { // though the broker waited for records
		p.lane.leave()
	}
	p.busy = len(f.sets) > 0
	return p.forward(ctx, f, at)
}

// advance goes on where there is nothing to hand on below next.
func (p *partition) advance(next int64) {
	if next > p.next.Load() && p.window.skip(next) {
		p.next.Store(next)
	}
}

// forward hands on what a fetch has brought.
func (p *partition) forward(ctx context.Context, f *fetched, at int64) error {
	defer f.close()
	defer p.posts.drop() // what was not handed on is read again
	defer func() { p.src.metrics.dropped(f.control, f.aborted) }()
	for !p.window.broken() {
		r, err := f.record(at)
		if err != nil {
			return err
		}
		if r == nil {
			return p.hand(ctx, f.next)
		}
		if err := p.add(ctx, r); err != nil {
			return err
		}
		if p.posts.full() {
			if err := p.hand(ctx, f.next); err != nil {
				return err
			}
		}
	}
	return nil
}

// add takes a record into the open batch, which is handed on first if the record is too far ahead of it,
// or writes what it deletes.
func (p *partition) add(ctx context.Context, r *protocol.Record) error {
	defer release(r)
	d := p.posts.decode(r)
	at := p.posts.moveClock(&d)
	if p.posts.isApart(at) || p.posts.follows(&d) {
		if err := p.hand(ctx, r.Offset); err != nil {
			return err
		}
	}
	p.posts.add(&d, r.Headers, at)
	return nil
}

// hand hands on the open batch, which ends below next, as soon as somebody takes it.
func (p *partition) hand(ctx context.Context, next int64) error {
	if p.posts.empty() {
		p.advance(next)
		return nil
	}
	aligned, err := p.lane.wait(ctx, p.posts.begun, p.posts.end)
	if err != nil {
		return err
	}
	b, bytes := p.posts.flush()
	b.Partition = p.name
	b.Trace = p.posts.traces.start(p, &b)
	free, err := p.acquire(ctx, min(bytes, p.src.cfg.Memory))
	if err != nil {
		aligned(nil)
		return err
	}
	s := p.window.hand(next)
	if s == nil {
		aligned(nil)
		free()
		return nil
	}
	b.OnAck(context.Background(), func(err error) {
		p.window.acknowledge(s, err)
		aligned(err)
		free()
	})
	select {
	case p.src.batches <- b:
		p.next.Store(next)
		return nil
	case <-ctx.Done():
		free() // the span stays open, so nothing behind it is committed
		return ctx.Err()
	}
}

// acquire waits until one more batch may be on its way; free gives its place back.
func (p *partition) acquire(ctx context.Context, bytes int64) (free func(), err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := p.src.memory.Acquire(ctx, bytes); err != nil {
		<-p.slots
		return nil, err
	}
	return func() {
		p.src.memory.Release(bytes)
		<-p.slots
	}, nil
}
