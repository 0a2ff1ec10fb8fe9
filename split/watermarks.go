package split

import (
	"context"
	"fmt"
	"sync"
	"time"

	"refrain/feed"
	"refrain/internal/feedtime"
	"refrain/text"
	"refrain/topic"
)

const (
	watermarkInterval = time.Second      // watermarks are written at least this often while posts flow
	idleAfter         = 30 * time.Second // without posts, a source partition is idle
	// maxGap is how much one pause between two ticks counts towards that. In a longer one this process stood still, or
	// its clock was set: nobody could have brought posts.
	maxGap = 5 * time.Second
)

// source is what Split knows of one source partition.
type source struct {
	name string

	mu    sync.Mutex // held while a batch of this source partition is on its way
	clock feedtime.Clock

	view  sync.Mutex // guards what watermarks cover
	seen  feed.Time  // the clock, of posts that are durable
	known bool       // there is one, or Expect has named it
	idle  bool
	quiet time.Duration // without posts
}

func (s *Split) source(name string) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := s.sources[name]
	if src == nil {
		src = &source{name: name}
		s.sources[name] = src
	}
	return src
}

// advance moves the clock by posts that are durable.
func (s *Split) advance(src *source, posts []feed.Post) {
	for i := range posts {
		src.clock.Add(posts[i].Time)
	}
	t, known := src.clock.Time()
	src.view.Lock()
	src.seen, src.known = t, src.known || known
	src.view.Unlock()
	s.wake(src)
	s.pending.Store(true)
}

// wake notes that a source partition has posts, or would if they were not on their way. It counts from now on, not from
// when they are durable: else the clock might pass them meanwhile.
func (s *Split) wake(src *source) {
	src.view.Lock()
	defer src.view.Unlock()
	if src.idle {
		s.pending.Store(true)
	}
	src.idle, src.quiet = false, 0
}

// rest lets time without posts go by.
func (s *Split) rest(src *source, gap time.Duration) {
	src.view.Lock()
	defer src.view.Unlock()
	src.quiet += gap
	if src.quiet >= idleAfter && !src.idle {
		src.idle = true
		s.pending.Store(true)
	}
}

// countLate counts the posts that are more than lateness behind the window's clock, as far as this process knows it: the
// highest that its own has been.
func (s *Split) countLate(posts []feed.Post) int {
	reached, known := s.advanceReached()
	if !known {
		return 0
	}
	limit, n := reached.Add(-s.cfg.Lateness), 0
	for i := range posts {
		if posts[i].Time < limit {
			n++
		}
	}
	return n
}

// advanceReached returns how far the window's clock has got by what this process knows, which never falls, as the clock
// does not: a source partition that wakes up far behind does not bring it back.
func (s *Split) advanceReached() (feed.Time, bool) {
	m, known := s.current()
	s.mu.Lock()
	defer s.mu.Unlock()
	reached := max(m.Time, m.Newest.Add(-s.cfg.MaxHold))
	if known && !m.Idle && (!s.known || reached > s.reached) {
		s.reached, s.known = reached, true
	}
	return s.reached, s.known
}

// current is the watermark as it would be now; false when no source partition has a clock. While none is active it
// covers all: then its clock holds nobody back, but is one that nobody's next posts can be far behind.
func (s *Split) current() (m topic.Watermark, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m = topic.Watermark{Writer: s.writer, Idle: true}
	for _, src := range s.sources {
		if add(&m, src, !known) {
			known = true
		}
	}
	return m, known
}

// add includes a source partition in a watermark; first: it is the first one. False when it has no clock.
func add(m *topic.Watermark, src *source, first bool) bool {
	src.view.Lock()
	defer src.view.Unlock()
	switch {
	case !src.known:
		return false
	case first || m.Idle && !src.idle:
		m.Time, m.Newest, m.Source, m.Idle = src.seen, src.seen, src.name, src.idle
	case m.Idle == src.idle:
		if src.seen < m.Time || src.seen == m.Time && src.name < m.Source {
			m.Time, m.Source = src.seen, src.name
		}
		m.Newest = max(m.Newest, src.seen)
	}
	return true
}

// writeDueWatermark writes the clock into every partition when that is due: a second after the last one if anything has
// changed since, and every 30 s while a source partition is active, for a writer without watermarks is considered dead.
// Of several goroutines one does it; what it leaves out is in the next watermark.
func (s *Split) writeDueWatermark(ctx context.Context, now time.Time) {
	if !s.watermarkMu.TryLock() {
		return
	}
	defer s.watermarkMu.Unlock()
	since := now.Sub(s.watermarkWritten)
	if s.pending.Load() && since >= watermarkInterval || s.active && since >= idleAfter {
		if err := s.writeWatermark(ctx, now); err != nil {
			// No loss: the next one has it all. A full topic refuses one a second, for hours.
			s.watermarkWarning.Do(func() {
				s.cfg.Logger.Warn("split: retrying watermark", "error", err)
			})
		}
	}
}

// writeWatermark is called with watermarkMu locked, so that no watermark overtakes another. What a watermark covers was
// durable, or expected, before it is written.
func (s *Split) writeWatermark(ctx context.Context, now time.Time) error {
	s.pending.Store(false) // first: what comes from here on may be left out
	m, known := s.current()
	if !known {
		return nil
	}
	if err := s.append(ctx, s.watermarkRecords(&m), 0); err != nil {
		s.pending.Store(true)
		return err
	}
	s.watermarkWritten, s.active = now, !m.Idle
	return nil
}

// Expect names the source partitions that posts are about to come from, before any do. From then on the window's clock
// does not pass them: without that, the first partition of a topic to be read would carry it past all that the
// others still hold. Each counts with its clock, or with the beginning of time while it has none.
func (s *Split) Expect(ctx context.Context, partitions []string) error {
	for _, name := range partitions {
		src := s.source(name)
		src.view.Lock()
		src.known = true
		src.view.Unlock()
		s.wake(src)
	}
	s.watermarkMu.Lock()
	defer s.watermarkMu.Unlock()
	if err := s.writeWatermark(ctx, s.cfg.Now()); err != nil {
		return fmt.Errorf("expect posts of %q: %w", partitions, err)
	}
	return nil
}

// Touch notes that a source partition is silent only because its posts are on their way or out of reach: it is not
// idle, and no longer idle if it was.
func (s *Split) Touch(partition string) { s.wake(s.source(partition)) }

func (s *Split) watermarkRecords(m *topic.Watermark) []topic.Record {
	b := topic.Batch{Watermark: m, TextVersion: text.Version}
	data := b.Append(nil)
	records := make([]topic.Record, s.cfg.Sentences.Partitions())
	for p := range records {
		records[p] = topic.Record{Partition: p, Data: data}
	}
	return records
}

// Tick lets the source partitions without posts for 30 s become idle, and writes the watermark that is due at now. It
// is to be called about once a second.
//
// Idle is who could have brought posts and did not. So a pause between two ticks counts 5 s at most, and whatever the
// topic refuses begins the 30 s anew for all: who was told so may be waiting before he tries again.
func (s *Split) Tick(ctx context.Context, now time.Time) {
	s.mu.Lock()
	gap := min(max(now.Sub(s.ticked), 0), maxGap)
	s.ticked = now
	s.mu.Unlock()
	refused := s.refused.Swap(false)
	for _, src := range s.all() {
		switch {
		case refused || !src.mu.TryLock(): // else a batch of it is being written
			s.wakeActive(src)
		default:
			s.rest(src, gap)
			src.mu.Unlock()
		}
	}
	s.writeDueWatermark(ctx, now)
}

// wakeActive begins the time without posts anew, unless it is over.
func (s *Split) wakeActive(src *source) {
	src.view.Lock()
	defer src.view.Unlock()
	src.quiet = 0
}

func (s *Split) all() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*source, 0, len(s.sources))
	for _, src := range s.sources {
		all = append(all, src)
	}
	return all
}
