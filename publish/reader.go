package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"refrain/topic"
)

// ReaderConfig says what a Reader reads, and for whom.
type ReaderConfig struct {
	Topic   topic.Topic
	Store   topic.Store // keeps the cursor; nil: there is none, and every start begins with what comes then
	Name    string      // of the sink: its cursor's key and what the log says
	Deleted Deleted     // events that show such a post are left out
	Logger  *slog.Logger
}

// Reader hands out the events of the topic from a stored cursor on. Events may be done in any order; the cursor is
// the place below which all are. So after a crash what was done above it comes again, and nothing is left out.
//
// Next belongs to one goroutine; Done and Commit may be called by any.
type Reader struct {
	cfg    ReaderConfig
	reader topic.Reader

	mu      sync.Mutex
	done    place     // everything below it is done
	written string    // the cursor as last stored
	pending []pending // in the order read
	first   uint64    // seq of pending[0]
}

// pending is a record that was read, and whether it is done.
type pending struct {
	partition int
	position  int64
	done      bool
}

// OpenReader goes on from the cursor; without one it begins with the oldest event kept.
func OpenReader(ctx context.Context, cfg ReaderConfig) (*Reader, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	r := &Reader{cfg: cfg}
	err := r.locate(ctx)
	if err == nil {
		r.reader, err = cfg.Topic.Open(ctx, slices.Clone(r.done.next))
	}
	if err != nil {
		return nil, fmt.Errorf("open events for %s: %w", cfg.Name, err)
	}
	return r, nil
}

// Key is the name of a sink's cursor in a store.
func Key(name string) string { return "publish/" + name }

// locate finds the place to begin at.
func (r *Reader) locate(ctx context.Context) error {
	start, end, err := r.cfg.Topic.Bounds(ctx)
	if err != nil {
		return err
	}
	r.done = place{next: start, ordered: r.cfg.Topic.Ordered()}
	if r.cfg.Store == nil {
		r.done.next = end
		return nil
	}
	cursor, err := r.cfg.Store.Get(ctx, Key(r.cfg.Name))
	if err != nil || cursor == nil {
		return err
	}
	at, err := parsePlace(string(cursor), r.cfg.Topic.Partitions(), r.cfg.Topic.Ordered())
	if err != nil {
		return fmt.Errorf("cursor: %w", err)
	}
	if at.beyond(end) {
		r.cfg.Logger.Warn("publish: cursor beyond the end of the topic; starting with the oldest event", "sink", r.cfg.Name)
		return nil
	}
	r.done, r.written = at, string(cursor)
	return nil
}

// Next returns the next events; it blocks until there are some. What cannot be shown is left out, and done.
func (r *Reader) Next(ctx context.Context) ([]Event, error) {
	for {
		records, err := r.reader.Fetch(ctx)
		var gap *topic.ErrTruncated
		if errors.As(err, &gap) {
			r.cfg.Logger.Error("publish: events lost to retention: the sink was behind for too long", "sink", r.cfg.Name, "error", gap)
			r.skip(gap)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read events for %s: %w", r.cfg.Name, err)
		}
		if events := r.take(records); len(events) > 0 {
			return events, nil
		}
	}
}

// take makes events of records.
func (r *Reader) take(records []topic.Record) []Event {
	events := make([]Event, 0, len(records))
	seq := r.expect(records)
	for i := range records {
		e, err := open(&records[i])
		if err != nil {
			r.cfg.Logger.Error("publish: unreadable record left out", "sink", r.cfg.Name,
				"partition", records[i].Partition, "position", records[i].Position, "error", err)
		}
		e.seq = seq + uint64(i)
		if err != nil || e.Mentions(r.cfg.Deleted) {
			r.Done(e)
			continue
		}
		events = append(events, e)
	}
	return events
}

// expect notes records as read, and returns the number of the first.
func (r *Reader) expect(records []topic.Record) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	seq := r.first + uint64(len(r.pending))
	for i := range records {
		r.pending = append(r.pending, pending{partition: records[i].Partition, position: records[i].Position})
	}
	return seq
}

// skip steps over what is gone. Only when nothing is pending may the cursor do so; otherwise it finds the gap again.
func (r *Reader) skip(gap *topic.ErrTruncated) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		r.done.skip(gap)
	}
}

// Done says that events need not be offered again.
func (r *Reader) Done(events ...Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range events {
		r.pending[events[i].seq-r.first].done = true
	}
	n := 0
	for n < len(r.pending) && r.pending[n].done {
		r.done.read(r.pending[n].partition, r.pending[n].position)
		n++
	}
	r.pending = slices.Delete(r.pending, 0, n)
	r.first += uint64(n)
}

// Commit stores the cursor, if it has moved.
func (r *Reader) Commit(ctx context.Context) error {
	r.mu.Lock()
	cursor := r.done.String()
	same := cursor == r.written
	r.mu.Unlock()
	if r.cfg.Store == nil || same {
		return nil
	}
	if err := r.cfg.Store.Put(ctx, Key(r.cfg.Name), []byte(cursor)); err != nil {
		return fmt.Errorf("store the cursor of %s: %w", r.cfg.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = cursor
	return nil
}

// Lag is how many records between the cursor and the end of the topic there may be, at most.
func (r *Reader) Lag(ctx context.Context) (int64, error) {
	_, end, err := r.cfg.Topic.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done.behind(end), nil
}

// Close ends reading. The cursor stays as Commit left it.
func (r *Reader) Close() error { return r.reader.Close() }
