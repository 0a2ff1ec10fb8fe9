package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"

	"refrain/internal/retry"
	"refrain/topic"
)

// brokerIO is what is known of the talk with one broker.
type brokerIO struct {
	busy   bool // its last answer had records
	size   answerSize
	turn   int       // of the partition that is asked for first
	since  time.Time // when it began to fail; zero: it does not
	warned bool
	pauses *backoff.ExponentialBackOff
}

// superviseEvery is how soon a reader notices that a broker leads a partition that it did not lead before.
const superviseEvery = 100 * time.Millisecond

// supervise starts a loop for each broker that leads something nobody reads.
func (r *reader) supervise() {
	tick := time.NewTicker(superviseEvery)
	defer tick.Stop()
	without := &brokerIO{pauses: retry.Quick()} // while no broker says who leads
	for {
		leaders, err := r.topic.link.leaders(r.ctx)
		if r.ctx.Err() != nil || r.topic.link.lossErr() != nil {
			return
		}
		if err == nil {
			err = r.start(leaders)
		}
		r.observe(without, err)
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return
		}
	}
}

// start returns an error when a partition has no leader.
func (r *reader) start(leaders []int32) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, leader := range leaders {
		if p >= len(r.next) || r.next[p] < 0 || r.claimed[p] {
			continue
		}
		if leader < 0 {
			err = fmt.Errorf("partition %d: %w", p, kafka.LeaderNotAvailable)
			continue
		}
		if r.running[leader] == nil {
			broker := &brokerIO{pauses: retry.Quick()}
			r.running[leader] = broker
			r.loops.Go(func() { r.loop(leader, broker) })
		}
	}
	return err
}

// loop asks one broker until it leads nothing that is to be read.
func (r *reader) loop(id int32, broker *brokerIO) {
	for {
		parts := r.claim(id)
		if len(parts) == 0 {
			return
		}
		err := r.turnOf(broker, broker.rotate(parts))
		r.unclaim(parts)
		if r.ctx.Err() != nil || r.topic.link.lossErr() != nil {
			return
		}
		r.observe(broker, err)
		if err != nil && retry.Sleep(r.ctx, broker.pauses.NextBackOff()) != nil {
			return
		}
	}
}

// rotate puts another partition first each time: an answer may be full before it comes to the last ones.
func (b *brokerIO) rotate(parts []from) []from {
	b.turn++
	first := b.turn % len(parts)
	return slices.Concat(parts[first:], parts[:first])
}

// claim returns what the broker leads and no other loop reads. Where there is nothing the loop is over.
func (r *reader) claim(id int32) (parts []from) {
	leaders, err := r.topic.link.leaders(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, leader := range leaders {
		if p < len(r.next) && leader == id && r.next[p] >= 0 && !r.claimed[p] {
			r.claimed[p] = true
			parts = append(parts, from{p, r.next[p]})
		}
	}
	if err != nil || len(parts) == 0 {
		delete(r.running, id)
	}
	return parts
}

func (r *reader) unclaim(parts []from) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range parts {
		r.claimed[p.partition] = false
	}
}

func (r *reader) advance(p int, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next[p] = next
}

// turnOf makes one request, and hands on what it brings.
func (r *reader) turnOf(broker *brokerIO, parts []from) error {
	if err := cmp.Or(r.verify(r.ctx, parts), r.topic.link.lossErr()); err != nil {
		return err
	}
	wait, minBytes := quietWait, 1
	if broker.busy {
		wait, minBytes = busyWait, busyBytes
	}
	answers, err := r.topic.link.fetch(r.ctx, parts, wait, minBytes, broker.size.next())
	if err != nil {
		return err
	}
	broker.busy = false
	broker.size.note(answers)
	var errs []error
	for i := range answers {
		f := &answers[i]
		broker.busy = broker.busy || len(f.records) > 0
		errs = append(errs, r.handOn(f, position(parts, f.partition)))
	}
	return errors.Join(errs...)
}

func position(parts []from, partition int) int64 {
	for _, p := range parts {
		if p.partition == partition {
			return p.position
		}
	}
	return -1
}

func (r *reader) handOn(f *fetched, at int64) error {
	if errors.Is(f.err, kafka.OffsetOutOfRange) {
		return r.outOfRange(f.partition, at)
	}
	if f.err != nil {
		return fmt.Errorf("partition %d: %w", f.partition, f.err)
	}
	i := item{}
	for n := range f.records {
		i.records = append(i.records, *f.records[n].decoded())
		i.size += int64(f.records[n].size())
	}
	if n := len(f.records); n > 0 {
		if err := r.put(i); err != nil {
			return err
		}
		r.appendMark(f.partition, &f.records[n-1])
	}
	r.marks[f.partition].loss.clear()
	r.advance(f.partition, f.next)
	return nil
}

// outOfRange finds out why a partition has nothing at a position: retention was quicker, or the cluster has lost the end.
func (r *reader) outOfRange(p int, at int64) error {
	start, err := r.topic.start(r.ctx, 0)
	if err != nil {
		return err
	}
	end, err := r.topic.ends(r.ctx)
	switch {
	case err != nil:
		return err
	case at < start[p]:
		if err := r.put(item{err: &topic.ErrTruncated{Partition: p, From: at, Start: start[p]}}); err != nil {
			return err
		}
		r.advance(p, start[p])
	case at > end[p]:
		return r.confirmLoss(r.ctx, p, beyondEnd(p, at, end[p]))
	default: // a new leader that does not know yet how far the log goes
		return fmt.Errorf("partition %d at %d: %w", p, at, kafka.OffsetNotAvailable)
	}
	return nil
}

// observe logs when reading begins to fail and when it goes on, and lets Fetch say so when it takes long.
func (r *reader) observe(broker *brokerIO, err error) {
	t, now := r.topic, time.Now()
	t.link.refresh(err)
	if err != nil {
		err = t.link.explainFetch(err)
	}
	t.link.note("fetch", err)
	switch {
	case err == nil:
		if broker.warned {
			t.cfg.Logger.Info("kafka: reading goes on", "topic", t.cfg.Name, "after", now.Sub(broker.since).String())
		}
		broker.since, broker.warned = time.Time{}, false
		broker.pauses.Reset()
	case broker.since.IsZero():
		broker.since = now
	case !broker.warned && now.Sub(broker.since) > time.Second: // a leader may move without a word
		broker.warned = true
		t.cfg.Logger.Warn("kafka: reading is interrupted", "topic", t.cfg.Name, "error", err)
	case now.Sub(broker.since) > retryTimeout:
		broker.since = now
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		select {
		case r.queue <- item{err: fmt.Errorf("read topic %s: %w", t.cfg.Name, err)}:
		case <-ctx.Done():
		}
	}
}
