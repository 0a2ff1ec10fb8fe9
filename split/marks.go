package split

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

// source is what Split knows of one source partition.
type source struct {
	name string

	mu       sync.Mutex // held while a batch or mark of this source partition is on its way
	clock    Clock
	posted   time.Time // when posts were last made durable
	marked   time.Time // when the last mark was
	pending  bool      // the clock speaks of posts that no mark has spoken of
	idle     bool      // the last mark says so
	expected bool      // by Expect: it is marked also while its clock is not known

	view sync.Mutex // guards what late looks at while a batch is on its way
	seen feed.Time
	live bool
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

// vouch moves the clock by posts that are durable.
func (s *Split) vouch(src *source, posts []feed.Post, now time.Time) {
	for i := range posts {
		src.clock.Add(posts[i].Time)
	}
	src.posted, src.pending, src.idle = now, true, false
	src.show()
}

func (src *source) show() {
	src.view.Lock()
	defer src.view.Unlock()
	t, known := src.clock.Time()
	src.seen, src.live = t, (known || src.expected) && !src.idle
}

// late counts the posts that are more than lateness behind the window's clock, as far as this process can tell: the
// greatest that the least clock of its active source partitions has been.
func (s *Split) late(posts []feed.Post) int {
	clock, known := s.reached()
	if !known {
		return 0
	}
	limit, n := clock.Add(-s.cfg.Lateness), 0
	for i := range posts {
		if posts[i].Time < limit {
			n++
		}
	}
	return n
}

// reached never falls, as the window's clock does not: a source partition that wakes up far behind does not bring it
// back.
func (s *Split) reached() (feed.Time, bool) {
	clock, known := s.least()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known && (!s.known || clock > s.clock) {
		s.clock, s.known = clock, true
	}
	return s.clock, s.known
}

func (s *Split) least() (clock feed.Time, known bool) {
	for _, src := range s.all() {
		src.view.Lock()
		if src.live && (!known || src.seen < clock) {
			clock, known = src.seen, true
		}
		src.view.Unlock()
	}
	return clock, known
}

// all returns the source partitions by name.
func (s *Split) all() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*source, 0, len(s.sources))
	for _, src := range s.sources {
		all = append(all, src)
	}
	slices.SortFunc(all, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return all
}

// mark writes the clock into every partition. It is called only when everything that the clock speaks of is
// durable, with src locked. A mark that is not written is no loss: the next one says more.
func (s *Split) mark(ctx context.Context, src *source, now time.Time, idle bool) {
	t, known := src.clock.Time()
	if !known && !src.expected {
		return
	}
	if err := s.append(ctx, s.markRecords(topic.Mark{Source: src.name, Time: t, Idle: idle})); err != nil {
		s.cfg.Logger.Warn("write marks", "partition", src.name, "error", err)
		return
	}
	src.marked, src.pending, src.idle = now, false, idle
	src.show()
}

// Expect says which source partitions posts are about to come from, before any do. From then on the window's clock
// does not pass them: without that, the first partition of a topic to be read would carry it past all that the
// others still hold. Each is marked with its clock, or with the beginning of time while that is not known.
func (s *Split) Expect(ctx context.Context, partitions []string) error {
	for _, name := range partitions {
		if err := s.expect(ctx, s.source(name)); err != nil {
			return fmt.Errorf("expect posts of %q: %w", name, err)
		}
	}
	return nil
}

func (s *Split) expect(ctx context.Context, src *source) error {
	src.mu.Lock()
	defer src.mu.Unlock()
	now := s.cfg.Now()
	t, _ := src.clock.Time()
	if err := s.append(ctx, s.markRecords(topic.Mark{Source: src.name, Time: t})); err != nil {
		return err
	}
	src.expected, src.idle, src.posted, src.marked = true, false, now, now
	src.show()
	return nil
}

// Touch says that a source partition is silent at now only because its posts are on their way or out of reach: it is
// not idle, and no longer idle if it was.
func (s *Split) Touch(partition string, now time.Time) {
	src := s.source(partition)
	if src.mu.TryLock() { // else a batch of it is being written, which says as much
		src.pending = src.pending || src.idle // a mark is to say so
		src.posted, src.idle = now, false
		src.show()
		src.mu.Unlock()
	}
}

func (s *Split) markRecords(m topic.Mark) []topic.Record {
	b := topic.Batch{Marks: []topic.Mark{m}, TextVersion: text.Version}
	data := b.Append(nil)
	records := make([]topic.Record, s.cfg.Sentences.Partitions())
	for p := range records {
		records[p] = topic.Record{Partition: p, Data: data}
	}
	return records
}

// Tick writes the marks that are due at now: of source partitions whose posts have not all been spoken of for a
// second, and of those without posts for 30 s, which are idle. It is to be called about once a second. A source
// partition with a batch on its way is left for the next time.
func (s *Split) Tick(ctx context.Context, now time.Time) {
	for _, src := range s.all() {
		if src.mu.TryLock() {
			s.tick(ctx, src, now)
			src.mu.Unlock()
		}
	}
}

func (s *Split) tick(ctx context.Context, src *source, now time.Time) {
	switch {
	case !src.idle && now.Sub(src.posted) >= idleAfter:
		s.mark(ctx, src, now, true)
	case src.pending && now.Sub(src.marked) >= markEvery:
		s.mark(ctx, src, now, false)
	case !src.idle && now.Sub(src.marked) >= idleAfter: // kept: without a mark it would be taken for dead
		s.mark(ctx, src, now, false)
	}
}
