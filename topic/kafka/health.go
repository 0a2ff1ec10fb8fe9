package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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
	answered time.Time            // when a broker answered last
	failure  error                // why none has since
	topics   map[string]error     // by topic: what is wrong with it
	gone     map[string]time.Time // by topic: since when it does not exist
	logged   map[string]string    // by topic: what the log was last told of it
	notes    map[noteKey]noted    // how requests failed last
	skew     time.Duration        // our clock less the brokers'
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
	return &health{now: now, answered: now(), topics: map[string]error{}, notes: map[noteKey]noted{},
		gone: map[string]time.Time{}, logged: map[string]string{}}
}

// watch asks every now and then, until stop, how the topics are, and has their settings compared.
func (h *health) watch(l *link, topics func() []*link, recheck func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel, h.done = cancel, make(chan struct{})
	go func() {
		defer close(h.done)
		looks, rechecks := time.NewTicker(watchEvery), time.NewTicker(recheckEvery)
		defer looks.Stop()
		defer rechecks.Stop()
		for ctx.Err() == nil {
			h.poll(ctx, l, topics())
			select {
			case <-looks.C:
			case <-rechecks.C:
				recheck(ctx)
			case <-ctx.Done():
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

func (h *health) poll(ctx context.Context, l *link, topics []*link) {
	ctx, cancel := context.WithTimeout(ctx, unreachableAfter)
	defer cancel()
	byName, names := map[string]*link{}, []string{}
	for _, t := range topics {
		byName[t.topic], names = t, append(names, t.topic)
	}
	m, err := l.metadata(ctx, names...)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		for _, t := range topics {
			t.interruptions.Add(1)
		}
		h.failure = err
		return
	}
	h.answered, h.failure = h.now(), nil
	clear(h.topics)
	for i := range m.Topics {
		t := &m.Topics[i]
		if one := byName[t.Name]; one != nil {
			if err := one.wrong(t); err != nil {
				h.topics[t.Name] = err
			}
			h.observeDeleted(one, kafka.Error(t.ErrorCode))
		}
	}
	h.logChanges(l.cluster.cfg.Logger)
}

// logChanges says what is wrong with a topic when that begins, changes and ends.
func (h *health) logChanges(log *slog.Logger) {
	for name, err := range h.topics {
		if h.logged[name] != err.Error() {
			log.Error("kafka: a topic is not well", "topic", name, "error", err)
			h.logged[name] = err.Error()
		}
	}
	for name := range h.logged {
		if h.topics[name] == nil {
			log.Info("kafka: a topic is well again", "topic", name)
			delete(h.logged, name)
		}
	}
}

// goneAfter is how long a topic may not exist until it counts as deleted: a broker that has just started may not have heard
// of all topics.
const goneAfter = 10 * time.Second

// observeDeleted notes since when a topic does not exist, and in the end that it is deleted.
func (h *health) observeDeleted(l *link, code kafka.Error) {
	if code != kafka.UnknownTopicOrPartition {
		delete(h.gone, l.topic)
		return
	}
	l.interruptions.Add(1)
	since, known := h.gone[l.topic]
	if !known {
		h.gone[l.topic] = h.now()
	} else if h.now().Sub(since) >= goneAfter {
		l.markLost(fmt.Errorf("%w: topic %s has been deleted with all that it held: starting again, which makes it anew",
			topic.ErrBeyondEnd, l.topic))
	}
}

// wrong reports what a broker says is wrong with the topic.
func (l *link) wrong(t *metadata.ResponseTopic) error {
	switch code := kafka.Error(t.ErrorCode); code {
	case 0:
	case kafka.UnknownTopicOrPartition:
		return fmt.Errorf("topic %s is gone: somebody has deleted it, or the brokers have lost it; it is made anew in a moment, "+
			"empty: to restore it, stop all processes first", t.Name)
	default:
		return fmt.Errorf("topic %s: %w", t.Name, l.denied("Describe", code))
	}
	if s := l.openSpec(); s != nil && len(t.Partitions) < s.partitions {
		return fmt.Errorf("topic %s has %d partitions, and had %d: somebody has made it anew", t.Name, len(t.Partitions), s.partitions)
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

// note remembers how a request ended. An error says what to do already.
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

func (h *health) check(delta time.Duration, topics []*link) error {
	var errs []error
	for _, l := range topics {
		errs = append(errs, cmp.Or(l.lossErr(), l.refusal()))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if h.failure != nil && now.Sub(h.answered) > unreachableAfter {
		return fmt.Errorf("kafka: no broker has answered since %s: %w", h.answered.UTC().Format(time.RFC3339), h.failure)
	}
	for _, name := range slices.Sorted(maps.Keys(h.topics)) {
		errs = append(errs, h.topics[name])
	}
	for key, n := range h.notes {
		if lasting(n.err) && now.Sub(n.at) < noteAge && h.topics[key.topic] == nil {
			errs = append(errs, fmt.Errorf("topic %s: %s: %w", key.topic, key.operation, n.err))
		}
	}
	if err := clocks.Check(h.skew, delta); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	return nil
}
