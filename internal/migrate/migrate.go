// Package migrate carries what the topics of a stopped service hold over into those of another one: from the embedded
// server to a broker, from one broker to another, or into another number of partitions.
//
// No pair is lost. The new workers insert all sentences that the window may need, as after a restart; what is appended
// later is looked up in them. And none is reported again: look-ups that the old workers have done are marked as done,
// because every two sentences that were copied have met there. Where the old ones had not finished, nothing is marked,
// and the new ones report again what they find, with the ids that it had.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"refrain/feed"
	"refrain/publish"
	"refrain/shard"
	"refrain/topic"
)

// Deployment is where a service keeps its data.
type Deployment struct {
	Sentences, Events, Control topic.Topic
	Store                      topic.Store
}

// Config says what goes where. Nobody else may use either side meanwhile.
type Config struct {
	From, To Deployment
	Sinks    []string // the names of those that follow the events: their cursors go along
	Keys     []string // of the store, what else goes along as it is
	// Again lets sinks that have not been given all events begin with the oldest one. Without it Run refuses to leave any
	// event behind.
	Again bool
	// Progress is told how far a topic has got, in records about; nil: nobody is.
	Progress func(topic string, done, of int64)
	Logger   *slog.Logger
}

// Report is what Run has copied, in records.
type Report struct {
	Sentences, Events, Control int64
	LookedUp                   bool // nothing will be looked up again
}

// ErrNotEmpty says that the topics to copy to hold something already.
var ErrNotEmpty = errors.New("the topics to copy to are not empty")

// Run copies everything. After an error the topics copied to are of no use: Run wants empty ones.
func Run(ctx context.Context, cfg Config) (Report, error) {
	var done Report
	if err := checkEmpty(ctx, &cfg.To); err != nil {
		return done, err
	}
	old, err := readStates(ctx, &cfg.From)
	if err != nil {
		return done, err
	}
	cursors, err := findCursors(ctx, &cfg)
	if err != nil {
		return done, err
	}
	if done.Control, err = cfg.copyAll(ctx, "control", cfg.From.Control, cfg.To.Control); err != nil {
		return done, err
	}
	if done.Events, err = cfg.copyAll(ctx, "events", cfg.From.Events, cfg.To.Events); err != nil {
		return done, err
	}
	if done.Sentences, err = cfg.copySentences(ctx, old); err != nil {
		return done, err
	}
	if err := cfg.putKeys(ctx, cursors); err != nil {
		return done, err
	}
	done.LookedUp = old.finished
	return done, cfg.putStates(ctx, old)
}

func checkEmpty(ctx context.Context, to *Deployment) error {
	for name, t := range map[string]topic.Topic{"sentences": to.Sentences, "events": to.Events, "control": to.Control} {
		start, end, err := t.Bounds(ctx)
		if err != nil {
			return fmt.Errorf("topic of %s: %w", name, err)
		}
		if !slices.Equal(start, end) {
			return fmt.Errorf("%w: that of %s has records: name others (topics.name), or delete them", ErrNotEmpty, name)
		}
	}
	return nil
}

// states are what the old workers have stored.
type states struct {
	from     []int64   // per partition, what the new workers need
	finished bool      // everything is looked up, and the events are durable
	clock    feed.Time // W of all; 0: unknown
}

// readStates sums up the old workers' states. Where one is missing, the whole topic is needed.
func readStates(ctx context.Context, d *Deployment) (states, error) {
	start, end, err := d.Sentences.Bounds(ctx)
	if err != nil {
		return states{}, fmt.Errorf("sentence topic: %w", err)
	}
	sum := states{from: slices.Clone(end), finished: true}
	for q := range d.Sentences.Partitions() {
		s, err := shard.ReadState(ctx, d.Store, q)
		if err != nil {
			return states{}, fmt.Errorf("state of partition %d: %w", q, err)
		}
		if s == nil {
			return states{from: start}, nil
		}
		sum.add(s, end, q == 0)
	}
	for p := range sum.from {
		sum.from[p] = max(sum.from[p], start[p])
	}
	return sum, nil
}

func (x *states) add(s *shard.State, end []int64, first bool) {
	x.from = shard.MinPositions(x.from, s.Needs())
	for p, at := range s.LookupFrom {
		x.finished = x.finished && at >= end[p]
	}
	clock, known := s.Watermarks.Clock()
	switch {
	case !known:
		x.clock = 0
	case first:
		x.clock = clock
	default:
		x.clock = min(x.clock, clock)
	}
}

// findCursors reads the sinks' cursors, and refuses where one of them has events to come.
func findCursors(ctx context.Context, cfg *Config) (finished []string, err error) {
	var behind []error
	for _, name := range cfg.Sinks {
		stored, err := cfg.From.Store.Get(ctx, publish.Key(name))
		if err != nil {
			return nil, fmt.Errorf("cursor of %s: %w", name, err)
		}
		n, err := publish.Pending(ctx, cfg.From.Events, stored)
		switch {
		case err != nil:
			return nil, fmt.Errorf("cursor of %s: %w", name, err)
		case n == 0:
			finished = append(finished, name)
		default:
			behind = append(behind, fmt.Errorf("%s has not been given all events", name))
		}
	}
	if len(behind) > 0 && !cfg.Again {
		return nil, fmt.Errorf("%w: start the old service again and wait until its sinks are done, or let them begin with the "+
			"oldest event (--again)", errors.Join(behind...))
	}
	return finished, nil
}

// putKeys lets the sinks that are done go on behind what was copied.
func (cfg *Config) putKeys(ctx context.Context, finished []string) error {
	end, err := publish.EndCursor(ctx, cfg.To.Events)
	if err != nil {
		return err
	}
	for _, name := range finished {
		if err := cfg.To.Store.Put(ctx, publish.Key(name), end); err != nil {
			return fmt.Errorf("cursor of %s: %w", name, err)
		}
	}
	for _, key := range cfg.Keys {
		value, err := cfg.From.Store.Get(ctx, key)
		if err == nil && value != nil {
			err = cfg.To.Store.Put(ctx, key, value)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", key, err)
		}
	}
	return nil
}

// putStates marks the look-ups as done.
func (cfg *Config) putStates(ctx context.Context, old states) error {
	if !old.finished {
		return nil
	}
	to := shard.CopiedTopics{Sentences: cfg.To.Sentences, Events: cfg.To.Events, Control: cfg.To.Control}
	for q := range cfg.To.Sentences.Partitions() {
		if err := shard.PutCopied(ctx, cfg.To.Store, q, to, old.clock); err != nil {
			return fmt.Errorf("state of partition %d: %w", q, err)
		}
	}
	return nil
}
