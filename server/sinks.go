package server

import (
	"context"
	"fmt"
	"io"

	"refrain/ingest"
	"refrain/publish"
	kafkasink "refrain/publish/kafka"
	natssink "refrain/publish/nats"
)

// openSinks puts the readers of the event topic there that the configuration names.
func (s *Server) openSinks(ctx context.Context) error {
	p := &s.cfg.Publish
	for i := range p.Kafka {
		if err := s.publishKafka(fmt.Sprintf("publish.kafka[%d]", i), &p.Kafka[i]); err != nil {
			return err
		}
	}
	for i := range p.NATS {
		if err := s.publishNATS(fmt.Sprintf("publish.nats[%d]", i), &p.NATS[i]); err != nil {
			return err
		}
	}
	return s.openWebhooks(ctx, p.Webhooks)
}

// reader is how a sink reads the events: from its cursor in the node's store.
func (s *Server) reader(name string) publish.ReaderConfig {
	return publish.ReaderConfig{Topic: s.node.events, Store: s.node.store, Name: name, Deleted: s.node.isDeleted, Logger: s.log}
}

// follow adds a sink that is handed batch after batch, and closed at the end.
func (s *Server) follow(role string, cfg publish.FollowConfig, closer io.Closer) {
	if closer != nil {
		s.closers = append(s.closers, closer)
	}
	cfg.Retry = true
	s.addRunner(role, cfg.Name, func(ctx context.Context) error { return publish.Follow(ctx, cfg) })
}

// followLazy adds a sink that is behind a network. key is its path in the configuration.
func (s *Server) followLazy(key, name string, open func(context.Context) (brokerSink, error)) {
	to := new(lazySink)
	to.open = open
	s.follow(rolePublish, publish.FollowConfig{ReaderConfig: s.reader(name), Sink: to}, to)
	s.firstTries = append(s.firstTries, func(ctx context.Context) error {
		if err := to.try(ctx, name, s.log); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
}

func (s *Server) publishKafka(key string, k *KafkaSink) error {
	conn, err := kafkaConn(&k.KafkaCluster)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	cfg := kafkasink.Config{Conn: conn, Topic: k.Topic, Name: k.Name, Binary: k.Mode == "binary", DeadLetters: s.node.deadEvents, Logger: s.log}
	s.followLazy(key, k.Name, func(ctx context.Context) (brokerSink, error) { return kafkasink.Open(ctx, cfg) })
	return nil
}

func (s *Server) publishNATS(key string, n *NATSSink) error {
	conn, err := natsConn(&n.NATSServer)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	cfg := natssink.Default()
	cfg.Name, cfg.Conn, cfg.Subject, cfg.DeadLetters, cfg.Logger = n.Name, conn, n.Subject, s.node.deadEvents, s.log
	s.followLazy(key, n.Name, func(ctx context.Context) (brokerSink, error) { return natssink.Open(ctx, cfg) })
	return nil
}

// deadEvents keeps the events that the event topic or a sink can never take, beside the rejected posts.
type deadEvents struct{ *ingest.DeadLetters }

func (d deadEvents) Write(place, reason string, event []byte) error {
	return d.DeadLetters.Write([]ingest.Rejection{ingest.NewRejection(place, reason, event)})
}

// Each implements publish.Letters.
func (d deadEvents) Each(visit func(publish.Letter) error) error {
	return d.DeadLetters.Each(func(l ingest.Letter) error {
		return visit(publish.Letter{Place: l.Location, Time: l.Time, Event: l.Raw, Cut: l.Truncated})
	})
}
