// Package record is the lookup index over any place that keeps values by key and sorted sets.
//
// # Layout
//
// There are three kinds of values and three kinds of sets; post.go, page.go and group.go draw the bytes of the values,
// name.go those of the members.
//
//	p SOURCE POST     what the post repeats, with witnesses; the groups that it belongs to; or that it was deleted
//	o SOURCE POST PATH  a page of that, where a post has much of it
//	g GROUP           the group's text, first, and counts
//	r GROUP           one member for each event of the group: the later sentence, by its time
//	a SOURCE AUTHOR   one member for each event of the author, by its time, at most 100 a slice
//	d                 one member for each author that was deleted; see authors.go
//
// A value is one piece, read, changed here and written back, because the parts of a post are asked for together and a
// key costs more than what is behind it. A post with many sentences has pages, so that no value grows with their number.
// Sets are read in pages and may be large.
//
// # Life
//
// Wall time is cut into slices of a quarter of the retention. What is observed is stamped with the slice it was last
// observed in, and is alive during that slice and the four after it: for the retention at least, for 1.25 times the
// retention at most. Nothing is looked for one by one to be expired: a set has a part for each slice, which goes whole,
// and what is dead in a value is left out when it is read.
//
// Two facts observed in different slices are never merged: of two witnesses, texts or times the one observed in the newer
// slice stays, and the lesser in the order of the feed within a slice. So whatever an answer shows was named, in the slice
// that it is stamped with, by an event that also stamped the record of the post it came from; which is therefore alive,
// and a deletion that begins at it finds everything.
//
// # Order of writes
//
// Pages that no other leads to yet come first, then the other values, then members. A post that is removed has its pages
// emptied before its tombstone. An event whose value is there and whose member is not (a crash between) is applied
// again, for the cursor is stored later; the value says in which slice a member may stand.
//
// One goroutine applies at a time. Two processes may for a while (one does not know yet that it was replaced): both
// apply the same events, so the worst is a witness that is not the oldest.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package record

import (
	"context"
	"time"

	"refrain/feed"
)

// Backend keeps values and sets. Set parts are named by key and slice.
type Backend interface {
	// Load returns the value of each key, nil where there is none. A value that is Dead may be left out.
	Load(ctx context.Context, keys []string) ([][]byte, error)
	// Write makes the changes in the order of the fields of b. All of it may be in after an error, or a part.
	Write(ctx context.Context, b *Batch) error
	// Range returns for each span its members, the latest first, at most s.Limit.
	Range(ctx context.Context, spans []Span) ([][]Member, error)
	// Scan returns keys of values that begin with a prefix, some at a time: about limit of them from cursor on, "" for the
	// beginning, and the cursor to go on from, "" at the end. A key that has a value all the while comes once or more.
	Scan(ctx context.Context, prefix, cursor string, limit int) (keys []string, next string, err error)
	// Count returns how many members each span has, Before and Limit aside.
	Count(ctx context.Context, spans []Span) ([]int, error)
}

// Slices is how many slices after its own something is alive.
const Slices = 4

// Slice is a number of a slice of wall time.
type Slice int64

// Dead reports whether what was last observed in slice s is over in slice now.
func (s Slice) Dead(now Slice) bool { return s+Slices < now }

// Batch is a number of changes.
type Batch struct {
	Now    Slice         // no slice in it is newer
	TTL    time.Duration // from now to the end of what was last observed in Now
	Values []Value
	Remove []Entry
	Add    []Entry
	Cap    int // of the parts of author sets
}

// Value is a value to write, last observed in Slice. The one that it replaces was last observed in Was, 0 when there is
// none.
type Value struct {
	Key   string
	Data  []byte
	Slice Slice
	Was   Slice
}

// Entry is a member of a part of a set.
type Entry struct {
	Set    string
	Slice  Slice
	Member Member
	Capped bool
}

// Member is an element of a set. Members are ordered by time, then name as bytes; a name occurs once in a part.
type Member struct {
	Time feed.Time
	Name string
}

// Less reports whether m comes before o.
func (m Member) Less(o Member) bool {
	return m.Time < o.Time || m.Time == o.Time && m.Name < o.Name
}

// Span is the members of a part of a set between two positions, both exclusive.
type Span struct {
	Set    string
	Slice  Slice
	After  Member
	Before *Member // nil: no end
	Limit  int
}
