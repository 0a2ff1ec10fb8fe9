package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"

	"refrain/internal/retry"
)

// lastAckTimeout is how long the end of a generation waits for batches that are under way. What is not acknowledged by then
// comes again.
const lastAckTimeout = time.Second

// membership is the part of a source's status that is not a partition.
const membership = "group"

// run takes part in one generation after the other.
func (s *Source) run() {
	for {
		gen, err := s.group.Next(context.Background())
		switch {
		case errors.Is(err, kafka.ErrGroupClosed):
			return
		case errors.Is(err, kafka.RebalanceInProgress):
		case err != nil:
			s.cfg.Status.Failed(membership, s.conn.Explain(err))
			s.warn("kafka: retrying join", "error", s.conn.Explain(err))
		default:
			s.active.Add(1) // a generation that has ended already starts what it is given, and does not wait for it
			gen.Start(func(ctx context.Context) {
				defer s.active.Done()
				s.serve(ctx, gen)
			})
		}
	}
}

// serve reads the partitions of one generation until it ends.
func (s *Source) serve(ctx context.Context, gen *kafka.Generation) {
	parts := s.partitions(gen)
	s.mu.Lock()
	s.assigned = parts
	s.mu.Unlock()
	s.cfg.Status.Reset()
	if !s.announce(ctx, parts) {
		return
	}
	s.cfg.Logger.Info("kafka: reading", "group", s.cfg.Group, "generation", gen.ID, "partitions", len(parts))
	if len(parts) < s.total {
		s.cfg.Logger.Warn("kafka: other members of the group read the other partitions, and their posts are compared "+
			"there, not here; "+
			"a server that is to see all posts needs a group of its own", "group", s.cfg.Group, "here", len(parts), "all", s.total)
	}
	reading, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for _, p := range parts {
		readers.Go(func() { p.run(reading) })
	}
	s.commitUntil(ctx, gen, parts)
	stop()
	readers.Wait()
	drain(parts)
	s.commit(gen, parts)
}

func (s *Source) partitions(gen *kafka.Generation) []*partition {
	var parts []*partition
	for topic, assignments := range gen.Assignments {
		for _, a := range assignments {
			parts = append(parts, newPartition(s, topic, a.ID, a.Offset))
		}
	}
	align := newAlignment(s.cfg.MaxAhead)
	for _, p := range parts {
		p.lane = align.join()
	}
	slices.SortFunc(parts, func(a, b *partition) int { return strings.Compare(a.name, b.name) })
	return parts
}

// announce tells Assigned, until it knows. It reports whether there is still a generation to serve.
func (s *Source) announce(ctx context.Context, parts []*partition) bool {
	if s.cfg.Assigned == nil {
		return ctx.Err() == nil
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	call := func() (struct{}, error) { return struct{}{}, s.cfg.Assigned(ctx, names) }
	_, err := backoff.Retry(ctx, call, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			s.warn("kafka: retrying announcement of partitions", "error", err)
		}))
	return err == nil && ctx.Err() == nil
}

// commitUntil commits now and then, until the generation ends.
func (s *Source) commitUntil(ctx context.Context, gen *kafka.Generation, parts []*partition) {
	tick := time.NewTicker(s.cfg.CommitEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.commit(gen, parts)
		}
	}
}

// commit stores how far the partitions are done, where that has changed. The request bears the number of the
// generation, so one that has been replaced meanwhile cannot undo what its successor has committed.
func (s *Source) commit(gen *kafka.Generation, parts []*partition) {
	offsets := map[string]map[int]int64{}
	for _, p := range parts {
		at, changed := p.window.uncommitted()
		if !changed {
			continue
		}
		if offsets[p.topic] == nil {
			offsets[p.topic] = map[int]int64{}
		}
		offsets[p.topic][p.number] = at
	}
	if len(offsets) == 0 {
		return
	}
	if err := gen.CommitOffsets(offsets); err != nil {
		s.warn("kafka: offsets not committed; some posts may come again", "error", s.conn.Explain(err))
		return
	}
	for _, p := range parts {
		if at, ok := offsets[p.topic][p.number]; ok {
			p.window.committed(at)
		}
	}
}

// drain waits for batches that are under way, though not for long.
func drain(parts []*partition) {
	timeout := time.NewTimer(lastAckTimeout)
	defer timeout.Stop()
	for _, p := range parts {
		p.unreached() // until a generation reads it again, nobody knows what is in it
		for range cap(p.slots) {
			select {
			case p.slots <- struct{}{}:
			case <-timeout.C:
				return
			}
		}
	}
}
