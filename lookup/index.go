package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/feed"
	"refrain/internal/check"
)

// IndexConfig holds what an Index is made of. Store and Logger are required.
type IndexConfig struct {
	Store Store
	// Deleted reports posts that an event made at a time may not show any more, because they were deleted or their authors
	// were, so that what is read again after the Store has forgotten a deletion does not bring them back; nil: only the
	// Store knows. It must be quick.
	Deleted func(n feed.Name, made time.Time) bool
	Logger  *slog.Logger
}

// Index takes events into a Store and answers from it. It is safe for concurrent use.
type Index struct {
	IndexConfig
	events metric.Int64Counter
	apply  metric.Float64Histogram

	incomplete atomic.Bool
	newest     atomic.Int64 // nanoseconds since 1970: when the newest event taken in was made, or the index was opened
}

// NewIndex returns an Index.
func NewIndex(c IndexConfig) (*Index, error) {
	if err := errors.Join(check.Set("store", c.Store != nil), check.Set("logger", c.Logger != nil)); err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	x := &Index{IndexConfig: c}
	x.newest.Store(time.Now().UnixNano())
	meter := otel.Meter("refrain/lookup")
	var errs [2]error
	x.events, errs[0] = meter.Int64Counter("refrain_lookup_events",
		metric.WithDescription("Events that the index was given, by result: applied, retracted, deleted, ignored or rejected"))
	x.apply, errs[1] = meter.Float64Histogram("refrain_lookup_apply_duration", metric.WithUnit("s"),
		metric.WithDescription("Time that the store took to take in one batch of events, failed tries included"),
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	x.count(context.Background(), counts{}) // there from the start: an alert needs a first value
	return x, nil
}

// counts is how many events had each result.
type counts [5]int

const (
	applied   = iota
	retracted // a deletion
	deleted   // shows a later post that was deleted
	ignored   // of a type that is not ours
	rejected  // unreadable, or with names that are too long
)

var resultNames = [...]string{"applied", "retracted", "deleted", "ignored", "rejected"}

func (x *Index) count(ctx context.Context, c counts) {
	for i, n := range c {
		x.events.Add(ctx, int64(n), metric.WithAttributes(attribute.String("result", resultNames[i])))
	}
}

// Event is one CloudEvents JSON object, and when it was made.
type Event struct {
	Data    []byte
	FoundAt time.Time
}

// Publish takes in events. After an error all of them are to be given again; one that
// wraps ErrRewound asks for reading again from the cursor that the Store holds now.
//
// An event that cannot be read is logged, counted and left out.
func (x *Index) Publish(ctx context.Context, events []Event) error {
	changes := make([]Change, 0, len(events))
	var c counts
	for i := range events {
		change, result, err := x.read(&events[i])
		if err != nil {
			x.Logger.Error("lookup: event left out", "error", err)
		}
		if result == applied || result == retracted {
			changes = append(changes, change)
		}
		c[result]++
	}
	began := time.Now()
	err := x.Store.Apply(ctx, changes)
	x.apply.Record(ctx, time.Since(began).Seconds())
	if err != nil {
		return fmt.Errorf("apply %d events: %w", len(changes), err)
	}
	x.count(ctx, c)
	x.advance(events)
	return nil
}

// advance notes how far the index is. Publish is called by one goroutine at a time.
func (x *Index) advance(events []Event) {
	newest := x.newest.Load()
	for i := range events {
		newest = max(newest, events[i].FoundAt.UnixNano())
	}
	x.newest.Store(newest)
}

// read makes a change of an event, and says what became of it.
func (x *Index) read(e *Event) (Change, int, error) {
	m, err := feed.DecodeEvent(e.Data)
	if err != nil {
		return readOther(e.Data, err)
	}
	if err := checkNames(m.Later.Source, m.Later.Post, m.Later.Author, m.Earlier.Source, m.Earlier.Post, m.Earlier.Author,
		m.First.Source, m.First.Post, m.First.Author); err != nil {
		return Change{}, rejected, fmt.Errorf("event %s: %w", m.ID, err)
	}
	change := Change{Match: &m, Time: feed.FromTime(e.FoundAt)}
	if x.Deleted == nil {
		return change, applied, nil
	}
	if x.Deleted(m.Later.Name(), e.FoundAt) {
		return Change{}, deleted, nil
	}
	if x.Deleted(m.Earlier.Name(), e.FoundAt) {
		m.Earlier = feed.Occurrence{}
	}
	if x.Deleted(m.First.Name(), e.FoundAt) {
		m.First = feed.First{}
	}
	return change, applied, nil
}

// readOther reads an event that is no match; why says why not.
func readOther(data []byte, why error) (Change, int, error) {
	var e struct {
		Type string
		Time feed.Time
		Data struct{ Source, Post, Author string }
	}
	err := json.Unmarshal(data, &e)
	switch {
	case err != nil || e.Type == "" || e.Type == feed.ReuseType:
		return Change{}, rejected, why
	case e.Type != feed.RetractedType:
		return Change{}, ignored, nil
	}
	if err := checkNames(e.Data.Source, e.Data.Post, e.Data.Author); err != nil {
		return Change{}, rejected, fmt.Errorf("retraction: %w", err)
	}
	return Change{Deleted: feed.Tombstone{Source: e.Data.Source, Post: e.Data.Post, Author: e.Data.Author},
		Time: e.Time}, retracted, nil
}

// MaxName is the most bytes of a source, post id or author that a Store takes: they are parts of keys.
const MaxName = 1024

func checkNames(names ...string) error {
	for _, name := range names {
		if len(name) > MaxName {
			return fmt.Errorf("a source, post id or author of %d bytes: the index takes at most %d", len(name), MaxName)
		}
	}
	return nil
}
