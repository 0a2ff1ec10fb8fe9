package nats

import (
	"cmp"
	"fmt"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/tracing"
)

// part is a batch with the messages that it was made of.
type part struct {
	batch    ingest.Batch
	messages []js.Msg
	bytes    int
}

func (p *part) empty() bool { return len(p.messages) == 0 }

func (p *part) full(cfg *Config) bool {
	return len(p.messages) >= cfg.BatchPosts || p.bytes >= cfg.BatchBytes
}

// add makes a post or a rejection of a message. Its source is known only here, so it is the one who fills in what a
// post leaves open.
func (p *part) add(m js.Msg, meta *js.MsgMetadata, cfg *Config) {
	p.messages = append(p.messages, m)
	p.bytes += len(m.Data())
	if p.batch.Trace == "" { // a batch has room for one: the first
		p.batch.Trace = traceOf(m)
	}
	place := fmt.Sprintf("nats %s@%d", cfg.Stream, meta.Sequence.Stream)
	post, note, err := decode(m, meta, cfg)
	if err != nil {
		p.batch.Rejected = append(p.batch.Rejected, ingest.NewRejection(place, err.Error(), m.Data()))
		return
	}
	p.batch.Posts = append(p.batch.Posts, post)
	if note != "" {
		p.batch.Notes = append(p.batch.Notes, ingest.Note{Location: place, Text: note})
	}
}

// decode reads the post. One without a time of its own gets that of its message, which stays the same however often it
// is delivered.
func decode(m js.Msg, meta *js.MsgMetadata, cfg *Config) (feed.Post, string, error) {
	if n := len(m.Data()); n > cfg.MaxRecord {
		return feed.Post{}, "", fmt.Errorf("%d bytes, the limit is %d", n, cfg.MaxRecord)
	}
	post, note, err := feed.DecodePost(m.Data(), cfg.Fields)
	if err != nil {
		return feed.Post{}, "", err
	}
	note = feed.JoinNotes(note, cfg.Fields.Finish(&post, cfg.SourceName))
	if !post.Timed {
		post.Time = feed.FromTime(meta.Timestamp)
	}
	return post, note, nil
}

// traceOf is the W3C trace context of a message. NATS compares the names of headers by case, and both are in use.
func traceOf(m js.Msg) string {
	h := m.Headers()
	return tracing.Join(cmp.Or(h.Get("traceparent"), h.Get("Traceparent")), cmp.Or(h.Get("tracestate"), h.Get("Tracestate")))
}
