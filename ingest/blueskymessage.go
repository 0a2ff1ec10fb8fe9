package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"refrain/feed"
)

// postCollection is the kind of record that is a post.
const postCollection = "app.bsky.feed.post"

// jetstreamEvent is a message of Jetstream. There are also kinds account and identity, which carry no posts.
type jetstreamEvent struct {
	DID    string           `json:"did"`
	TimeUS int64            `json:"time_us"`
	Kind   string           `json:"kind"`
	Commit *jetstreamCommit `json:"commit"`
}

type jetstreamCommit struct {
	Operation  string          `json:"operation"` // create, update or delete
	Collection string          `json:"collection"`
	RKey       string          `json:"rkey"`
	Record     json.RawMessage `json:"record"` // absent on delete
}

// decode reads one message; a kind that is not ours yields one that only moves the cursor.
func (b *Bluesky) decode(data []byte) message {
	var e jetstreamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return b.reject(0, data, err)
	}
	if e.TimeUS <= 0 {
		return b.reject(0, data, errors.New("time_us: missing"))
	}
	if e.Kind != "commit" || e.Commit != nil && e.Commit.Collection != postCollection {
		return message{time: e.TimeUS}
	}
	m, err := b.commit(&e)
	if err != nil {
		return b.reject(e.TimeUS, data, err)
	}
	m.time = e.TimeUS
	return m
}

func (b *Bluesky) reject(time int64, data []byte, err error) message {
	r := NewRejection(b.place(time), err.Error(), data)
	return message{time: time, rejected: &r}
}

// place names a message by the server's time, which a cursor can go back to.
func (b *Bluesky) place(time int64) string { return b.cfg.Name + ":" + strconv.FormatInt(time, 10) }

func (b *Bluesky) commit(e *jetstreamEvent) (message, error) {
	c := e.Commit
	if c == nil || e.DID == "" || c.RKey == "" {
		return message{}, errors.New("did, commit or rkey: missing")
	}
	id := "at://" + e.DID + "/" + postCollection + "/" + c.RKey
	switch c.Operation {
	case "delete":
		return message{deleted: &Tombstone{Source: b.cfg.Source, ID: id}}, nil
	case "create", "update":
		return b.post(e, id)
	}
	return message{}, fmt.Errorf("operation %q: want create, update or delete", c.Operation)
}

// post reads the record of a post. Its text is judged like that of any other feed.
func (b *Bluesky) post(e *jetstreamEvent, id string) (message, error) {
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
		m.note = &Note{Place: b.place(e.TimeUS), Text: note}
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
