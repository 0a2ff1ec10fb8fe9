package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/produce"

	"refrain/internal/kafkaconn"
	"refrain/topic"
)

// metadataTTL bounds how long a partition's old leader is asked after it has moved, half of it on average.
const metadataTTL = 2 * time.Second

// link is the connections to the brokers of one topic. The library asks who leads it every now and then, for the topics
// that it was told when it began, so each has a transport of its own.
type link struct {
	cluster   *Cluster
	topic     string
	addr      net.Addr
	transport *kafkaconn.Transport
	client    *kafka.Client
	ctx       context.Context // ends with close
	cancel    context.CancelFunc
	opened    atomic.Bool   // the topic exists, and is watched
	ended     chan struct{} // closed when the topic is another one than it was

	// interruptions counts what a loss of records may hide behind: requests that failed, brokers that did not answer.
	interruptions atomic.Int64

	mu        sync.Mutex
	spec      *spec // as it is to be; nil: it is not open
	unsafe    error // its settings are such that records could get lost
	lost      error // why ended is closed
	refreshed time.Time
}

func newLink(c *Cluster, name string) *link {
	t := c.cfg.Conn.Transport(name)
	t.MetadataTTL = metadataTTL
	l := &link{cluster: c, topic: name, addr: c.cfg.Conn.Addr(), transport: t, client: c.cfg.Conn.Client(t),
		ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *link) close() {
	l.cancel()
	l.transport.Close()
}

// roundTrip sends a request where it says that it wants to go.
func (l *link) roundTrip(ctx context.Context, r protocol.Message) (protocol.Message, error) {
	if l.ctx.Err() != nil {
		return nil, topic.ErrClosed
	}
	m, err := l.transport.RoundTrip(ctx, l.addr, r)
	if err != nil && l.ctx.Err() != nil {
		return nil, topic.ErrClosed
	}
	return m, err
}

// refreshEvery bounds how often refresh makes the library ask.
const refreshEvery = 500 * time.Millisecond

// refresh makes the library ask at once who leads what, if err says that it does not know. It can be told so only by making
// it begin anew: requests under way come to their end.
func (l *link) refresh(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); err != nil && moved(err) && now.Sub(l.refreshed) > refreshEvery {
		l.refreshed = now
		l.transport.CloseIdleConnections()
	}
}

// metadataRequest is one that reaches a broker: the library answers its own from what it has heard last. It is split, into
// itself, so that the answer has a type that the library does not know.
type (
	metadataRequest  metadata.Request
	metadataResponse metadata.Response
)

var (
	_ protocol.Splitter = (*metadataRequest)(nil)
	_ protocol.Merger   = (*metadataResponse)(nil)
)

// ApiKey implements protocol.Message.
func (*metadataRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }

// ApiKey implements protocol.Message.
func (*metadataResponse) ApiKey() protocol.ApiKey { return protocol.Metadata }

// Split implements protocol.Splitter.
func (r *metadataRequest) Split(protocol.Cluster) ([]protocol.Message, protocol.Merger, error) {
	return []protocol.Message{r}, new(metadataResponse), nil
}

// Merge implements protocol.Merger.
func (*metadataResponse) Merge(_ []protocol.Message, results []any) (protocol.Message, error) {
	m, err := protocol.Result(results[0])
	if err != nil {
		return nil, err
	}
	return (*metadataResponse)(m.(*metadata.Response)), nil
}

// metadata asks a broker.
func (l *link) metadata(ctx context.Context, topics ...string) (*metadata.Response, error) {
	m, err := l.roundTrip(ctx, &metadataRequest{TopicNames: topics})
	if err != nil {
		return nil, fmt.Errorf("look topics up: %w", l.explain(err))
	}
	return (*metadata.Response)(m.(*metadataResponse)), nil
}

// leaders returns who leads each partition, as the library has heard last; -1 is nobody.
func (l *link) leaders(ctx context.Context) ([]int32, error) {
	m, err := l.roundTrip(ctx, &metadata.Request{TopicNames: []string{l.topic}})
	if err != nil {
		return nil, err
	}
	t := m.(*metadata.Response).Topics[0]
	if t.ErrorCode != 0 {
		return nil, kafka.Error(t.ErrorCode)
	}
	return leadersOf(&t)
}

func leadersOf(t *metadata.ResponseTopic) ([]int32, error) {
	out := make([]int32, len(t.Partitions))
	for i := range out {
		out[i] = -1
	}
	for _, p := range t.Partitions {
		if p.PartitionIndex < 0 || int(p.PartitionIndex) >= len(out) {
			return nil, fmt.Errorf("topic %s: partition %d of %d", t.Name, p.PartitionIndex, len(out))
		}
		out[p.PartitionIndex] = p.LeaderID
	}
	return out, nil
}

// offsetsRequest is one for many partitions of a broker: the library would make a request of each, and a connection.
type offsetsRequest listoffsets.Request

func (*offsetsRequest) ApiKey() protocol.ApiKey { return protocol.ListOffsets }

// Broker implements protocol.BrokerMessage.
func (r *offsetsRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	t := &r.Topics[0]
	leader := cluster.Topics[t.Topic].Partitions[t.Partitions[0].Partition].Leader
	b, ok := cluster.Brokers[leader]
	if !ok {
		return protocol.Broker{}, kafka.LeaderNotAvailable
	}
	return b, nil
}

// note remembers how a request ended, for Check.
func (l *link) note(operation string, err error) {
	if err != nil {
		l.interruptions.Add(1)
	}
	l.cluster.health.note(l.topic, operation, err)
}

func (l *link) explain(err error) error { return l.cluster.cfg.Conn.Explain(err) }

// moved reports whether an error says that nothing was done, since somebody else leads the partition, or will, or since
// the broker could not be reached at all.
func moved(err error) bool {
	for _, code := range []kafka.Error{
		kafka.NotLeaderForPartition, kafka.LeaderNotAvailable, kafka.UnknownTopicOrPartition, kafka.BrokerNotAvailable,
		kafka.ReplicaNotAvailable, kafka.FencedLeaderEpoch, kafka.UnknownLeaderEpoch, kafka.OffsetNotAvailable,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	var (
		dial    *net.OpError
		produce *produce.Error // the library's own, before it sends anything
		fetch   *fetch.Error
	)
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &produce) || errors.As(err, &fetch)
}

// IsTemporary reports whether an error of opening may be gone in a moment: nobody was reached, a leader is being chosen, or
// a broker is missing.
func IsTemporary(err error) bool {
	return moved(err) || errors.Is(err, kafkaconn.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ErrNotAcknowledged) || kafkaconn.HungUp(err) || isTransient(err)
}

// isTransient reports whether a broker says that it cannot now. Of replicas there were enough when they were counted.
func isTransient(err error) bool {
	var code kafka.Error
	return errors.As(err, &code) && (code.Temporary() || code == kafka.InvalidReplicationFactor || code == kafka.Unknown)
}
