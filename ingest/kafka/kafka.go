// Package kafka reads posts from Kafka topics.
//
// A Source is a member of a consumer group. In each generation of the group it is given some partitions, and reads
// each of them in a goroutine of its own; offsets are committed as far as everything below them is acknowledged.
//
// It fetches with requests of its own and not with the library's Reader, for the Reader cannot tell the records of
// aborted transactions from others, steps over what retention has deleted without a word, and panics at a batch that
// compaction has emptied.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/check"
	"refrain/internal/kafkaconn"
)

// Where a group begins that has no offsets yet.
const (
	Earliest = "earliest" // with the oldest record kept
	Latest   = "latest"   // with what is written from now on
)

// What a record without a value, a tombstone, means.
const (
	Reject     = "reject" // it is no post
	DeletePost = "delete" // the post of SourceName is deleted whose id is the record's key
)

// Config says what is read, and how. Default has all but Conn and Topics.
type Config struct {
	Conn   kafkaconn.Config
	Topics []string // one or more
	Group  string
	Start  string // Earliest or Latest

	Fields     *feed.Fields // names of the fields in the JSON of a post; nil: our own
	SourceName string       // source of posts that name none
	MaxRecord  int64        // bytes of a record, 1 or more; larger ones are rejected
	Tombstones string       // Reject or DeletePost

	// Assigned is called at the start of each generation with the names of all partitions of this member, before any
	// post of them is handed on. An error is retried. Nil: nobody needs to know.
	Assigned func(ctx context.Context, partitions []string) error

	BatchPosts int   // most records of one batch; 1 or more
	BatchBytes int64 // bytes after which a batch is full; 1 or more
	InFlight   int   // most batches of one partition that are handed on and not acknowledged; 1 or more
	Memory     int64 // bytes of records handed on and not acknowledged, over all partitions; 1 or more

	// MaxAhead is how far one partition may get ahead of another that has records to read, in the times of their posts; 0:
	// as far as it can.
	MaxAhead time.Duration

	CommitEvery time.Duration // above 0
	Session     time.Duration // a member that is silent for so long loses its partitions; above 0

	Status *ingest.Status // is told whether the brokers can be reached; nil: nobody is
	Logger *slog.Logger
}

// Default is a member of the group refrain, which begins with the oldest record.
func Default() Config {
	return Config{
		Group: "refrain", Start: Earliest, MaxRecord: 8 << 20, Tombstones: Reject,
		BatchPosts: 500, BatchBytes: 4 << 20, InFlight: 3, Memory: 64 << 20,
		CommitEvery: time.Second, Session: 10 * time.Second, Logger: slog.Default(),
	}
}

func (c *Config) validate() error {
	return errors.Join(
		check.Set("topics", len(c.Topics) > 0), check.Set("the name of a topic", !slices.Contains(c.Topics, "")),
		check.Set("group", c.Group != ""),
		check.OneOf("start", c.Start, Earliest, Latest), check.OneOf("tombstones", c.Tombstones, Reject, DeletePost), check.AtLeast(1, "max record", c.MaxRecord),
		check.AtLeast(1, "batch posts", c.BatchPosts), check.AtLeast(1, "batch bytes", c.BatchBytes),
		check.AtLeast(1, "in flight", c.InFlight), check.AtLeast(1, "memory", c.Memory), check.AtLeast(0, "max ahead", c.MaxAhead),
		check.Positive("commit every", c.CommitEvery), check.Positive("session", c.Session), check.Set("logger", c.Logger != nil),
	)
}

// Source is a member of a consumer group. Next may be called by one goroutine or many, Ack from any.
type Source struct {
	cfg      Config
	conn     *kafkaconn.Conn
	fetches  *kafkaconn.Transport
	client   *kafka.Client
	group    *kafka.ConsumerGroup
	total    int                      // partitions of all topics, when they were looked up
	starts   map[string]map[int]int64 // where partitions without an offset begin, if not at their oldest record
	metrics  *metrics
	warnings sync.Map // message to *rate.Sometimes

	batches chan ingest.Batch // unbuffered: what is handed on is current
	memory  *semaphore.Weighted

	mu       sync.Mutex
	assigned []*partition // of the latest generation

	quit   chan struct{}
	closed sync.Once
	active sync.WaitGroup
}

var (
	_ ingest.Source = (*Source)(nil)
	_ io.Closer     = (*Source)(nil)
)

// Open looks the topics up and joins the group. An error that wraps kafkaconn.ErrUnreachable may go away by itself.
// Close must be called.
func Open(ctx context.Context, cfg Config) (*Source, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("kafka source: %w", err)
	}
	cfg.Topics = slices.Compact(slices.Sorted(slices.Values(cfg.Topics)))
	cfg.Conn.Logger = cfg.Logger
	conn, err := kafkaconn.New(cfg.Conn)
	if err != nil {
		return nil, err
	}
	topics, err := conn.Probe(ctx, cfg.Topics...)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, t := range topics {
		total += len(t.Partitions)
	}
	s := &Source{
		cfg: cfg, total: total, conn: conn, fetches: conn.Transport(cfg.Topics...),
		batches: make(chan ingest.Batch), memory: semaphore.NewWeighted(cfg.Memory), quit: make(chan struct{}),
	}
	s.client = conn.Client(s.fetches)
	if err := s.open(ctx, topics); err != nil {
		s.fetches.Close()
		return nil, fmt.Errorf("kafka source %s: %w", cfg.Group, err)
	}
	return s, nil
}

func (s *Source) open(ctx context.Context, topics []kafka.Topic) (err error) {
	if s.cfg.Start == Latest {
		if s.starts, err = s.ends(ctx, topics); err != nil {
			return fmt.Errorf("find the end of the topics: %w", s.conn.Explain(err))
		}
	}
	s.group, err = kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: s.cfg.Group, Brokers: s.conn.Brokers(), Dialer: s.conn.Dialer(), Topics: s.cfg.Topics,
		HeartbeatInterval: s.cfg.Session / 10, SessionTimeout: s.cfg.Session, RebalanceTimeout: s.cfg.Session,
		JoinGroupBackoff: time.Second, WatchPartitionChanges: true, StartOffset: kafka.FirstOffset,
	})
	if err != nil {
		return err
	}
	s.metrics = newMetrics(s)
	s.active.Go(s.run)
	return nil
}

// Next implements ingest.Source; after Close it returns io.EOF. Trouble with the brokers is no error of Next: the log
// tells it, and reading goes on when it is over.
func (s *Source) Next(ctx context.Context) (ingest.Batch, error) {
	select {
	case <-s.quit:
		return ingest.Batch{}, io.EOF
	default:
	}
	select {
	case b := <-s.batches:
		return b, nil
	case <-s.quit:
		return ingest.Batch{}, io.EOF
	case <-ctx.Done():
		return ingest.Batch{}, ctx.Err()
	}
}

// Waiting names the partitions of this member that have records not yet handed on, or may have, since their broker
// cannot be reached: their silence does not mean that nothing is posted there.
func (s *Source) Waiting() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, p := range s.assigned {
		if p.waiting() {
			names = append(names, p.name)
		}
	}
	return names
}

// Close commits what has been acknowledged and leaves the group, so that the partitions go to other members at once.
func (s *Source) Close() error {
	s.closed.Do(func() {
		close(s.quit)
		_ = s.group.Close() // it has no errors to tell
		s.active.Wait()
		s.metrics.close()
		s.fetches.Close()
	})
	return nil
}
