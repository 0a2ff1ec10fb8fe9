package bluesky

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"refrain/feed"
	"refrain/ingest"
)

// message is one message of the firehose, decoded.
type message struct {
	era      int   // of the connection: messages of an earlier era are void
	time     int64 // the server's time_us, 0 when it could not be read
	size     int64 // of what waits, in bytes
	post     *feed.Post
	note     *ingest.Note
	deleted  *feed.Tombstone
	rejected *ingest.Rejection
}

// put adds m to the batch.
func (m *message) put(b *ingest.Batch) {
	if m.post != nil {
		b.Posts = append(b.Posts, *m.post)
	}
	if m.note != nil {
		b.Notes = append(b.Notes, *m.note)
	}
	if m.deleted != nil {
		b.Deleted = append(b.Deleted, *m.deleted)
	}
	if m.rejected != nil {
		b.Rejected = append(b.Rejected, *m.rejected)
	}
}

// follows reports whether m writes a post that the batch deletes, or one of an author that it deletes: a batch does not
// say which came first.
func (m *message) follows(b *ingest.Batch) bool {
	if m.post == nil {
		return false
	}
	for _, d := range b.Deleted {
		if d.Post == m.post.ID || d.Author != "" && d.Author == m.post.Author {
			return true
		}
	}
	return false
}

// postCollection is the kind of record that is a post.
const postCollection = "app.bsky.feed.post"

// jetstreamEvent is a message of Jetstream: of kind commit, account, or identity, which is not for us.
type jetstreamEvent struct {
	DID     string            `json:"did"`
	TimeUS  int64             `json:"time_us"`
	Kind    string            `json:"kind"`
	Commit  *jetstreamCommit  `json:"commit"`
	Account *jetstreamAccount `json:"account"`
}

type jetstreamAccount struct {
	Active bool   `json:"active"`
	Status string `json:"status"` // why it is not active
}

// isGone reports whether the account and all it has posted is no more: not merely suspended or deactivated, which pass.
func (a *jetstreamAccount) isGone() bool {
	return a != nil && !a.Active && (a.Status == "deleted" || a.Status == "takendown")
}

type jetstreamCommit struct {
	Operation  string          `json:"operation"` // create, update or delete
	Collection string          `json:"collection"`
	RKey       string          `json:"rkey"`
	Record     json.RawMessage `json:"record"` // absent on delete
}

// decode reads one message; a kind that is not ours yields one that only moves the cursor.
func (b *Source) decode(data []byte) message {
	var e jetstreamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return b.reject(0, data, err)
	}
	if e.TimeUS <= 0 {
		return b.reject(0, data, errors.New("time_us: missing"))
	}
	if e.Kind == "account" && e.Account.isGone() && e.DID != "" {
		return b.tombstone(e.TimeUS, data, feed.Tombstone{Source: b.cfg.Source, Author: e.DID})
	}
	if e.Kind != "commit" || e.Commit != nil && e.Commit.Collection != postCollection {
		return message{time: e.TimeUS}
	}
	m, err := b.commit(&e)
	if err == nil && m.deleted != nil {
		return b.tombstone(e.TimeUS, data, *m.deleted)
	}
	if err != nil {
		return b.reject(e.TimeUS, data, err)
	}
	m.time = e.TimeUS
	return m
}

// tombstone refuses names that no post can have.
func (b *Source) tombstone(time int64, data []byte, t feed.Tombstone) message {
	if err := t.Check(); err != nil {
		return b.reject(time, data, err)
	}
	return message{time: time, deleted: &t}
}

func (b *Source) reject(time int64, data []byte, err error) message {
	r := ingest.NewRejection(b.location(time), err.Error(), data)
	return message{time: time, rejected: &r}
}

// location names a message by the server's time, which a cursor can go back to.
func (b *Source) location(time int64) string { return b.cfg.Name + ":" + strconv.FormatInt(time, 10) }

func (b *Source) commit(e *jetstreamEvent) (message, error) {
	c := e.Commit
	if c == nil || e.DID == "" || c.RKey == "" {
		return message{}, errors.New("did, commit or rkey: missing")
	}
	id := "at://" + e.DID + "/" + postCollection + "/" + c.RKey
	switch c.Operation {
	case "delete":
		return message{deleted: &feed.Tombstone{Source: b.cfg.Source, Post: id}}, nil
	case "create", "update":
		return b.post(e, id)
	}
	return message{}, fmt.Errorf("operation %q: want create, update or delete", c.Operation)
}

// post reads the record of a post. Its text is judged like that of any other feed.
func (b *Source) post(e *jetstreamEvent, id string) (message, error) {
	var r struct {
		CreatedAt json.RawMessage `json:"createdAt"`
		Langs     []string        `json:"langs"`
		Text      json.RawMessage `json:"text"`
	}
	if err := json.Unmarshal(e.Commit.Record, &r); err != nil {
		return message{}, fmt.Errorf("record: %w", err)
	}
	own := map[string]any{"id": id}
	if r.Text != nil {
		own["text"] = r.Text
	}
	line, err := json.Marshal(own)
	if err != nil {
		return message{}, fmt.Errorf("record: text: %w", err)
	}
	p, note, err := feed.DecodePost(line, nil)
	if err != nil {
		return message{}, fmt.Errorf("record: %w", err)
	}
	p.Source, p.Author = b.cfg.Source, e.DID
	if len(r.Langs) > 0 {
		p.Lang = r.Langs[0]
	}
	note = join(note, stamp(&p, r.CreatedAt, e.TimeUS))
	m := message{post: &p}
	if note != "" {
		m.note = &ingest.Note{Location: b.location(e.TimeUS), Text: note}
	}
	return m, nil
}

// stamp gives p the time its author claims, or that of the server where the claim is missing or makes no sense.
// A claim in the future is for split to judge.
func stamp(p *feed.Post, claim json.RawMessage, timeUS int64) (note string) {
	var s string
	err := json.Unmarshal(bytes.TrimSpace(claim), &s)
	if err == nil {
		p.Time, err = feed.ParseTime(s)
	}
	if err == nil {
		p.Timed = true
		return ""
	}
	p.Time = feed.Time(timeUS / 1000)
	if claim == nil {
		return "createdAt: missing, the server's time was taken"
	}
	return fmt.Sprintf("createdAt: %v; the server's time was taken", err)
}

// join puts two notes together.
func join(a, b string) string { return strings.Trim(a+"; "+b, "; ") }
