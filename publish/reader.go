package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"refrain/internal/check"
	"refrain/topic"
)

// ReaderConfig says what a Reader reads, and for whom. Topic and Logger are required,
// and Name where there is a Store.
type ReaderConfig struct {
	Topic   topic.Topic
	Store   topic.Store // stores the cursor; nil: there is none, and every start begins with what comes then
	Name    string      // of the sink: its cursor's key and what the log says
	Deleted Deleted     // events that show such a post are left out; nil: nothing is deleted
	Logger  *slog.Logger
	// Range is what is read, and no more: Next returns io.EOF at its end. The zero value is everything.
	Range Range
}

func (c *ReaderConfig) validate() error {
	return errors.Join(check.Set("topic", c.Topic != nil), check.Set("name", c.Name != "" || c.Store == nil),
		check.Set("logger", c.Logger != nil))
}

// Reader hands out the events of the topic from a stored cursor on. Events may be done in any order. The cursor is how
// far has been read, and which events below that are not done: after a crash those come again, with what was done since
// the cursor was last stored, and nothing is left out.
//
// Next belongs to one goroutine; Done and Commit may be called by any.
type Reader struct {
	cfg     ReaderConfig
	metrics metrics
	reader  topic.Reader
	pending []topic.Record // fetched, and not handed out yet
	resumed cursor         // where reading began: what is below its offsets, and not open, was done before

	mu      sync.Mutex
	read    offsets // everything below it has been read, now or before the cursor was stored
	passed  offsets // and below this by this Reader: what was open in the cursor is read again
	open    map[offset]struct{}
	written string // the cursor as last stored
}

// offset is where a record stands.
type offset struct {
	partition int
	position  int64
}

// OpenReader goes on from the cursor; without one it begins with the oldest event retained.
func OpenReader(ctx context.Context, cfg ReaderConfig) (*Reader, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("reader of events %q: %w", cfg.Name, err)
	}
	r := &Reader{cfg: cfg, metrics: newMetrics(), open: map[offset]struct{}{}}
	r.metrics.gap(cfg.Name, 0)
	err := r.locate(ctx)
	if err == nil {
		r.passed = (&cursor{r.read, r.open}).begin()
		r.reader, err = cfg.Topic.Open(ctx, slices.Clone(r.passed.next))
	}
	if err != nil {
		return nil, fmt.Errorf("open events for %s: %w", cfg.Name, err)
	}
	return r, nil
}

// Key is the name of a sink's cursor in a store.
func Key(name string) string { return "publish/" + name }

// locate finds the offsets to begin at.
func (r *Reader) locate(ctx context.Context) error {
	start, end, err := r.cfg.Topic.Bounds(ctx)
	if err != nil {
		return err
	}
	r.read = offsetsIn(r.cfg.Topic, start)
	if r.cfg.Range.From != nil {
		r.cfg.Range = r.cfg.Range.upTo(end)
		r.read.next = slices.Clone(r.cfg.Range.From)
	}
	if r.cfg.Store == nil {
		r.read.next = end
		return nil
	}
	written, err := r.cfg.Store.Get(ctx, Key(r.cfg.Name))
	if err != nil || written == nil {
		return err
	}
	c, err := parseCursor(string(written), r.cfg.Topic.Partitions(), r.cfg.Topic.Ordered())
	if err != nil {
		return fmt.Errorf("cursor: %w", err)
	}
	if !c.rebase(r.cfg.Topic, end) {
		r.cfg.Logger.Warn("publish: the cursor is not of this topic; starting with the oldest event", "sink", r.cfg.Name)
		return nil
	}
	r.resumed, r.read, r.open, r.written = c, c.read, maps.Clone(c.open), string(written)
	r.read.next = slices.Clone(c.read.next)
	return nil
}

// maxNext bounds the bytes of the events that Next returns at a time, but for the last one: they go on to whoever makes
// something larger of them, and there are many of those.
const maxNext = 1 << 20

// Next returns the next events, a megabyte of them at most; it blocks until there are some. What cannot be shown is left
// out, and done.
func (r *Reader) Next(ctx context.Context) ([]Event, error) {
	for {
		if r.atEnd() {
			return nil, io.EOF
		}
		records, err := r.fetch(ctx)
		var gap *topic.ErrTruncated
		if errors.As(err, &gap) {
			r.cfg.Logger.Error("publish: events lost to retention: the sink was behind for too long", "sink", r.cfg.Name,
				"error", gap)
			r.metrics.gap(r.cfg.Name, 1)
			r.skip(gap)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read events for %s: %w", r.cfg.Name, err)
		}
		if events := r.decode(records); len(events) > 0 {
			return events, nil
		}
	}
}

// atEnd reports whether all of the range has been read.
func (r *Reader) atEnd() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.Range.Until != nil && len(r.pending) == 0 && r.passed.reached(r.cfg.Range.Until)
}

// fetch returns the next records, those first that were too many the last time.
func (r *Reader) fetch(ctx context.Context) (records []topic.Record, err error) {
	records, r.pending = r.pending, nil
	if len(records) == 0 {
		records, err = r.reader.Fetch(ctx)
	}
	size := 0
	for i := range records {
		if size += len(records[i].Data); size > maxNext && i > 0 {
			records, r.pending = records[:i], records[i:]
			break
		}
	}
	return records, err
}

// decode makes events of records.
func (r *Reader) decode(records []topic.Record) []Event {
	events := make([]Event, 0, len(records))
	r.expect(records)
	for i := range records {
		at := offset{records[i].Partition, records[i].Position}
		if r.resumed.done(at) {
			continue
		}
		e, err := open(&records[i])
		if err != nil {
			r.cfg.Logger.Error("publish: unreadable record left out", "sink", r.cfg.Name,
				"partition", at.partition, "position", at.position, "error", err)
		}
		if err != nil || !e.Clear(r.cfg.Deleted) {
			r.done(at)
			continue
		}
		events = append(events, e)
	}
	return events
}

// expect notes records as read, and open.
func (r *Reader) expect(records []topic.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range records {
		at := offset{records[i].Partition, records[i].Position}
		r.read.read(at.partition, at.position)
		r.passed.read(at.partition, at.position)
		if !r.resumed.done(at) {
			r.open[at] = struct{}{}
		}
	}
}

// skip steps over what is gone.
func (r *Reader) skip(gap *topic.ErrTruncated) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read.skip(gap)
	r.passed.skip(gap)
	maps.DeleteFunc(r.open, func(at offset, _ struct{}) bool {
		return at.partition == gap.Partition && at.position < gap.Start
	})
}

// Done says that events need not be offered again.
func (r *Reader) Done(events ...Event) {
	for i := range events {
		r.done(events[i].at)
	}
}

func (r *Reader) done(at offset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, at)
}

// Commit stores the cursor, if it has moved.
func (r *Reader) Commit(ctx context.Context) error {
	r.mu.Lock()
	now := (&cursor{r.read, r.open}).String()
	same := now == r.written
	r.mu.Unlock()
	if r.cfg.Store == nil || same {
		return nil
	}
	if err := r.cfg.Store.Put(ctx, Key(r.cfg.Name), []byte(now)); err != nil {
		return fmt.Errorf("store the cursor of %s: %w", r.cfg.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = now
	return nil
}

// Lag is how many records between the oldest that is not done and the end of the topic there may be, at most.
func (r *Reader) Lag(ctx context.Context) (int64, error) {
	_, end, err := r.cfg.Topic.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	begin := (&cursor{r.read, r.open}).begin()
	return begin.behind(end), nil
}

// Close ends reading. The cursor stays as Commit left it.
func (r *Reader) Close() error { return r.reader.Close() }
