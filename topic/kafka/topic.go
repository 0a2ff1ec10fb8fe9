package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"refrain/internal/check"
	"refrain/topic"
)

// TopicConfig describes one topic. All but Name, Partitions, Compact and Fixed may differ from one start to the next.
type TopicConfig struct {
	// Name is the topic's on the cluster: letters, digits, "-" and "_".
	Name       string
	Partitions int // 1 or more
	// MaxAge is after when records are dropped; 0: never. Kafka drops whole segments, so they stay some time longer.
	MaxAge time.Duration
	// MaxBytes is how much all partitions together may have; 0: no limit. Kafka has no limit that refuses: beyond it, in
	// any partition's share, the oldest records of that partition are dropped. Leave it 0 for topics that may lose nothing.
	MaxBytes int64
	// MinRetention is the retention below which the topic is refused if it cannot be raised; 0: MaxAge.
	MinRetention time.Duration
	// MaxRecord is the largest record in bytes.
	MaxRecord int

	// Compact says that of records with the same data one is enough, and that nothing else is ever dropped.
	Compact bool
	// Prompt says that brokers shall refuse a record whose stamp is more than Config.Delta from their clock: it has been
	// under way for too long, or the writer's clock is wrong. Only for topics whose records are stamped when appended.
	Prompt bool

	// Fixed holds further settings that the content depends on ("min_tokens": "4"). Like the number of
	// partitions they are kept with the topic, and opening it with another value is refused.
	Fixed map[string]string

	Now    func() time.Time // the clock of the stamps
	Logger *slog.Logger     // is told about interruptions of the readers
}

// DefaultTopic is one partition without limits, which still wants its name.
func DefaultTopic() TopicConfig {
	return TopicConfig{Partitions: 1, MaxRecord: 8 << 20, Now: time.Now, Logger: slog.Default()}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,249}$`)

// maxMaxRecord leaves room below what kafkaconn accepts of a broker in one answer.
const maxMaxRecord = 32 << 20

func (c *TopicConfig) validate() error {
	var errs []error
	if !validName.MatchString(c.Name) {
		errs = append(errs, errors.New("a name is letters, digits, - and _, 249 at most"))
	}
	if c.MaxRecord > maxMaxRecord {
		errs = append(errs, fmt.Errorf("max record: %d, want %d or less", c.MaxRecord, maxMaxRecord))
	}
	if c.MaxAge > 0 && c.MinRetention > c.MaxAge {
		errs = append(errs, fmt.Errorf("min retention %v exceeds max age %v", c.MinRetention, c.MaxAge))
	}
	if c.Compact && (c.MaxAge > 0 || c.MaxBytes > 0) {
		errs = append(errs, errors.New("a compacted topic has no limits"))
	}
	return errors.Join(append(errs, check.AtLeast(1, "partitions", c.Partitions), check.AtLeast(0, "max age", c.MaxAge),
		check.AtLeast(0, "min retention", c.MinRetention), check.AtLeast(0, "max bytes", c.MaxBytes),
		check.AtLeast(1, "max record", c.MaxRecord), check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil))...)
}

// Topic is a topic.Topic in one Kafka topic. Its positions are Kafka's offsets: each partition has an order of its own.
type Topic struct {
	cfg      TopicConfig
	link     *link
	inFlight *semaphore.Weighted
	lineage  topic.Lineage
	starts   starts
	appended atomic.Int64 // bytes, since it was opened
	unsized  sync.Once    // says that the brokers do not tell sizes
}

var _ topic.Topic = (*Topic)(nil)

// OpenTopic opens a topic, creating it if need be. A *topic.FixedError says that it exists with another number of
// partitions or another fixed setting; a *SettingsError, that it has settings with which records could get lost.
func (c *Cluster) OpenTopic(ctx context.Context, cfg TopicConfig) (*Topic, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open topic %q: %w", cfg.Name, err)
	}
	l, err := c.link(cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	t, err := c.openTopic(ctx, l, cfg)
	if err != nil {
		c.drop(l)
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	l.opened.Store(true)
	return t, nil
}

func (c *Cluster) openTopic(ctx context.Context, l *link, cfg TopicConfig) (*Topic, error) {
	last, err := c.registry.last(ctx, cfg.Name)
	if err != nil {
		return nil, err
	}
	s := &spec{name: cfg.Name, partitions: cfg.Partitions, settings: c.settingsOf(&cfg), made: last.Partitions}
	fresh, err := c.ensure(ctx, l, s)
	if err != nil {
		return nil, err
	}
	entries, err := c.registry.ensure(ctx, &cfg, last, fresh)
	if err != nil {
		return nil, err
	}
	t := newTopic(l, cfg)
	t.lineage = lineageOf(entries, cfg.Partitions)
	return t, nil
}

func newTopic(l *link, cfg TopicConfig) *Topic {
	return &Topic{cfg: cfg, link: l, inFlight: semaphore.NewWeighted(maxInFlight)}
}

// Close ends the topic's connections, and its readers. Cluster.Close closes those that are left.
func (t *Topic) Close() error {
	t.link.cluster.drop(t.link)
	return nil
}

// Name is the topic's on the cluster.
func (t *Topic) Name() string { return t.cfg.Name }

// Partitions implements topic.Topic.
func (t *Topic) Partitions() int { return t.cfg.Partitions }

// Ordered implements topic.Topic: always false.
func (t *Topic) Ordered() bool { return false }

// Lineage implements topic.Topic. What all in-sync replicas have acknowledged, two at least, Kafka keeps as long as not all
// of them lose their disks: so a topic has one incarnation, whose name is random and kept in NAME-topics from when the
// topic was created through us. A topic that was deleted and created again is another one. If records are lost all the
// same, a reader that had them finds out (marks), and begins another incarnation.
func (t *Topic) Lineage() topic.Lineage { return t.lineage }
