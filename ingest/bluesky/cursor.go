package bluesky

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// cursor is how far the firehose has been acknowledged. Batches may be acknowledged in any order; it moves over
// the oldest ones without a gap.
type cursor struct {
	cfg    Config
	loaded bool          // belongs to the goroutine that connects
	broken chan struct{} // has room for one: a batch failed, and the connection must be made again

	mu      sync.Mutex
	at      int64   // server time in microseconds up to which all is durable; 0: unknown
	era     int     // rises when a batch fails: what was read before and not acknowledged is void
	spans   []*span // handed on in this era, oldest first
	saved   int64
	savedAt time.Time // when saved was written
	writer  sync.Mutex
}

// span is the stretch of the firehose that one batch covers.
type span struct {
	era   int
	last  int64 // greatest server time in it
	done  bool
	bytes int64 // of its messages
}

func (s *span) extend(t int64) { s.last = max(s.last, t) }

func newCursor(cfg Config) *cursor {
	return &cursor{cfg: cfg, broken: make(chan struct{}, 1)}
}

// load reads the cursor of an earlier run, once.
func (c *cursor) load(ctx context.Context) error {
	if c.cfg.Cursors == nil || c.loaded {
		return nil
	}
	b, err := c.cfg.Cursors.Get(ctx, c.cfg.Name)
	if err != nil {
		return fmt.Errorf("cursor %s: %w", c.cfg.Name, err)
	}
	if b == nil {
		c.loaded = true
		return nil
	}
	at, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || at < 0 {
		return fmt.Errorf("cursor %s: %q is no time in microseconds", c.cfg.Name, b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.saved, c.loaded = at, at, true
	return nil
}

// resume returns the server time to begin a connection with, 0 for now, and its era. Whatever broke before is
// mended by it.
func (c *cursor) resume() (at int64, era int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.broken:
	default:
	}
	if c.at == 0 {
		return 0, c.era
	}
	return max(c.at-c.cfg.Rewind.Microseconds(), 1), c.era
}

// start remembers the first message of all, so that a connection lost before the first acknowledgement is not
// made again from the then newest message.
func (c *cursor) start(t int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == 0 && t > 0 {
		c.at = t
	}
}

// open begins the span of a batch.
func (c *cursor) open(era int) *span {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &span{era: era}
	if era == c.era {
		c.spans = append(c.spans, s)
	}
	return s
}

// current reports whether messages of an era still count.
func (c *cursor) current(era int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return era == c.era
}

// acknowledge marks a span as done, or, after an error, as to be read again.
func (c *cursor) acknowledge(s *span, err error) {
	if !c.advance(s, err) {
		return
	}
	if err := c.save(saveInterval); err != nil {
		c.cfg.Logger.Warn("bluesky: cursor not saved", "error", err)
	}
}

// advance applies an acknowledgement and reports whether the cursor moved. A failed batch voids its era: later
// batches of it may be durable, but the cursor must not pass over the gap.
func (c *cursor) advance(s *span, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.era != c.era {
		return false
	}
	if err != nil {
		c.cfg.Logger.Error("bluesky: retrying batch", "error", err)
		c.era++
		c.spans = nil
		select {
		case c.broken <- struct{}{}:
		default:
		}
		return false
	}
	s.done = true
	before := c.at
	for len(c.spans) > 0 && c.spans[0].done {
		c.at = max(c.at, c.spans[0].last)
		c.spans = c.spans[1:]
	}
	return c.at > before
}

// saveInterval is between two times that the cursor is written down while batches are acknowledged.
const saveInterval = time.Second

// save writes the cursor down, if it has moved and was last written so long ago.
func (c *cursor) save(ago time.Duration) error {
	if c.cfg.Cursors == nil {
		return nil
	}
	c.writer.Lock()
	defer c.writer.Unlock()
	c.mu.Lock()
	at, due := c.at, c.at > c.saved && time.Since(c.savedAt) >= ago
	c.mu.Unlock()
	if !due {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.cfg.Cursors.Put(ctx, c.cfg.Name, strconv.AppendInt(nil, at, 10)); err != nil {
		return fmt.Errorf("cursor %s: %w", c.cfg.Name, err)
	}
	c.mu.Lock()
	c.saved, c.savedAt = at, time.Now()
	c.mu.Unlock()
	return nil
}
