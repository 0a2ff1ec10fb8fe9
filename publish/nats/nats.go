// Package nats publishes events to a NATS JetStream stream.
//
// They go in the structured mode of the CloudEvents binding: the payload is the event, the header content-type says so.
// Nats-Msg-Id is the event's id, so within its window the stream keeps one of several equal events; beyond it a consumer
// tells them by the id, as everywhere. An event counts as published when the stream has stored it: of a stream with
// replicas, most of them.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/check"
	"refrain/internal/natsconn"
	"refrain/internal/tracing"
	"refrain/publish"
)

// Config says where events go. Default has all but Conn, Subject and Name.
type Config struct {
	Conn    natsconn.Config
	Subject string // without wildcards, of a stream that exists
	Name    string // of the sink, for dead letters and the log

	// DeadLetters stores the events that are too large for the server or the stream. Nil: such an event is an error, and
	// those behind it wait.
	DeadLetters publish.DeadLetters
	AckTimeout  time.Duration // for the acknowledgement of one event; above 0
	Logger      *slog.Logger
}

// Default wants events to be acknowledged soon.
func Default() Config {
	return Config{AckTimeout: 10 * time.Second, Logger: slog.Default()}
}

func (c *Config) validate() error {
	var subject error
	if c.Subject == "" || strings.ContainsAny(c.Subject, "*> \t\r\n") {
		subject = errors.New("want a subject without wildcards and spaces")
	}
	return errors.Join(subject, check.Set("name", c.Name != ""), check.Positive("ack timeout", c.AckTimeout),
		check.Set("logger", c.Logger != nil))
}

// maxInFlight bounds the events that wait for an acknowledgement, as the server may be slow to give it.
const maxInFlight = 1024

// Sink is a subject of a stream. It is safe for concurrent use.
type Sink struct {
	cfg    Config
	conn   *nats.Conn
	js     js.JetStream
	stream string // that keeps the subject
	once   sync.Once
}

var _ publish.Sink = (*Sink)(nil)

// Open connects, and looks for the stream that keeps the subject. While no server is to be reached it waits, until ctx
// ends. Close must be called.
func Open(ctx context.Context, cfg Config) (*Sink, error) {
	s := &Sink{cfg: cfg}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("publish to nats subject %q: %w", cfg.Subject, err)
	}
	return s, nil
}

func (s *Sink) open(ctx context.Context) error {
	err := s.cfg.validate()
	if err != nil {
		return err
	}
	if s.conn, err = natsconn.Connect(ctx, s.cfg.Conn, s.cfg.Logger); err != nil {
		return err
	}
	s.js, err = js.New(s.conn, js.WithPublishAsyncTimeout(s.cfg.AckTimeout), js.WithPublishAsyncMaxPending(2*maxInFlight))
	if err == nil {
		err = s.find(ctx)
	}
	if err != nil {
		s.conn.Close()
	}
	return err
}

// find looks for the stream.
func (s *Sink) find(ctx context.Context) error {
	name, err := s.js.StreamNameBySubject(ctx, s.cfg.Subject)
	if errors.Is(err, js.ErrStreamNotFound) {
		return fmt.Errorf("no stream keeps it: create one, as `nats stream add REUSE --subjects %s --defaults` does",
			s.cfg.Subject)
	}
	if err != nil {
		return fmt.Errorf("look for its stream: %w", err)
	}
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	if stream.CachedInfo().Config.NoAck {
		return fmt.Errorf("stream %s acknowledges nothing (no_ack): events could be lost", name)
	}
	s.stream = name
	return nil
}

// Publish implements publish.Sink. All events are sent one behind the other, and then all acknowledgements awaited.
func (s *Sink) Publish(ctx context.Context, events []publish.Event) error {
	for len(events) > 0 {
		n := min(len(events), maxInFlight)
		if err := s.publish(ctx, events[:n]); err != nil {
			return fmt.Errorf("publish to nats subject %s: %w", s.cfg.Subject, err)
		}
		events = events[n:]
	}
	return nil
}

func (s *Sink) publish(ctx context.Context, events []publish.Event) error {
	if !s.conn.IsConnected() { // else the client would keep them until it is, and nobody would know
		return nats.ErrDisconnected
	}
	sent := make([]js.PubAckFuture, len(events))
	for i := range events {
		ack, err := s.js.PublishMsgAsync(s.message(&events[i]), js.WithExpectStream(s.stream), js.WithRetryAttempts(0))
		if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
			return fmt.Errorf("event %s: %w", events[i].ID, err)
		}
		if err != nil {
			if err := s.deadLetter(&events[i], err); err != nil {
				return err
			}
		}
		sent[i] = ack
	}
	for i := range sent {
		if err := s.await(ctx, &events[i], sent[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sink) message(e *publish.Event) *nats.Msg {
	h := nats.Header{
		"content-type": {"application/cloudevents+json"},
		js.MsgIDHeader: {e.ID},
	}
	parent, state := tracing.Split(e.Trace)
	if parent != "" {
		h[tracing.Parent] = []string{parent}
	}
	if state != "" {
		h[tracing.State] = []string{state}
	}
	return &nats.Msg{Subject: s.cfg.Subject, Header: h, Data: e.Data}
}

// await waits for the acknowledgement of one event; ack is nil for one that was not sent.
func (s *Sink) await(ctx context.Context, e *publish.Event, ack js.PubAckFuture) error {
	if ack == nil {
		return nil
	}
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return s.explain(e, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Error codes of the JetStream API.
const (
	codeTooLarge    = 10054
	codeOtherStream = 10060
)

func (s *Sink) explain(e *publish.Event, err error) error {
	var api *js.APIError
	switch {
	case errors.As(err, &api) && api.ErrorCode == codeTooLarge:
		return s.deadLetter(e, err)
	case errors.As(err, &api) && api.ErrorCode == codeOtherStream:
		return fmt.Errorf("event %s: the subject is no longer that of stream %s: %w", e.ID, s.stream, err)
	case errors.Is(err, js.ErrNoStreamResponse):
		return fmt.Errorf("event %s: stream %s does not answer: is it still there? %w", e.ID, s.stream, err)
	}
	return fmt.Errorf("event %s: %w", e.ID, err)
}

// deadLetter gives an event that can never be published to the dead letters.
func (s *Sink) deadLetter(e *publish.Event, cause error) error {
	reason := fmt.Sprintf("event of %d bytes for stream %s: %v", len(e.Data), s.stream, cause)
	if s.cfg.DeadLetters == nil {
		return errors.New(reason)
	}
	s.cfg.Logger.Warn("publish: too large, a dead letter", "sink", s.cfg.Name, "subject", s.cfg.Subject, "id", e.ID,
		"bytes", len(e.Data))
	if err := s.cfg.DeadLetters.Write("nats "+s.cfg.Name+" "+e.Offset, reason, e.Data); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	return nil
}

// Close ends the connection. What was published before is stored.
func (s *Sink) Close() error {
	s.once.Do(s.conn.Close)
	return nil
}
