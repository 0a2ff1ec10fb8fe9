// Package ingest is the contract of a source of posts: batches with an acknowledgement.
//
// A Source yields batches; who takes a batch calls its Ack once it is durable, and only then may the source
// forget it. A record that is no post does not stop a source: it becomes a Rejection, with its location and the
// reason, and the posts around it go on. A record that was accepted with a change becomes a Note besides.
//
// The sources are packages of their own below this one, which know nothing of each other.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"refrain/feed"
)

// Source yields the posts of one feed, in its order.
type Source interface {
	// Next returns the next batch; it blocks until there is one. io.EOF says that there is no more, and comes
	// with an empty batch. Other errors are final.
	Next(ctx context.Context) (Batch, error)
}

// Batch is what a source hands on at once. The strings and slices in it are the receiver's to keep.
type Batch struct {
	// Partition names the source partition that the posts come from: each has a clock of its own.
	Partition string

	Posts    []feed.Post
	Rejected []Rejection
	Notes    []Note
	Deleted  []feed.Tombstone
	Skipped  int // records that are no posts, and no mistakes either: feed.ErrNotPost

	// Sender is whom the batch is counted for: see internal/quota. The sources here leave it empty but for HTTP.
	Sender string

	// Trace is the W3C traceparent of the request that the batch came with, and behind a space its tracestate if it has
	// one; "" without.
	Trace string

	// Void, if set, says that an earlier batch of the same request has failed: this one is not to be written, or it
	// would overtake what is sent again. Its Ack is called with an error.
	Void func() bool

	// Ack is called once: with nil when everything in the batch is durable, else with the reason why not.
	// Sources set it always; Done tolerates a nil one, as in a batch made by hand.
	Ack func(error)
}

// Done calls Ack if there is one.
func (b *Batch) Done(err error) {
	if b.Ack != nil {
		b.Ack(err)
	}
}

// Empty reports whether b holds nothing at all.
func (b *Batch) Empty() bool {
	return len(b.Posts)+len(b.Rejected)+len(b.Notes)+len(b.Deleted)+b.Skipped == 0
}

// Sources are the sources of the posts, and of the posts deleted, each once.
func (b *Batch) Sources() []string {
	var all []string
	add := func(source string) {
		if len(all) == 0 || all[len(all)-1] != source { // as a rule they are all the same
			all = append(all, source)
		}
	}
	for i := range b.Posts {
		add(b.Posts[i].Source)
	}
	for i := range b.Deleted {
		add(b.Deleted[i].Source)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ErrBehind says that posts come faster than they are looked up, and from whom.
var ErrBehind = errors.New("posts arrive faster than they are compared")

// ErrOverdue says that look-ups are so far behind that what comes now might leave the topic before it is looked up, whoever
// sends it.
var ErrOverdue = errors.New("look-ups are too far behind")

// ErrDeletionsFull says that there is no room for further deletions until old ones may be forgotten.
var ErrDeletionsFull = errors.New("no room for further deletions")

// NoRoomError says that the topic of sentences, or its disk, has no room for a batch.
type NoRoomError struct {
	In  time.Duration // until there may be, about
	Err error
}

func (e *NoRoomError) Error() string {
	return "no room by topics.sentence_bytes, or on the disk: " + e.Err.Error()
}

// Unwrap is the cause.
func (e *NoRoomError) Unwrap() error { return e.Err }

// MaxRaw is how many bytes of a rejected record are kept.
const MaxRaw = 64 << 10

// Rejection is a record that is no post, with its location and the reason.
type Rejection struct {
	Location string // FILE:LINE, or the line of a request
	Reason   string
	Raw      []byte // the record as it came, at most MaxRaw bytes of it
	// Truncated: the record was longer than Raw.
	Truncated bool
}

// NewRejection copies raw, cut to MaxRaw bytes.
func NewRejection(place, reason string, raw []byte) Rejection {
	r := Rejection{Location: place, Reason: reason, Truncated: len(raw) > MaxRaw}
	r.Raw = append(r.Raw, raw[:min(len(raw), MaxRaw)]...)
	return r
}

// TooLong is the reason why a record of more than limit bytes is no post.
func TooLong(limit int) error { return fmt.Errorf("longer than %d bytes of JSON", limit) }

// Note says that a record was accepted, but changed.
type Note struct {
	Location, Text string
}
