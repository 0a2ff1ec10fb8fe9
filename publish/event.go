package publish

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"refrain/feed"
	"refrain/topic"
)

// Event is one event on its way from the event topic to a sink.
type Event struct {
	ID   string // deterministic: a consumer tells repetitions by it
	Type string // CloudEvents type: feed.ReuseType, feed.RetractedType
	// Source and Post name the post that the event is about: the later one of a match, the deleted one of a
	// retraction. A retraction of an author has no Post.
	Source, Post string
	FoundAt      time.Time // when it was found
	Key          string    // CloudEvents partitionkey
	Trace        string    // W3C traceparent of the post's way through and, behind a space, tracestate; "" without one
	Offset       string    // where it stands in the event topic, for logs and dead letters
	// Data is one CloudEvents JSON object without a newline. Nobody changes it.
	Data []byte

	names
	deployment string // CloudEvents source
	at         offset
}

// Position is where the event stands in the event topic.
func (e *Event) Position() (partition int, position int64) { return e.at.partition, e.at.position }

// names are the posts that a match shows.
type names struct {
	Later, Earlier, First feed.Name
}

// envelope is what publishing reads of the JSON of an event that is no match, or not written by AppendEvent.
type envelope struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	From string `json:"source"`
	Key  string `json:"partitionkey"`
	Data struct {
		Later   feed.Name `json:"later"`
		Earlier feed.Name `json:"earlier"`
		First   feed.Name `json:"first"`
		Source  string    `json:"source"`
		Post    string    `json:"post"`
	} `json:"data"`
}

// open reads an event. What is wrong with it cannot be the reader's fault.
func open(r *topic.Record) (Event, error) {
	event, err := read(r.Data)
	if err != nil {
		return Event{}, fmt.Errorf("event: %w", err)
	}
	event.FoundAt, event.Trace, event.Data, event.at = r.Time, r.Trace, r.Data, offset{r.Partition, r.Position}
	event.Offset = "events/" + strconv.Itoa(r.Partition) + "@" + strconv.FormatInt(r.Position, 10)
	return event, nil
}

// ReadEvent reads an event that is not in the topic, as a dead letter; place is what it is called in logs. It counts as older
// than any deletion.
func ReadEvent(data []byte, place string) (Event, error) {
	e, err := read(data)
	if err != nil {
		return e, fmt.Errorf("event: %w", err)
	}
	e.Data, e.Offset, e.FoundAt = data, place, time.Unix(0, 0) // when it was found is not known: before any deletion
	return e, nil
}

func read(data []byte) (Event, error) {
	if g, ok := feed.GlanceEvent(data); ok {
		return Event{
			ID: g.ID, Type: feed.ReuseType, Key: g.Key, Source: g.Later.Source, Post: g.Later.Post,
			names: names{g.Later, g.Earlier, g.First}, deployment: g.Deployment,
		}, nil
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Event{}, err
	}
	if e.Type == "" || strings.ContainsAny(e.Type, "\r\n") {
		return Event{}, fmt.Errorf("type %q", e.Type)
	}
	event := Event{
		ID: e.ID, Type: e.Type, Key: e.Key, Source: e.Data.Source, Post: e.Data.Post,
		names: names{e.Data.Later, e.Data.Earlier, e.Data.First}, deployment: e.From,
	}
	if e.Type == feed.ReuseType {
		event.Source, event.Post = e.Data.Later.Source, e.Data.Later.Post
	}
	return event, nil
}

// Clear makes sure that e shows no deleted post; false says that it cannot. A match of two posts that are there loses
// no more than its first occurrence, whose place the earlier one takes.
func (e *Event) Clear(deleted Deleted) bool {
	if !e.mentions(deleted) {
		return true
	}
	if deleted(e.Later, e.FoundAt) || deleted(e.Earlier, e.FoundAt) {
		return false
	}
	m, err := feed.DecodeEvent(e.Data)
	if err != nil {
		return false
	}
	m.First = feed.First{Source: m.Earlier.Source, Post: m.Earlier.Post, Author: m.Earlier.Author, Time: m.Earlier.Time}
	e.First = e.Earlier
	e.Data = m.AppendEventOf(nil, &feed.Deployment{Name: e.deployment, Schemas: schemasOf(e.Data)})
	return true
}

// schemasOf is where the schema of an event's data is, "" where it names none.
func schemasOf(data []byte) string {
	var e struct {
		Type, DataSchema string
	}
	_ = json.Unmarshal(data, &e, json.MatchCaseInsensitiveNames(true)) // one that cannot be read names none
	base, _ := strings.CutSuffix(e.DataSchema, feed.SchemaFile(e.Type))
	return base
}

// mentions reports whether e is a match that shows a deleted post. Other events pass: a retraction names the post
// that it retracts.
func (e *Event) mentions(deleted Deleted) bool {
	return deleted != nil && e.Type == feed.ReuseType &&
		(deleted(e.Later, e.FoundAt) || deleted(e.Earlier, e.FoundAt) || deleted(e.First, e.FoundAt))
}
