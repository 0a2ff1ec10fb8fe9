package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"

	"refrain/internal/retry"
)

// startAge is how old the beginnings may be that Bounds returns. Retention moves them whenever it likes, and whoever reads
// below gets an ErrTruncated all the same; but workers ask for bounds at every turn.
const startAge = time.Second

// starts are where the partitions began a moment ago.
type starts struct {
	mu    sync.Mutex
	asked time.Time
	known []int64
}

// Bounds implements topic.Topic: one request to each broker for the ends of all partitions that it leads, and one for the
// beginnings if they were not asked for in the last second.
func (t *Topic) Bounds(ctx context.Context) (start, end []int64, err error) {
	var asks sync.WaitGroup
	var startErr error
	asks.Go(func() { start, startErr = t.start(ctx, startAge) })
	end, err = t.ends(ctx)
	asks.Wait()
	if err = errors.Join(err, startErr); err != nil {
		return nil, nil, fmt.Errorf("bounds of topic %s: %w", t.cfg.Name, err)
	}
	for p := range end { // asked at once: retention may have moved the one beyond the other
		end[p] = max(end[p], start[p])
	}
	return start, end, nil
}

// start returns where the partitions begin, or began so long ago at most.
func (t *Topic) start(ctx context.Context, age time.Duration) ([]int64, error) {
	s := &t.starts
	s.mu.Lock()
	if age > 0 && s.known != nil && time.Since(s.asked) < age {
		defer s.mu.Unlock()
		return slices.Clone(s.known), nil
	}
	s.mu.Unlock()
	now := time.Now()
	start, err := t.link.offsets(ctx, kafka.FirstOffset, t.cfg.Partitions)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.known = now, start
	return slices.Clone(start), nil
}

// ends returns where the partitions end.
func (t *Topic) ends(ctx context.Context) ([]int64, error) {
	return t.link.offsets(ctx, kafka.LastOffset, t.cfg.Partitions)
}

// offsets asks the leaders of all partitions, and again where they have just changed. A new leader answers only when it
// knows that nobody has been told of more.
func (l *link) offsets(ctx context.Context, which int64, partitions int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cluster.cfg.Delta)
	defer cancel()
	for pauses := retry.Quick(); ; {
		out, err := l.offsetsOnce(ctx, which, partitions)
		if err == nil {
			l.note("list offsets", nil)
			return out, nil
		}
		explained := l.denied("Describe", err)
		l.note("list offsets", explained)
		if !moved(err) {
			return nil, explained
		}
		l.refresh(err)
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return nil, fmt.Errorf("%w: %w", ctx.Err(), explained)
		}
	}
}

func (l *link) offsetsOnce(ctx context.Context, which int64, partitions int) ([]int64, error) {
	leaders, err := l.leaders(ctx)
	if err != nil {
		return nil, err
	}
	if len(leaders) < partitions {
		return nil, fmt.Errorf("topic %s has %d partitions, and had %d when it was opened", l.topic, len(leaders), partitions)
	}
	byLeader := map[int32][]listoffsets.RequestPartition{}
	for p, leader := range leaders[:partitions] { // more were added by somebody
		if leader < 0 {
			return nil, fmt.Errorf("partition %d: %w", p, kafka.LeaderNotAvailable)
		}
		byLeader[leader] = append(byLeader[leader], listoffsets.RequestPartition{Partition: int32(p), CurrentLeaderEpoch: -1,
			Timestamp: which})
	}
	out := make([]int64, partitions)
	errs := make([]error, 0, len(byLeader))
	var (
		asks sync.WaitGroup
		mu   sync.Mutex
	)
	for _, parts := range byLeader {
		asks.Go(func() {
			err := l.ask(ctx, parts, out)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	asks.Wait()
	return out, errors.Join(errs...)
}

// ask asks one broker, and puts its answers into out, each at its own place.
func (l *link) ask(ctx context.Context, parts []listoffsets.RequestPartition, out []int64) error {
	m, err := l.roundTrip(ctx, &offsetsRequest{ReplicaID: -1,
		Topics: []listoffsets.RequestTopic{{Topic: l.topic, Partitions: parts}}})
	if err != nil {
		return err
	}
	res := m.(*listoffsets.Response)
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != len(parts) {
		return errors.New("list offsets: an answer to another question")
	}
	wanted := map[int32]bool{}
	for _, p := range parts {
		wanted[p.Partition] = true
	}
	for _, p := range res.Topics[0].Partitions {
		switch {
		case !wanted[p.Partition]:
			return errors.New("list offsets: an answer to another question")
		case p.ErrorCode != 0:
			return fmt.Errorf("partition %d: %w", p.Partition, kafka.Error(p.ErrorCode))
		}
		delete(wanted, p.Partition)
		out[p.Partition] = p.Offset
	}
	return nil
}
