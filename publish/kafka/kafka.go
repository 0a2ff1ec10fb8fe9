// Package kafka writes events to a Kafka topic.
//
// Events are in the structured mode of the CloudEvents binding for Kafka (version 1.0.2, sections 3.2 and 3.3): the value is
// the event's JSON, the header content-type says so; or in its binary mode: the value is the event's data, headers have its
// attributes. The key is the event's, the later post, so what is said about one post stays in order.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/segmentio/kafka-go"

	"refrain/internal/check"
	"refrain/internal/kafkaconn"
	"refrain/publish"
)

// Config says where events go. All but Binary and DeadLetters is required.
type Config struct {
	Conn  kafkaconn.Config
	Topic string
	Name  string // of the sink, for dead letters and the log

	Binary bool // the binary mode of the CloudEvents binding

	DeadLetters publish.DeadLetters // stores events that the brokers refuse for their size; nil: they are logged
	Logger      *slog.Logger
}

func (c *Config) validate() error {
	return errors.Join(check.Set("topic", c.Topic != ""), check.Set("name", c.Name != ""), check.Set("logger", c.Logger != nil))
}

// Sink writes events to a topic. Publish may be called by many, but events of one key stay in order only when one
// calls it.
type Sink struct {
	cfg       Config
	conn      *kafkaconn.Conn
	transport *kafkaconn.Transport
	client    *kafka.Client
}

var (
	_ publish.Sink = (*Sink)(nil)
	_ io.Closer    = (*Sink)(nil)
)

// Open looks the topic up, which must exist. An error that wraps kafkaconn.ErrUnreachable may go away by itself. Close
// must be called.
func Open(ctx context.Context, cfg Config) (*Sink, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("kafka sink: %w", err)
	}
	cfg.Conn.Logger = cfg.Logger
	conn, err := kafkaconn.New(cfg.Conn)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Probe(ctx, cfg.Topic); err != nil {
		return nil, fmt.Errorf("kafka sink %s: %w", cfg.Name, err)
	}
	t := conn.Transport(cfg.Topic)
	return &Sink{cfg: cfg, conn: conn, transport: t, client: conn.Client(t)}, nil
}

// Close ends the connections. No Publish may be under way.
func (s *Sink) Close() error {
	s.transport.Close()
	return nil
}
