package server

import (
	"context"
	"fmt"
	"time"

	"refrain/topic"
	"refrain/topic/jetstream"
)

// natsBroker keeps topics on NATS servers of somebody else.
type natsBroker struct {
	*jetstream.Cluster
	n    *node
	name string
}

var _ broker = (*natsBroker)(nil)

func (n *node) openNATSBroker(ctx context.Context) (broker, error) {
	cfg := jetstream.DefaultCluster()
	var err error
	if cfg.Conn, err = natsConn(&n.cfg.Topics.NATS); err != nil {
		return nil, fmt.Errorf("configuration: topics.nats: %w", err)
	}
	cfg.Conn.Waiting = n.waiting
	cfg.Replicas, cfg.Now, cfg.Logger = n.cfg.Topics.Replicas, n.now, n.log
	c, err := jetstream.Connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &natsBroker{c, n, n.cfg.Topics.Name}, nil
}

func (b *natsBroker) openTopic(ctx context.Context, spec topicSpec) (openTopic, error) {
	t, err := b.OpenTopic(ctx, spec.jetstream(b.name+"-"+spec.name, b.n.now, b.n.log))
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *natsBroker) openStore(ctx context.Context, name string) (topic.Store, error) {
	s, err := b.OpenStore(ctx, b.name+"-"+name)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (b *natsBroker) skew(context.Context) (time.Duration, bool) { return b.Skew() }

func (b *natsBroker) join(ctx context.Context, group string, parts int) (topic.Membership, error) {
	cfg := jetstream.DefaultLeases()
	cfg.JetStream, cfg.Bucket, cfg.Group, cfg.Parts = b.JetStream(), b.name+"-leases", b.name+"-"+group, parts
	if _, err := b.OpenStore(ctx, cfg.Bucket); err != nil { // so that it is looked after, as the others are
		return nil, err
	}
	cfg.Member, cfg.Logger = b.n.cfg.worker(), b.n.log
	cfg.TTL = b.n.cfg.Cluster.Session
	cfg.Renew = min(cfg.Renew, cfg.TTL/3)
	m, err := jetstream.JoinLeases(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return m, nil
}
