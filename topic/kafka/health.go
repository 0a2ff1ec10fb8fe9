package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"refrain/internal/clocks"
	"refrain/topic"
)

const (
	// watchEvery is how often a broker is asked how the topics are.
	watchEvery = 2 * time.Second
	// unreachableAfter is how long no broker may answer before Check says so: a broker's restart, another's election.
	unreachableAfter = 5 * time.Second
	// noteAge is how long Check repeats what failed once and was not tried again.
	noteAge = time.Minute
	// warnSkew is the difference between our clock and the brokers' from which on it is reported.
	warnSkew = time.Second
)

// health is what is known of the cluster: what a broker says of the topics every few seconds, and how the last requests
// ended.
type health struct {
	now func() time.Time

	mu       sync.Mutex
	answered time.Time         // when a broker answered last
	failure  error             // why none has since
	topics   map[string]error  // by topic: what is wrong with it
	notes    map[noteKey]noted // how requests failed last
	skew     time.Duration     // our clock less the brokers'
	measured bool

	cancel context.CancelFunc
	done   chan struct{}
}

type noteKey struct{ topic, operation string }

type noted struct {
	err error
	at  time.Time
}

func newHealth(now func() time.Time) *health {
	return &health{now: now, answered: now(), topics: map[string]error{}, notes: map[noteKey]noted{}}
}

// watch asks every now and then, until stop.
func (h *health) watch(l *link, topics func() []string) {
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel, h.done = cancel, make(chan struct{})
	go func() {
		defer close(h.done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			h.look(ctx, l, topics())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (h *health) stop() {
	if h.cancel != nil {
		h.cancel()
		<-h.done
	}
}

func (h *health) look(ctx context.Context, l *link, topics []string) {
	ctx, cancel := context.WithTimeout(ctx, unreachableAfter)
	defer cancel()
	m, err := l.metadata(ctx, topics...)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.failure = err
		return
	}
	h.answered, h.failure = h.now(), nil
	clear(h.topics)
	for i := range m.Topics {
		if err := l.wrong(&m.Topics[i]); err != nil {
			h.topics[m.Topics[i].Name] = err
		}
	}
}

// wrong reports what a broker says is wrong with a topic.
func (l *link) wrong(t *metadata.ResponseTopic) error {
	switch code := kafka.Error(t.ErrorCode); code {
	case 0:
	case kafka.UnknownTopicOrPartition:
		return fmt.Errorf("topic %s is gone: somebody has deleted it, or has taken the right to see it away", t.Name)
	default:
		return fmt.Errorf("topic %s: %w", t.Name, l.explain(code))
	}
	var leaderless, few []int32
	for _, p := range t.Partitions {
		switch {
		case p.LeaderID < 0:
			leaderless = append(leaderless, p.PartitionIndex)
		case len(p.IsrNodes) < min(l.cluster.minInSync(), len(p.ReplicaNodes)):
			few = append(few, p.PartitionIndex)
		}
	}
	switch {
	case len(leaderless) > 0:
		return fmt.Errorf("topic %s: partitions %v have no leader: start the brokers that are down", t.Name, leaderless)
	case len(few) > 0:
		return fmt.Errorf("topic %s: partitions %v have fewer than %d replicas in sync and take no records: start the brokers "+
			"that are down", t.Name, few, l.cluster.minInSync())
	}
	return nil
}

// note remembers how a request ended.
func (h *health) note(name, operation string, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, topic.ErrClosed) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := noteKey{name, operation}
	if err == nil {
		delete(h.notes, key)
		return
	}
	h.notes[key] = noted{err, h.now()}
}

// lasting reports errors that do not go away by themselves.
func lasting(err error) bool {
	for _, code := range []kafka.Error{kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.SASLAuthenticationFailed, kafka.KafkaStorageError, kafka.PolicyViolation, kafka.InvalidTimestamp,
		kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend} {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, ErrNotAcknowledged)
}

// measure compares our clock with the broker's stamp of something that was sent and acknowledged at these times of ours.
func (h *health) measure(sent, stamped, acknowledged time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.measured, h.skew = true, clocks.Ahead(sent, stamped, acknowledged)
}

func (h *health) check(delta time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if h.failure != nil && now.Sub(h.answered) > unreachableAfter {
		return fmt.Errorf("kafka: no broker has answered since %s: %w", h.answered.UTC().Format(time.RFC3339), h.failure)
	}
	var errs []error
	for _, err := range h.topics {
		errs = append(errs, err)
	}
	for key, n := range h.notes {
		if lasting(n.err) && now.Sub(n.at) < noteAge && h.topics[key.topic] == nil {
			errs = append(errs, fmt.Errorf("topic %s: %s: %w", key.topic, key.operation, n.err))
		}
	}
	if err := clocks.Check(h.skew, delta); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("kafka: %w", errors.Join(errs...))
}
