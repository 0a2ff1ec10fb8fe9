package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"

	"refrain/internal/retry"
)

// lastAcks is how long the end of a generation waits for batches that are under way. What is not acknowledged by then
// comes again.
const lastAcks = time.Second

// run takes part in one generation after the other.
func (s *Source) run() {
	for {
		gen, err := s.group.Next(context.Background())
		switch {
		case errors.Is(err, kafka.ErrGroupClosed):
			return
		case errors.Is(err, kafka.RebalanceInProgress):
		case err != nil:
			s.warn("kafka: not in the group; trying again", "error", s.conn.Explain(err))
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
	if !s.announce(ctx, parts) {
		return
	}
	s.cfg.Logger.Info("kafka: reading", "group", s.cfg.Group, "generation", gen.ID, "partitions", len(parts))
	if len(parts) < s.total {
		s.cfg.Logger.Warn("kafka: other members of the group read the other partitions, and their posts are compared there, not here; "+
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
			s.warn("kafka: partitions not announced; trying again", "error", err)
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
	late := time.NewTimer(lastAcks)
	defer late.Stop()
	for _, p := range parts {
		p.unreached() // until a generation reads it again, nobody knows what is in it
		for range cap(p.slots) {
			select {
			case p.slots <- struct{}{}:
			case <-late.C:
				return
			}
		}
	}
}

// ends finds where the topics end. A group that has offsets anywhere in a topic has begun before: what it has none
// for is a new partition, which is read from its beginning, lest what was written before its discovery be skipped.
func (s *Source) ends(ctx context.Context, topics []kafka.Topic) (map[string]map[int]int64, error) {
	ends := map[string]map[int]int64{}
	for _, t := range topics {
		var numbers []int
		var last []kafka.OffsetRequest
		for _, p := range t.Partitions {
			numbers = append(numbers, p.ID)
			last = append(last, kafka.LastOffsetOf(p.ID))
		}
		begun, err := s.begun(ctx, t.Name, numbers)
		if err != nil {
			return nil, err
		}
		if begun {
			continue
		}
		res, err := s.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{t.Name: last}})
		if err != nil {
			return nil, err
		}
		ends[t.Name] = map[int]int64{}
		for _, p := range res.Topics[t.Name] {
			if p.Error != nil {
				return nil, fmt.Errorf("%s/%d: %w", t.Name, p.Partition, p.Error)
			}
			ends[t.Name][p.Partition] = p.LastOffset
		}
	}
	return ends, nil
}

// begun reports whether the group has an offset in some partition of a topic. On a young cluster the coordinator of
// groups takes a moment to come up.
func (s *Source) begun(ctx context.Context, topic string, numbers []int) (bool, error) {
	ask := func() (*kafka.OffsetFetchResponse, error) {
		res, err := s.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: s.cfg.Group, Topics: map[string][]int{topic: numbers}})
		if err == nil {
			err = res.Error
		}
		var code kafka.Error
		if errors.As(err, &code) && !code.Temporary() {
			err = backoff.Permanent(err)
		}
		return res, err
	}
	res, err := backoff.Retry(ctx, ask, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(10*time.Second))
	if err != nil {
		return false, err
	}
	for _, p := range res.Topics[topic] {
		if p.CommittedOffset >= 0 {
			return true, nil
		}
	}
	return false, nil
}

func (s *Source) warn(message string, args ...any) {
	if s.trouble.pass(message, time.Now()) {
		s.cfg.Logger.Warn(message, append([]any{"group", s.cfg.Group, "brokers", s.conn.String()}, args...)...)
	}
}

// throttle lets each message pass now and then.
type throttle struct {
	every time.Duration
	mu    sync.Mutex
	last  map[string]time.Time
}

func (t *throttle) pass(message string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[message]; ok && now.Sub(last) < t.every {
		return false
	}
	t.last[message] = now
	return true
}
