package split

import (
	"context"
	"flag"
	"log/slog"
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/sim"
	"refrain/shard"
	"refrain/text"
	"refrain/topic"
)

var everySeed = flag.Bool("full", false, "look for mutants with every seed from the first")

// subject is the real code; open is openSplit, or breaks a rule around it. That the unbroken code passes is shard's
// TestSimulation.
func subject(open func(Config) (sim.Writer, error)) sim.Subject {
	quiet := slog.New(slog.DiscardHandler)
	return sim.Subject{
		Rows: func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
			return sim.NewBrute(t, span, lateness, sim.RetainAll), nil
		},
		Writer: func(e sim.Env) (sim.Writer, error) {
			cfg := Default()
			cfg.Sentences, cfg.Control, cfg.MinTokens, cfg.Lateness = e.Sentences, e.Control, e.MinTokens, e.Lateness
			cfg.MaxHold, cfg.Attempts, cfg.Now, cfg.Logger = e.MaxHold, 1, e.Now, quiet
			return open(cfg)
		},
		Worker: func(e sim.Env) (sim.Worker, error) {
			cfg := shard.Default()
			cfg.Sentences, cfg.Events, cfg.Control, cfg.Store, cfg.Owned = e.Sentences, e.Events, e.Control, e.Store, e.Owned
			cfg.Rows = func(q int) (shard.Rows, error) { return e.Rows(q) }
			cfg.Span, cfg.Lateness, cfg.Delta, cfg.MaxQueue, cfg.MaxEvents = e.Span, e.Lateness, e.Delta, e.MaxQueue, e.MaxEvents
			cfg.Redelivery, cfg.MaxHold, cfg.Now, cfg.Logger = e.Redelivery, e.MaxHold, e.Now, quiet
			return shard.Open(context.Background(), cfg)
		},
	}
}

// TestMutants breaks one rule at a time: the simulation has to notice. The code that ships knows nothing of it: the
// mutants are made around it.
func TestMutants(t *testing.T) {
	t.Run("clock by newest time", func(t *testing.T) { wantCaught(t, 1, subject(openNewestClock)) })
	t.Run("marks before the batch is acknowledged", func(t *testing.T) { wantCaught(t, 94, subject(openWatermarkFirst)) })
	t.Run("idle by the clock", func(t *testing.T) { wantCaught(t, 15, subject(openClockIdle)) })
}

// openNewestClock opens a Split whose watermarks give each source partition the newest time of its posts.
func openNewestClock(cfg Config) (sim.Writer, error) {
	cfg.Sentences = &newestClock{cfg.Sentences, map[string]feed.Time{}}
	return New(cfg)
}

// newestClock is a topic that changes the watermarks written to it. It knows the sentences that it holds; the feed of the
// simulation names sources after their partitions.
type newestClock struct {
	topic.Topic
	newest map[string]feed.Time
}

func (t *newestClock) Append(ctx context.Context, records []topic.Record) error {
	records = slices.Clone(records)
	var sentences []feed.Sentence
	for i := range records {
		b, err := topic.DecodeBatch(records[i].Data)
		if err != nil {
			return err
		}
		sentences = append(sentences, b.Sentences...)
		if b.Watermark != nil {
			b.Watermark.Time = max(b.Watermark.Time, t.newest[b.Watermark.Source])
		}
		records[i].Data = b.Append(nil)
	}
	if err := t.Topic.Append(ctx, records); err != nil {
		return err
	}
	for i := range sentences {
		t.newest[sentences[i].Source] = max(t.newest[sentences[i].Source], sentences[i].Time)
	}
	return nil
}

// openWatermarkFirst opens a Split that writes the watermark of a source partition, with the clock of a batch, before
// the batch.
func openWatermarkFirst(cfg Config) (sim.Writer, error) {
	s, err := New(cfg)
	return watermarkFirst{s}, err
}

type watermarkFirst struct{ *Split }

func (s watermarkFirst) Write(ctx context.Context, posts []feed.Post, partition string) error {
	s.writeEarly(ctx, s.source(partition), posts)
	return s.Split.Write(ctx, posts, partition)
}

func (s watermarkFirst) writeEarly(ctx context.Context, src *source, posts []feed.Post) {
	src.mu.Lock()
	defer src.mu.Unlock()
	now, before, seen := s.cfg.Now(), src.clock.Clone(), src.seen
	stamp(posts, feed.FromTime(now))
	s.advance(src, posts)
	s.writeDueWatermark(ctx, now)
	src.clock, src.seen = before, seen
}

// openClockIdle opens a Split for which all time between two ticks counts, however long they are apart.
func openClockIdle(cfg Config) (sim.Writer, error) {
	s, err := New(cfg)
	return clockIdle{s}, err
}

type clockIdle struct{ *Split }

func (s clockIdle) Tick(ctx context.Context, now time.Time) {
	for now.Sub(s.ticked) > maxGap {
		s.Split.Tick(ctx, s.ticked.Add(maxGap))
	}
	s.Split.Tick(ctx, now)
}

// wantCaught wants a mutant to lose or invent something: at once with a seed that has caught it before, or, where the
// simulation has changed since and with -full, within some hundred.
func wantCaught(t *testing.T, known uint64, s sim.Subject) {
	t.Helper()
	if !*everySeed && caughtBy(t, s, known) {
		return
	}
	const maxSeeds = 1000
	for seed := range uint64(maxSeeds) {
		if caughtBy(t, s, seed+1) {
			return
		}
	}
	t.Errorf("survived %d interleavings", maxSeeds)
}

func caughtBy(t *testing.T, s sim.Subject, seed uint64) bool {
	t.Helper()
	r, err := sim.Run(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		t.Logf("caught by seed %d: %s", seed, r)
	}
	return !r.OK()
}
