// Package split turns posts into the sentence records that the match workers read.
//
// A post is stamped, cut into sentences and written to the partitions that the hashes of its token sets say, so
// that all occurrences of one text meet in one partition. Behind the posts go watermarks: a watermark is how far the
// clocks of the source partitions have got, and stands in a partition behind everything that it covers. That is the one
// promise that the workers' window relies on, so a watermark is written only when every sentence of the posts before it
// is durable in every partition.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package split

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"refrain/feed"
	"refrain/internal/quota"
	"refrain/internal/retry"
	"refrain/internal/tracing"
	"refrain/text"
	"refrain/topic"
)

// Config says how to split. Sentences and Lateness are the caller's, Default has the rest.
type Config struct {
	Sentences topic.Topic // where the sentence records go
	Control   topic.Topic // where tombstones go, to its partition 0; nil: Delete is an error
	MinTokens int         // words of a sentence that is compared, 0 or more

	// Lateness and MaxHold are those of the window, 0 or more: posts further behind its clock are counted late.
	Lateness, MaxHold time.Duration
	// AppendTimeout is how long one append may take before it is made again with a new stamp, more than 0: the workers
	// rely on stamps to be that close to the truth.
	AppendTimeout time.Duration
	Attempts      int // at an append, 1 or more, before Write gives up

	Now    func() time.Time
	Logger *slog.Logger
}

// Default is the configuration but for the topics and the window's lateness.
func Default() Config {
	return Config{
		MinTokens: text.DefaultMinTokens, MaxHold: 24 * time.Hour, AppendTimeout: 10 * time.Second, Attempts: 4,
		Now: time.Now, Logger: slog.Default(),
	}
}

const maxFutureSkew = time.Minute // how far ahead of now a post may be

func (c *Config) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(c.Sentences != nil, "no sentence topic")
	want(c.MinTokens >= 0, "min tokens %d: want 0 or more", c.MinTokens)
	want(c.Lateness >= 0, "lateness %v: want 0 or more", c.Lateness)
	want(c.MaxHold >= 0, "max hold %v: want 0 or more", c.MaxHold)
	want(c.AppendTimeout > 0, "append timeout %v: want more than 0", c.AppendTimeout)
	want(c.Attempts >= 1, "attempts %d: want 1 or more", c.Attempts)
	want(c.Now != nil, "no clock")
	want(c.Logger != nil, "no logger")
	return errors.Join(errs...)
}

// Split writes posts to the sentence topic. It may be used by several goroutines; the batches of one source
// partition are written one after the other, so whoever waits for one Write before the next keeps their order.
type Split struct {
	cfg     Config
	tracer  trace.Tracer
	metrics metrics

	lateWarning      rate.Sometimes // of the warning of late posts
	watermarkWarning rate.Sometimes // of the warning that watermarks cannot be written
	splitters        sync.Pool      // of *text.Splitter

	writer  uint64       // names this Split in its watermarks
	pending atomic.Bool  // the clock has moved, or a source partition become active or idle, without a watermark yet
	refused atomic.Bool  // the topic has refused something since the last tick
	full    atomic.Int64 // nanoseconds since 1970: when the topic last had no room for posts; 0: it has since

	watermarkMu      sync.Mutex // held while a watermark is on its way
	watermarkWritten time.Time  // when the last one was written
	active           bool       // that one covered active source partitions

	mu      sync.Mutex
	sources map[string]*source
	ticked  time.Time
	reached feed.Time // see advanceReached
	known   bool
}

// New returns a Split that knows no source partition yet.
func New(cfg Config) (*Split, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	return &Split{
		cfg: cfg, tracer: otel.Tracer("refrain/split"), metrics: newMetrics(),
		writer: rand.Uint64(), ticked: cfg.Now(), sources: map[string]*source{},
		lateWarning: rate.Sometimes{Interval: time.Minute}, watermarkWarning: rate.Sometimes{Interval: time.Minute},
		splitters: sync.Pool{New: func() any { return new(text.Splitter) }},
	}, nil
}

// Write stamps posts, in place, and returns nil when all their sentences are durable. After an error the caller
// writes the same posts again, stamped as they are, before any others of that source partition: what was written
// twice is recognised and changes nothing.
//
// A post without a time of its own keeps the Time it has, its record's, or gets the present. One more than a
// minute ahead gets the present too, and Adjusted.
func (s *Split) Write(ctx context.Context, posts []feed.Post, partition string) error {
	_, err := s.WriteFrom(ctx, "", posts, partition)
	return err
}

// Written is what a batch took.
type Written struct {
	BySource map[string]quota.Usage // of the posts
	Stamp    time.Time              // of the last of their records; zero: there is none
}

// WriteFrom is Write for posts that somebody is to be held to account for: origin goes with their records.
func (s *Split) WriteFrom(ctx context.Context, origin string, posts []feed.Post,
	partition string) (Written, error) {
	ctx, span := s.tracer.Start(ctx, "split")
	defer span.End()
	src := s.source(partition)
	src.mu.Lock()
	defer src.mu.Unlock()
	written, err := s.write(ctx, src, posts, origin)
	if err != nil {
		span.RecordError(err)
		return Written{}, fmt.Errorf("split batch of %q: %w", partition, err)
	}
	return written, nil
}

func (s *Split) write(ctx context.Context, src *source, posts []feed.Post, origin string) (Written, error) {
	now := s.cfg.Now()
	s.wake(src)
	stamp(posts, feed.FromTime(now))
	late := s.countLate(posts)
	written, sentences, err := s.writePieces(ctx, posts, origin)
	if err != nil {
		return Written{}, err
	}
	s.metrics.countWritten(ctx, sentences, late)
	s.warnLate(src.name, late)
	s.advance(src, posts)
	s.writeDueWatermark(ctx, now)
	return written, nil
}

// pieceText bounds the text that is made into sentences at a time, but for the last post of a piece: sentences take up to
// forty times as much. Usual batches are one piece.
const pieceText = 1 << 20

// writePieces makes the sentences of posts durable, so many posts after the other that their sentences take little
// memory. It returns what the posts of each source take, and how many sentences there were. Where a piece fails, those
// before it are in the topic, and come again with the whole.
func (s *Split) writePieces(ctx context.Context, posts []feed.Post,
	origin string) (written Written, sentences int, err error) {
	trace := tracing.Of(ctx)
	all := usage{}
	for len(posts) > 0 {
		n := piece(posts)
		e := s.encode(posts[:n], trace, origin)
		if err := s.append(ctx, e.out, e.sentences); err != nil {
			s.metrics.unconfirmed.Add(ctx, int64(sentences)) // they are there, of posts that are not durable as a whole
			return Written{}, 0, err
		}
		all.addAll(e.usage.of(e.out))
		if n := len(e.out); n > 0 {
			written.Stamp = e.out[n-1].Time
		}
		posts, sentences = posts[n:], sentences+e.sentences
	}
	written.BySource = all
	return written, sentences, nil
}

// piece is how many of the first posts are one piece; at least one.
func piece(posts []feed.Post) int {
	size := 0
	for i := range posts {
		if size += len(posts[i].Text); size > pieceText && i > 0 {
			return i
		}
	}
	return len(posts)
}

// warnLate warns of late posts, now and then: their repeats may be missed.
func (s *Split) warnLate(partition string, late int) {
	if late > 0 {
		s.lateWarning.Do(func() {
			s.cfg.Logger.Warn("posts are further behind the feed's clock than lateness allows: repeats of them may be missed",
				"partition", partition, "posts", late, "lateness", s.cfg.Lateness.String())
		})
	}
}

// stamp gives every post its time.
func stamp(posts []feed.Post, now feed.Time) {
	limit := now.Add(maxFutureSkew)
	for i := range posts {
		p := &posts[i]
		switch {
		case !p.Timed && (p.Time == 0 || p.Time > limit):
			p.Time = now
		case p.Timed && p.Time > limit:
			p.Time, p.Adjusted = now, true
		}
	}
}

// append makes the records of so many sentences durable.
func (s *Split) append(ctx context.Context, records []topic.Record, sentences int) error {
	return s.appendTo(ctx, s.cfg.Sentences, records, sentences)
}

// appendTo makes records durable. An attempt that takes too long is given up, and made again with a new stamp; nobody
// knows which of its sentences are in the topic all the same, so they are counted.
func (s *Split) appendTo(ctx context.Context, to topic.Topic, records []topic.Record, sentences int) error {
	if len(records) == 0 {
		return nil
	}
	pauses := retry.Quick()
	for attempt := 1; ; attempt++ {
		err := s.attempt(ctx, to, records)
		s.noteRoom(to, err)
		if err != nil {
			s.refused.Store(true)
			s.metrics.unconfirmed.Add(ctx, int64(sentences))
		}
		if err == nil || attempt == s.cfg.Attempts || isPermanent(err) || ctx.Err() != nil {
			return err
		}
		s.cfg.Logger.Warn("split: retrying append", "attempt", attempt, "error", err)
		if err := retry.Sleep(ctx, pauses.NextBackOff()); err != nil {
			return err
		}
	}
}

func (s *Split) attempt(ctx context.Context, to topic.Topic, records []topic.Record) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AppendTimeout)
	defer cancel()
	now := s.cfg.Now()
	for i := range records {
		records[i].Time = now
	}
	return to.Append(ctx, records)
}

// isPermanent: an error that trying again at once does not mend.
func isPermanent(err error) bool {
	return errors.Is(err, topic.ErrFull) || errors.Is(err, topic.ErrTooLarge) || errors.Is(err, topic.ErrClosed)
}

// Delete makes the deletion of posts, and of all that authors have posted so far, durable; the workers take them out of
// their windows soon after.
func (s *Split) Delete(ctx context.Context, deleted []feed.Tombstone) error {
	if len(deleted) == 0 {
		return nil
	}
	if s.cfg.Control == nil {
		return errors.New("delete posts: no control topic")
	}
	for i := range deleted {
		if err := deleted[i].Check(); err != nil {
			return fmt.Errorf("delete posts: %w", err)
		}
	}
	record := topic.Record{Trace: tracing.Of(ctx), Data: topic.AppendTombstones(nil, deleted)}
	if err := s.appendTo(ctx, s.cfg.Control, []topic.Record{record}, 0); err != nil {
		return fmt.Errorf("delete posts: %w", err)
	}
	return nil
}
