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
		if err := s.publishKafka(ctx, &p.Kafka[i]); err != nil {
			return fmt.Errorf("publish.kafka[%d]: %w", i, err)
		}
	}
	for i := range p.NATS {
		if err := s.publishNATS(ctx, &p.NATS[i]); err != nil {
			return fmt.Errorf("publish.nats[%d]: %w", i, err)
		}
	}
	if err := s.openWebhooks(p.Webhooks); err != nil {
		return err
	}
	return s.openIndex(ctx)
}

// reader is how a sink reads the events: from its cursor in the node's store.
func (s *Server) reader(name string) publish.ReaderConfig {
	return publish.ReaderConfig{Topic: s.node.events, Store: s.node.store, Name: name, Deleted: s.node.isDeleted, Logger: s.log}
}

// follow adds a sink that is handed batch after batch, and closed at the end.
func (s *Server) follow(cfg publish.FollowConfig, closer io.Closer) {
	s.closers = append(s.closers, closer)
	cfg.Retry = true
	s.sinks = append(s.sinks, func(ctx context.Context) error { return publish.Follow(ctx, cfg) })
}

// followLate adds a sink that is behind a network.
func (s *Server) followLate(ctx context.Context, name string, open func(context.Context) (brokerSink, error)) error {
	to := new(lateSink)
	to.open = open
	if err := to.try(ctx, name, s.log); err != nil {
		return err
	}
	s.follow(publish.FollowConfig{ReaderConfig: s.reader(name), Sink: to}, to)
	return nil
}

func (s *Server) publishKafka(ctx context.Context, k *KafkaSink) error {
	conn, err := kafkaConn(&k.KafkaCluster)
	if err != nil {
		return err
	}
	cfg := kafkasink.Config{Conn: conn, Topic: k.Topic, Name: k.Name, DeadLetters: s.node.deadEvents, Logger: s.log}
	return s.followLate(ctx, k.Name, func(ctx context.Context) (brokerSink, error) { return kafkasink.Open(ctx, cfg) })
}

func (s *Server) publishNATS(ctx context.Context, n *NATSSink) error {
	conn, err := natsConn(&n.NATSServer)
	if err != nil {
		return err
	}
	cfg := natssink.Default()
	cfg.Name, cfg.Conn, cfg.Subject, cfg.DeadLetters, cfg.Logger = n.Name, conn, n.Subject, s.node.deadEvents, s.log
	return s.followLate(ctx, n.Name, func(ctx context.Context) (brokerSink, error) { return natssink.Open(ctx, cfg) })
}

// deadEvents keeps the events that the event topic or a sink can never take, in a file like that of the rejected posts.
type deadEvents struct{ *ingest.DeadLetters }

func (d deadEvents) Write(place, reason string, event []byte) error {
	return d.DeadLetters.Write([]ingest.Rejection{ingest.NewRejection(place, reason, event)})
}
