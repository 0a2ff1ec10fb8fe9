package nats

import (
	"context"
	"errors"
	"fmt"

	js "github.com/nats-io/nats.go/jetstream"
)

// subscribe finds the consumer, or makes it. One that is there is left as it is: somebody may have tuned it.
func (s *Source) subscribe(ctx context.Context) error {
	stream, err := s.js.Stream(ctx, s.cfg.Stream)
	if errors.Is(err, js.ErrStreamNotFound) {
		return fmt.Errorf("there is no stream %s: create it, as `nats stream add %[1]s --subjects posts --defaults` does",
			s.cfg.Stream)
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", s.cfg.Stream, err)
	}
	if err := s.checkSubject(ctx, stream.CachedInfo()); err != nil {
		return err
	}
	consumer, err := stream.Consumer(ctx, s.cfg.Consumer)
	if errors.Is(err, js.ErrConsumerNotFound) {
		consumer, err = s.create(ctx, stream)
	}
	if err != nil {
		return fmt.Errorf("consumer %s: %w", s.cfg.Consumer, err)
	}
	have := consumer.CachedInfo().Config
	if err := s.check(&have); err != nil {
		return fmt.Errorf("consumer %s exists and %w: change it with `nats consumer edit`, or name another", s.cfg.Consumer, err)
	}
	s.consumer, s.unfiltered = consumer, coversAll(&have, stream.CachedInfo().Config.Subjects)
	return nil
}

// checkSubject wants a filter that some message can pass. A stream that copies others may hold any subject.
func (s *Source) checkSubject(ctx context.Context, info *js.StreamInfo) error {
	if s.cfg.Subject == "" || info.Config.Mirror != nil || len(info.Config.Sources) > 0 {
		return nil
	}
	names, found := s.js.StreamNames(ctx, js.WithStreamListSubject(s.cfg.Subject)), false
	for name := range names.Name() { // to its end: else it would wait for us
		found = found || name == s.cfg.Stream
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("look for subject %s: %w", s.cfg.Subject, err)
	}
	if found {
		return nil
	}
	return fmt.Errorf("subject %s matches nothing: stream %s takes %q", s.cfg.Subject, s.cfg.Stream, info.Config.Subjects)
}

// create makes the consumer. It is an error if somebody else makes another one of that name meanwhile.
func (s *Source) create(ctx context.Context, stream js.Stream) (js.Consumer, error) {
	policy := js.DeliverAllPolicy
	if s.cfg.Start == latest {
		policy = js.DeliverNewPolicy
	}
	s.cfg.Logger.Info("ingest: consumer made", "stream", s.cfg.Stream, "consumer", s.cfg.Consumer, "start", s.cfg.Start)
	return stream.CreateConsumer(ctx, js.ConsumerConfig{
		Durable: s.cfg.Consumer, Description: "posts for refrain",
		DeliverPolicy: policy, FilterSubject: s.cfg.Subject,
		AckPolicy: js.AckExplicitPolicy, AckWait: s.cfg.AckWait,
		MaxAckPending: 4 * s.cfg.BatchPosts, // one batch out, one being filled, and as much again that was lost on the way
	})
}

// check tells what of a consumer that is there does not do.
func (s *Source) check(have *js.ConsumerConfig) error {
	filters := have.FilterSubjects
	if have.FilterSubject != "" {
		filters = []string{have.FilterSubject}
	}
	switch {
	case have.AckPolicy != js.AckExplicitPolicy:
		return fmt.Errorf("has the acknowledgement policy %q, not %q", have.AckPolicy, js.AckExplicitPolicy)
	case have.HeadersOnly:
		return errors.New("delivers headers only")
	case have.MaxDeliver > 0: // a message given back at the end, or lost in a crash, has used one of them up
		return fmt.Errorf("gives a message up after %d deliveries, which would lose its post (set --max-deliver=-1)",
			have.MaxDeliver)
	case s.cfg.Subject != "" && (len(filters) != 1 || filters[0] != s.cfg.Subject):
		return fmt.Errorf("filters subjects %q, not %q", filters, s.cfg.Subject)
	}
	return nil
}

// coversAll reports whether the consumer gets every message of a stream. Only then is a gap between sequence numbers
// one of the stream.
func coversAll(c *js.ConsumerConfig, subjects []string) bool {
	if len(c.FilterSubjects) > 0 {
		return false
	}
	return c.FilterSubject == "" || c.FilterSubject == ">" || len(subjects) == 1 && subjects[0] == c.FilterSubject
}
