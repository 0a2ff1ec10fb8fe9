// Package publish carries events from the event topic to whoever wants them.
//
// A Sink takes events; Follow reads the topic for one, with a cursor of its own. Events serves the topic itself
// over HTTP, where every client is its own cursor.
package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"refrain/feed"
)

// Sink is a place where events go.
type Sink interface {
	// Publish hands over events, each one CloudEvents JSON object without a newline. On a nil error they are
	// the sink's: they will not be offered again, except after a crash.
	Publish(ctx context.Context, events [][]byte) error
}

// Deleted reports whether a post has been deleted. It is asked for every post that an event mentions, so it must
// be quick; it must be safe for concurrent use.
type Deleted func(source, post string) bool

// envelope is what publishing needs to know of an event.
type envelope struct {
	Type string `json:"type"`
	Data struct {
		Later, Earlier, First struct{ Source, Post string }
	} `json:"data"`
}

// open reads the envelope of an event. What is wrong with it cannot be the reader's fault.
func open(event []byte) (envelope, error) {
	var e envelope
	if err := json.Unmarshal(event, &e); err != nil {
		return e, fmt.Errorf("event: %w", err)
	}
	if e.Type == "" || strings.ContainsAny(e.Type, "\r\n") {
		return e, fmt.Errorf("event: type %q", e.Type)
	}
	return e, nil
}

// mentions reports whether e is a match that shows a deleted post. Other events pass: a retraction names the post
// that it retracts.
func (e *envelope) mentions(deleted Deleted) bool {
	d := &e.Data
	return deleted != nil && e.Type == feed.ReuseType &&
		(deleted(d.Later.Source, d.Later.Post) || deleted(d.Earlier.Source, d.Earlier.Post) || deleted(d.First.Source, d.First.Post))
}
