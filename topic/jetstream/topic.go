package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"refrain/internal/check"
	"refrain/topic"
	"refrain/topic/jetstream/blocks"
)

// Discard says what a topic that has reached MaxBytes does with a further record.
type Discard int

const (
	DiscardOld Discard = iota // drop the oldest records
	DiscardNew                // refuse the record with topic.ErrFull
)

// TopicConfig describes one topic. All but Name and Partitions may differ from one start to the next.
type TopicConfig struct {
	// Name names the stream: letters, digits, "-" and "_". A record of partition 3 has the subject Name.3.
	Name       string
	Partitions int           // 1 or more
	MaxAge     time.Duration // records are dropped this long after their append; 0: never
	MaxBytes   int64         // of all partitions together, on disk; 0: no limit
	Discard    Discard
	// Packed says that records appended together may share a message, for topics of many small ones. Positions of a
	// packed topic are 32 times those of one that is not: readers' positions do not survive a change.
	Packed bool

	// Coding compresses the data of messages, where that makes them smaller.
	Coding Coding

	// Prompt says that records are stamped as they are appended, so that a clock that is wrong is refused: on servers of
	// somebody else, see ClusterConfig.Delta.
	Prompt bool

	// Purged says that Purge will be called: the server refuses it for all others.
	Purged bool

	// Fixed holds further settings that the content depends on ("min_tokens": "4"). Like the number of
	// partitions they are kept with the topic, and opening it with another value is refused.
	Fixed map[string]string

	Now    func() time.Time // the clock of the stamps
	Logger *slog.Logger     // is told about interruptions of the readers
}

// DefaultTopic is one partition without limits, which still wants its name.
func DefaultTopic() TopicConfig {
	return TopicConfig{Partitions: 1, Now: time.Now, Logger: slog.Default()}
}

// maxInFlight bounds the bytes of a topic that are sent and not yet acknowledged, all appends together.
const maxInFlight = 32 << 20

// Topic is a topic.Topic in one JetStream stream. Its positions follow the stream sequences, which start at 1: all
// partitions share one order.
type Topic struct {
	cfg      TopicConfig
	js       js.JetStream
	inFlight *semaphore.Weighted
	health   health
	lineage  lineage
	pace     *rate.Limiter // nil: none
	lost     losses
	appended atomic.Int64 // bytes, since it was opened
}

// health is what is known of the server that keeps a topic.
type health struct {
	check   func() error    // is asked before each append whether there is room
	stopped <-chan struct{} // closed when the server will acknowledge nothing more
	lost    []blocks.Range  // what the files of the topic lacked when the server started

	ended   <-chan struct{} // closed when the topic is another one than it was; nil: never
	why     func() error    // what has become of it
	watched *watched        // is told what was acknowledged; nil: the server is in this process
}

var _ topic.Topic = (*Topic)(nil)

// NewJetStream makes the client that topics want: appends wait for their own acknowledgements and bound themselves.
func NewJetStream(conn *nats.Conn) (js.JetStream, error) {
	client, err := js.New(conn, js.WithPublishAsyncMaxPending(1<<20), js.WithPublishAsyncTimeout(ackWait))
	if err != nil {
		return nil, fmt.Errorf("jetstream client: %w", err)
	}
	return client, nil
}

// ackWait is how long an append may take until it counts as failed: δ of docs/design/0002-who-reports-a-pair.md.
const ackWait = 10 * time.Second

// OpenTopic opens a topic of this server, making it if need be. Appends to it are refused while the disk is full.
func (s *Server) OpenTopic(ctx context.Context, cfg TopicConfig) (*Topic, error) {
	h := health{check: s.Check, stopped: s.log.stopped, lost: s.lost[cfg.Name].messages}
	t, err := openTopic(ctx, s.js, cfg, h, func(ctx context.Context) (lineage, error) { return ensureStream(ctx, s.js, cfg) })
	if err != nil {
		return nil, err
	}
	t.pace = s.pace
	if err := s.beginIncarnation(ctx, t); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	return t, nil
}

func openTopic(ctx context.Context, client js.JetStream, cfg TopicConfig, h health,
	ensure func(context.Context) (lineage, error)) (*Topic, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open topic %q: %w", cfg.Name, err)
	}
	lineage, err := ensure(ctx)
	if err != nil {
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	t := &Topic{cfg: cfg, js: client, inFlight: semaphore.NewWeighted(maxInFlight), health: h, lineage: lineage}
	t.lost.add(h.lost...)
	if err := t.addDeleted(ctx); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	return t, nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (c TopicConfig) validate() error {
	var errs []error
	if !validName.MatchString(c.Name) {
		errs = append(errs, errors.New("a name is letters, digits, - and _"))
	}
	if c.Discard != DiscardOld && c.Discard != DiscardNew {
		errs = append(errs, fmt.Errorf("unknown discard policy %d", c.Discard))
	}
	if c.Coding != Plain && c.Coding != S2 && c.Coding != Zstd {
		errs = append(errs, fmt.Errorf("unknown coding %q", string(c.Coding)))
	}
	return errors.Join(append(errs, check.AtLeast(1, "partitions", c.Partitions), check.AtLeast(0, "max age", c.MaxAge),
		check.AtLeast(0, "max bytes", c.MaxBytes), check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil))...)
}

// ensureStream makes the stream or brings its limits up to date. It returns the stream's incarnations.
func ensureStream(ctx context.Context, client js.JetStream, cfg TopicConfig) (lineage, error) {
	stream, err := client.Stream(ctx, cfg.Name)
	if errors.Is(err, js.ErrStreamNotFound) {
		fresh := lineage{newIncarnation(1)}
		_, err = client.CreateStream(ctx, cfg.stream(fresh))
		return fresh, err
	}
	if err != nil {
		return nil, err
	}
	metadata := stream.CachedInfo().Config.Metadata
	if err := cfg.checkFixed(metadata); err != nil {
		return nil, err
	}
	l, err := parseLineage(metadata[metadataLineage])
	if err != nil {
		return nil, err
	}
	_, err = client.UpdateStream(ctx, cfg.stream(l))
	return l, err
}

func (c TopicConfig) checkFixed(metadata map[string]string) error {
	want := c.metadata()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have, ok := metadata[key]; !ok || have != want[key] {
			return &topic.FixedError{Topic: c.Name, Setting: strings.TrimPrefix(key, metadataPrefix), Is: shown(have), Want: want[key]}
		}
	}
	return nil
}

func shown(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}

// metadataPrefix keeps our keys apart from the server's.
const metadataPrefix = "refrain."

func (c TopicConfig) metadata() map[string]string {
	m := map[string]string{metadataPrefix + "partitions": strconv.Itoa(c.Partitions)}
	for k, v := range c.Fixed {
		m[metadataPrefix+k] = v
	}
	return m
}

func (c TopicConfig) stream(l lineage) js.StreamConfig {
	discard := js.DiscardOld
	if c.Discard == DiscardNew {
		discard = js.DiscardNew
	}
	maxBytes := int64(-1)
	if c.MaxBytes > 0 {
		maxBytes = c.MaxBytes
	}
	metadata := c.metadata()
	metadata[metadataLineage] = l.String()
	return js.StreamConfig{
		Name: c.Name, Subjects: []string{c.Name + ".*"}, Storage: js.FileStorage,
		Retention: js.LimitsPolicy, MaxAge: c.MaxAge, MaxBytes: maxBytes, Discard: discard,
		// Direct reads serve Bounds; records are deleted by the limits, and by Purge, alone.
		AllowDirect: true, DenyDelete: true, DenyPurge: !c.Purged,
		Metadata: metadata,
	}
}

// Partitions implements topic.Topic.
func (t *Topic) Partitions() int { return t.cfg.Partitions }

// Ordered implements topic.Topic: always true.
func (t *Topic) Ordered() bool { return true }

func (t *Topic) subject(partition int) string { return t.cfg.Name + "." + strconv.Itoa(partition) }
