package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"refrain/internal/kafkaconn"
	"refrain/topic"
	"refrain/topic/kafka"
)

// kafkaBroker keeps topics on a Kafka cluster.
type kafkaBroker struct {
	*kafka.Cluster
	n    *node
	conn *kafkaconn.Conn
	name string

	clock *kafka.Store // whose stamps are the brokers'; nil: not open yet
}

var _ broker = (*kafkaBroker)(nil)

func (n *node) openKafkaBroker(ctx context.Context) (broker, error) {
	conf, err := kafkaConn(&n.cfg.Topics.Kafka)
	if err != nil {
		return nil, fmt.Errorf("configuration: topics.kafka: %w", err)
	}
	cfg := kafka.Default()
	if cfg.Conn, err = kafkaconn.New(conf); err != nil {
		return nil, fmt.Errorf("configuration: topics.kafka: %w", err)
	}
	cfg.Name, cfg.Replicas, cfg.Now, cfg.Logger = n.cfg.Topics.Name, n.cfg.Topics.Replicas, n.now, n.log
	c, err := kafka.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &kafkaBroker{Cluster: c, n: n, conn: cfg.Conn, name: cfg.Name}, nil
}

// kafkaStampsApart is how much higher the stamp of a sentence record may be than that of another that was appended after it: brokers
// take stamps that are off by Delta, and one of the two may be ahead and the other behind.
func kafkaStampsApart() time.Duration { return 2 * kafka.Default().Delta }

func (b *kafkaBroker) openTopic(ctx context.Context, spec topicSpec) (openTopic, error) {
	t, err := b.topic(ctx, spec)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *kafkaBroker) topic(ctx context.Context, spec topicSpec) (*kafka.Topic, error) {
	c := kafka.DefaultTopic()
	c.Name, c.Partitions, c.MaxAge, c.Prompt, c.Fixed = b.name+"-"+spec.name, spec.partitions, spec.maxAge, spec.prompt, spec.fixed
	if !spec.refuses { // Kafka would drop the oldest
		c.MaxBytes = spec.maxBytes
	}
	c.Now, c.Logger = b.n.now, b.n.log
	return b.OpenTopic(ctx, c)
}

func (b *kafkaBroker) openStore(ctx context.Context, name string) (topic.Store, error) {
	s, err := b.OpenStore(ctx, b.name+"-"+name)
	if err != nil {
		return nil, err
	}
	b.clock = s
	return s, nil
}

// skew puts a value of nothing: the answer has the broker's time.
func (b *kafkaBroker) skew(ctx context.Context) (time.Duration, bool) {
	if b.clock != nil {
		_ = b.clock.Put(ctx, "clock/"+b.n.cfg.worker(), []byte{0}) // Check says why it fails
	}
	return b.Skew()
}

// join joins a consumer group over the partitions of a topic that is there for nothing else: a group whose topic is that of
// the sentences would be told apart from a reader of posts by its name only.
func (b *kafkaBroker) join(ctx context.Context, group string, parts int) (topic.Membership, error) {
	over, err := b.topic(ctx, topicSpec{name: group, partitions: parts, maxAge: time.Hour})
	if err != nil {
		return nil, err
	}
	cfg := kafka.DefaultGroup()
	cfg.Conn, cfg.Group, cfg.Topic, cfg.Parts = b.conn, b.name+"-"+group, b.name+"-"+group, over.Partitions()
	cfg.Member, cfg.Session, cfg.Logger = b.n.cfg.worker(), b.n.cfg.Cluster.Session, b.n.log
	cfg.Heartbeat = min(cfg.Heartbeat, cfg.Session/3)
	m, err := kafka.JoinGroup(ctx, cfg)
	if err != nil { // it is tried again for as long as that takes
		return nil, errors.Join(err, over.Close())
	}
	return m, nil
}
