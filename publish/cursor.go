package publish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"refrain/topic"
)

// cursor is how far a Reader has read, and which of the records below that are open: read and not done.
//
// Written down it is the offsets, and behind a space the open records as PARTITION:POSITION, by commas. Where there are
// too many it is the offsets below all of them, and what was done above those comes again.
type cursor struct {
	read offsets
	open map[offset]struct{}
}

// maxOpenRecords is how many open records a cursor names: 64 KiB of them, about.
const maxOpenRecords = 5000

// begin is where to read from: the offsets below everything that is open.
func (c *cursor) begin() offsets {
	begin := c.read
	begin.next = slices.Clone(c.read.next)
	for at := range c.open {
		begin.back(at)
	}
	return begin
}

// done reports whether a record had been done when the cursor was written.
func (c *cursor) done(at offset) bool {
	if c.read.next == nil || at.position >= c.read.next[at.partition] {
		return false
	}
	_, open := c.open[at]
	return !open
}

// rebase makes c a cursor in the topic as it is now. What was open, and is lost, comes again elsewhere.
func (c *cursor) rebase(t topic.Topic, end []int64) bool {
	if !c.read.rebase(t, end) {
		return false
	}
	maps.DeleteFunc(c.open, func(at offset, _ struct{}) bool { return at.position >= c.read.next[at.partition] })
	return true
}

func (c *cursor) String() string {
	if len(c.open) > maxOpenRecords {
		begin := c.begin()
		return begin.String()
	}
	words := make([]string, 0, len(c.open))
	for at := range c.open {
		words = append(words, fmt.Sprintf("%d:%d", at.partition, at.position))
	}
	slices.Sort(words)
	return strings.TrimSuffix(c.read.String()+" "+strings.Join(words, ","), " ")
}

// parseCursor reads what String writes.
func parseCursor(s string, partitions int, ordered bool) (cursor, error) {
	first, open, _ := strings.Cut(s, " ")
	read, err := parseOffsets(first, partitions, ordered)
	c := cursor{read: read, open: map[offset]struct{}{}}
	if err != nil || open == "" {
		return c, err
	}
	for word := range strings.SplitSeq(open, ",") {
		partition, position, _ := strings.Cut(word, ":")
		p, err1 := strconv.Atoi(partition)
		n, err2 := strconv.ParseInt(position, 10, 62)
		if err1 != nil || err2 != nil || p < 0 || p >= partitions || n < 0 {
			return c, fmt.Errorf("open record %q: want PARTITION:POSITION", word)
		}
		c.open[offset{p, n}] = struct{}{}
	}
	return c, nil
}

// CheckCursor says why a stored cursor of the event topic, which has one partition, cannot be read.
func CheckCursor(stored []byte) error {
	_, err := parseCursor(string(stored), 1, true)
	return err
}

// Pending is how many positions of t lie between a stored cursor, nil for none, and the end, and how many records before
// it are open: 0 says that everything has been published.
func Pending(ctx context.Context, t topic.Topic, stored []byte) (n int64, err error) {
	start, end, err := t.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	c := cursor{read: offsetsIn(t, start)}
	if stored != nil {
		if c, err = parseCursor(string(stored), t.Partitions(), t.Ordered()); err != nil {
			return 0, err
		}
		if !c.rebase(t, end) {
			c = cursor{read: offsetsIn(t, start)}
		}
	}
	for p, next := range c.read.next {
		n += max(0, end[p]-max(next, start[p]))
	}
	return n + int64(len(c.open)), nil
}

// EndCursor is the cursor of a sink that has been given everything that t holds now.
func EndCursor(ctx context.Context, t topic.Topic) ([]byte, error) {
	_, end, err := t.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	at := offsetsAt(t, end)
	return []byte(at.String()), nil
}
