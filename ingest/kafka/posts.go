package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go/protocol"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/feedtime"
	"refrain/internal/kafkaconn/frames"
)

// posts makes batches of the records of one partition.
type posts struct {
	cfg      *Config
	location string // of a record, but for its offset
	batch    ingest.Batch
	bytes    int64
	traces   traces
	value    []byte // reused from record to record

	clock      feedtime.Clock // of all posts so far
	begun, end feed.Time      // where it stood when the batch began, and stands at its end
}

// decoded is one record: a post, or why it is none.
type decoded struct {
	location string
	post     feed.Post
	deleted  *feed.Tombstone // it is a tombstone, and these are read: there is no post
	note     string
	err      error
}

func (p *posts) empty() bool { return p.batch.Empty() }

func (p *posts) full() bool {
	return len(p.batch.Posts)+len(p.batch.Rejected)+len(p.batch.Deleted) >= p.cfg.BatchPosts || p.bytes >= p.cfg.BatchBytes
}

// flush returns the batch and how large it is, and begins another. The traces stay until the next record.
func (p *posts) flush() (ingest.Batch, int64) {
	b, bytes := p.batch, p.bytes
	p.batch, p.bytes = ingest.Batch{}, 0
	return b, bytes
}

func (p *posts) drop() { _, _ = p.flush() }

// restart begins anew with the clock: what comes next is older than what was read.
func (p *posts) restart() { p.clock, p.end = feedtime.Clock{}, beginning }

// decode reads one record.
func (p *posts) decode(r *protocol.Record) decoded {
	d := decoded{location: p.location + strconv.FormatInt(r.Offset, 10)}
	if r.Value == nil && p.cfg.Tombstones == DeletePost {
		d.deleted, d.err = p.decodeTombstone(r)
		return d
	}
	d.post, d.note, d.err = p.decodePost(r)
	return d
}

// moveClock moves the clock on by a post, and returns where it stands then.
func (p *posts) moveClock(d *decoded) feed.Time {
	if d.err != nil || d.deleted != nil {
		return p.end
	}
	t, now := d.post.Time, feed.FromTime(time.Now())
	if t == 0 && !d.post.Timed || t > now { // it will be the present
		t = now
	}
	p.clock.Add(t)
	if at, known := p.clock.Time(); known {
		return at
	}
	return beginning
}

// isApart reports whether a clock is too far on for the batch: what is in it would have to wait with what brought the
// clock there.
func (p *posts) isApart(at feed.Time) bool {
	return p.cfg.MaxAhead > 0 && !p.empty() && at > p.begun.Add(p.cfg.MaxAhead/2)
}

// follows reports whether a record writes a post that the batch deletes: a batch is written before what it deletes.
func (p *posts) follows(d *decoded) bool {
	return d.err == nil && d.deleted == nil && slices.ContainsFunc(p.batch.Deleted, func(t feed.Tombstone) bool {
		return t.Post == d.post.ID && t.Source == d.post.Source
	})
}

// add takes one record in, as a post, a deletion or a rejection; at is where the clock stands with it.
func (p *posts) add(d *decoded, headers []protocol.Header, at feed.Time) {
	if p.empty() {
		p.traces.reset()
		p.begun = at
	}
	p.end = at
	p.traces.add(headers)
	if d.err != nil {
		p.batch.Rejected = append(p.batch.Rejected, ingest.NewRejection(d.location, d.err.Error(), p.value))
		p.bytes += int64(min(len(p.value), ingest.MaxRaw))
		return
	}
	if d.deleted != nil {
		p.bytes += int64(len(d.deleted.Post))
		p.batch.Deleted = append(p.batch.Deleted, *d.deleted)
		return
	}
	p.bytes += int64(len(p.value))
	if d.note != "" {
		p.batch.Notes = append(p.batch.Notes, ingest.Note{Location: d.location, Text: d.note})
	}
	p.batch.Posts = append(p.batch.Posts, d.post)
}

// decodePost reads one post. A post without a time of its own gets that of its event, or of its record.
func (p *posts) decodePost(r *protocol.Record) (feed.Post, string, error) {
	if err := p.read(r); err != nil {
		return feed.Post{}, "", err
	}
	e, err := unwrap(r.Headers, p.value)
	if err != nil {
		return feed.Post{}, "", err
	}
	value, err := unframe(e.data)
	if err != nil {
		return feed.Post{}, "", err
	}
	post, note, err := feed.DecodePost(value, p.cfg.Fields)
	if err != nil {
		return post, "", err
	}
	note = feed.JoinNotes(note, p.cfg.Fields.Finish(&post, p.cfg.SourceName))
	if !post.Timed { // without any, split gives it the present
		post.Time = e.timeOr(r.Time)
	}
	return post, note, nil
}

// decodeTombstone takes the key of a record for the id of a post.
func (p *posts) decodeTombstone(r *protocol.Record) (*feed.Tombstone, error) {
	p.value = p.value[:0]
	if reason, ok := refused(r); ok {
		return nil, refusedError(reason)
	}
	key, err := protocol.ReadAll(r.Key)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	t := &feed.Tombstone{Source: p.cfg.SourceName, Post: string(key)}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("tombstone: the key is no id of a post: %w", err)
	}
	return t, nil
}

// unframe takes off what serializers with a schema registry put before a value: a zero byte, and the number of the schema
// in four. No JSON begins with a zero byte. (Confluent, "Wire format",
// https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format)
func unframe(value []byte) ([]byte, error) {
	const size = 5
	if len(value) < size || value[0] != 0 {
		return value, nil
	}
	rest := value[size:]
	if json := bytes.TrimLeft(rest, " \t\r\n"); len(json) == 0 || json[0] != '{' {
		return nil, fmt.Errorf("framed by a schema registry's serializer (schema %d), and no JSON object behind that: Avro and "+
			"Protobuf are not read", binary.BigEndian.Uint32(value[1:size]))
	}
	return rest, nil
}

func refusedError(reason []byte) error {
	return fmt.Errorf("a whole batch of records, this offset its last: %s", reason)
}

// refused is why a batch was left out whose place a record takes.
func refused(r *protocol.Record) (reason []byte, ok bool) {
	if len(r.Headers) == 1 && r.Headers[0].Key == frames.Refused {
		return r.Headers[0].Value, true
	}
	return nil, false
}

// read copies the value of a record, as far as it is wanted.
func (p *posts) read(r *protocol.Record) error {
	p.value = p.value[:0]
	if reason, ok := refused(r); ok {
		return refusedError(reason)
	}
	if r.Value == nil {
		key, err := protocol.ReadAll(r.Key)
		if err != nil {
			return fmt.Errorf("read key: %w", err)
		}
		return fmt.Errorf("tombstone: no value (key %.100q); tombstones: delete would delete that post", key)
	}
	size := int64(r.Value.Len())
	length := size
	if size > p.cfg.MaxRecord {
		length = min(size, ingest.MaxRaw+1)
	}
	if int64(cap(p.value)) < length || cap(p.value) > 1<<20 && length < 64<<10 { // nor is one large record held for ever
		p.value = make([]byte, 0, length)
	}
	p.value = p.value[:length]
	if _, err := io.ReadFull(r.Value, p.value); err != nil {
		return fmt.Errorf("read value: %w", err)
	}
	if size > p.cfg.MaxRecord {
		return fmt.Errorf("%d bytes, and the limit is %d (max_record)", size, p.cfg.MaxRecord)
	}
	return nil
}
