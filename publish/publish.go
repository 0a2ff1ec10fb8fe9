// Package publish carries events from the event topic to whoever wants them.
//
// A Sink takes events; Follow reads the topic for one, with a cursor of its own. Events serves the topic itself
// over HTTP, where every client is its own cursor.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package publish

import (
	"context"
	"errors"
	"time"

	"refrain/feed"
)

// Sink is where events go.
type Sink interface {
	// Publish hands over events. On a nil error they are the sink's: they will not be offered again, except after
	// a crash. After an error all of them are offered again.
	//
	// An event that the sink can never accept (too large, refused for good) is the sink's to write to DeadLetters,
	// and no error.
	Publish(ctx context.Context, events []Event) error
}

// ErrRewind is wrapped by the error of a sink that has lost what it had accepted, as a store restored from an old copy
// has: reading begins again at the cursor that is stored now.
var ErrRewind = errors.New("the sink has gone back to an earlier state")

// DeadLetters stores what a sink can never deliver. It is safe for concurrent use.
type DeadLetters interface {
	// Write stores an event, named by sink and offset, with the reason why it was not delivered.
	Write(place, reason string, event []byte) error
}

// Letter is a dead letter that was written.
type Letter struct {
	Place string
	Time  time.Time // when it was written
	Event []byte
	Cut   bool // it was longer
}

// Letters are the dead letters that are kept.
type Letters interface {
	// Each calls visit for every one, the oldest first, until that returns an error, which it returns.
	Each(visit func(Letter) error) error
}

// Deleted reports whether an event that was made at a time may not show a post any more, because it was deleted, or its
// author was. It is asked for every post that an event mentions, so it must be quick; it must be safe for concurrent use.
type Deleted func(n feed.Name, made time.Time) bool
