package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"refrain/internal/datadir"
	"refrain/topic"
	"refrain/topic/jetstream"
	"refrain/topic/kafka"
)

// broker keeps the topics and stores of a deployment: in the data directory of the one process that there is (embedded), or
// where several processes reach them (natsBroker, kafkaBroker).
type broker interface {
	openTopic(ctx context.Context, spec topicSpec) (openTopic, error)
	openStore(ctx context.Context, name string) (topic.Store, error)
	// join makes this process one of a group that parts are dealt out to.
	join(ctx context.Context, group string, parts int) (topic.Membership, error)
	// skew is how far our clock is ahead of the broker's, at least; false: it is not known, or there is but one clock.
	skew(ctx context.Context) (ahead time.Duration, measured bool)
	// Check says why records are not taken now; nil: they are.
	Check() error
	// Lost says why a topic is another one than it was, so that the node has to be opened anew; nil: none is.
	Lost() error
	Close() error
}

// openTopic is a topic that knows how full it is.
type openTopic interface {
	topic.Topic
	Size(ctx context.Context) (topic.Size, error)
}

// topicSpec is what the route wants of a topic, whoever keeps it.
type topicSpec struct {
	name       string // without that of the deployment
	partitions int
	maxAge     time.Duration
	maxBytes   int64 // 0: no limit
	refuses    bool  // at maxBytes, where it can; else, and elsewhere, the oldest records go
	packed     bool  // its records are many and small
	purged     bool  // what nobody needs goes sooner, where it can
	coded      bool  // records compress well
	prompt     bool  // records are stamped as they are appended
	fixed      map[string]string
}

// openBroker connects to what the configuration names.
func (n *node) openBroker(ctx context.Context) (broker, error) {
	if n.cfg.onBroker() { // dead letters and models are files all the same
		if err := os.MkdirAll(n.cfg.DataDir, 0o700); err != nil {
			return nil, err
		}
	}
	switch {
	case n.cfg.onKafka():
		return n.openKafkaBroker(ctx)
	case n.cfg.onNATS():
		return n.openNATSBroker(ctx)
	}
	return n.openEmbedded()
}

// embedded keeps topics in the data directory, which is locked for as long.
type embedded struct {
	*jetstream.Server
	now func() time.Time
	log *slog.Logger
}

var _ broker = (*embedded)(nil)

func (n *node) openEmbedded() (broker, error) {
	storage := jetstream.Default()
	storage.Dir, storage.Claim, storage.Sync, storage.Logger = n.cfg.DataDir, datadir.Claim, n.cfg.Topics.Sync, n.log
	s, err := jetstream.Start(storage)
	if err != nil {
		return nil, err
	}
	return &embedded{s, n.now, n.log}, nil
}

func (b *embedded) openTopic(ctx context.Context, spec topicSpec) (openTopic, error) {
	t, err := b.OpenTopic(ctx, spec.jetstream(spec.name, b.now, b.log))
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *embedded) openStore(ctx context.Context, name string) (topic.Store, error) {
	s, err := b.OpenStore(ctx, name)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Lost is nil: nobody else touches the data directory.
func (b *embedded) Lost() error { return nil }

// join: there is one process, which has everything from the start, and asks nobody.
func (b *embedded) join(context.Context, string, int) (topic.Membership, error) {
	return nil, errors.New("a data directory is one process's")
}

func (b *embedded) skew(context.Context) (time.Duration, bool) { return 0, false }

// jetstream is what JetStream is told, here and elsewhere.
func (s *topicSpec) jetstream(name string, now func() time.Time, log *slog.Logger) jetstream.TopicConfig {
	c := jetstream.DefaultTopic()
	c.Name, c.Partitions, c.MaxAge, c.MaxBytes, c.Packed, c.Purged, c.Fixed = name, s.partitions, s.maxAge, s.maxBytes, s.packed, s.purged, s.fixed
	c.Prompt, c.Now, c.Logger = s.prompt, now, log
	if s.refuses {
		c.Discard = jetstream.DiscardNew
	}
	if s.coded {
		c.Coding = jetstream.S2
	}
	return c
}

// isTemporary reports whether a broker that is not there yet may be the reason of an error.
func isTemporary(err error) bool { return kafka.IsTemporary(err) || jetstream.IsUnavailable(err) }
