package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"refrain/feed"
	"refrain/ingest"
)

// Part is a batch of a file on its way, in three steps:
//
//   - Source.Read takes its records from the file, in order, by one goroutine.
//   - Decoder.Decode makes posts of them: beside other parts, with a Decoder for each goroutine.
//   - Source.Stamp gives posts without a time theirs, which takes the parts before it: in order again, by one goroutine
//     at a time.
//
// Batch is complete after Stamp. A Part may be read into again: its slices are used again then, the strings stay.
type Part struct {
	Batch ingest.Batch

	raw       []byte    // what lines and records are made of
	lines     []rawLine // not decoded yet
	records   []rawLine // of each post of Batch
	strictErr error     // what a strict reading ends at, behind the posts of Batch
	size      int       // bytes of the records read, also of those of a table, which are not in raw
}

// rawLine is one line of a part, or one record of what has no lines. Of a table's only the number is kept, unless Config asks
// for Records.
type rawLine struct {
	number     int64 // of its first line, from 1
	start, end int   // in raw, without its line end
	next       int   // in raw, behind its line end
	size       int   // of the whole line; more than end-start of one that is too long
	record     int64 // see record.number
	reason     error // why it is none, if that is known
}

// Record is what post i of Batch was made of, byte for byte and with its line end: of a file whose Config asks for Records. A
// last line without an end gets that of the first one. It is valid until the part is read into again.
func (p *Part) Record(i int) []byte { return p.raw[p.records[i].start:p.records[i].next] }

// recordReader reads the records of one format whose records are not lines.
type recordReader interface {
	// read fills in r, or returns io.EOF, or what broke the file.
	read(r *record) error
}

// Read fills p with records that have not been read yet. It returns an error, and p has none, at the end of the file
// (io.EOF), where it cannot be read further, and when ctx is done.
func (f *Source) Read(ctx context.Context, p *Part) error {
	p.clear(f.name)
	defer f.interruptible(ctx)()
	if f.plain == nil && f.ended == nil {
		f.ended = f.begin()
	}
	for f.ended == nil && ctx.Err() == nil && !f.full(p) {
		f.ended = f.read(p)
		f.linesRead.Store(f.lines.number)
	}
	switch {
	case !p.empty():
		return nil
	case ctx.Err() != nil && (f.ended == nil || errors.Is(f.ended, os.ErrDeadlineExceeded)):
		return ctx.Err()
	}
	return f.ended
}

// interruptible lets the end of ctx end a read of a named pipe, until the function it returns is called.
func (f *Source) interruptible(ctx context.Context) (release func()) {
	if f.pipe == nil {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		_ = f.pipe.SetReadDeadline(time.Unix(0, 1)) // where there are no deadlines, nothing interrupts
	})
	return func() { stop() }
}

// begin starts a named pipe.
func (f *Source) begin() error {
	err := f.start()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.name, reasonOf(err))
}

func (p *Part) clear(partition string) {
	b := &p.Batch
	clear(b.Posts)
	*b = ingest.Batch{Partition: partition, Posts: b.Posts[:0], Ack: func(error) {}}
	if cap(p.raw) > batchBytes {
		p.raw = nil
	}
	p.raw, p.lines, p.records, p.strictErr, p.size = p.raw[:0], p.lines[:0], p.records[:0], nil, 0
}

func (p *Part) empty() bool { return len(p.lines) == 0 && p.Batch.Empty() && p.strictErr == nil }

// full reports whether p should go out now.
func (f *Source) full(p *Part) bool {
	n := len(p.lines) + len(p.Batch.Posts) + len(p.Batch.Rejected)
	return n >= f.cfg.BatchPosts || p.size >= batchBytes || p.strictErr != nil || f.live && n > 0 && f.lines.waits()
}

// read adds one record to p, or returns what ends the file.
func (f *Source) read(p *Part) error {
	r := &f.record
	*r = record{}
	var err error
	if f.records != nil {
		err = f.records.read(r)
	} else {
		_, err = r.nextLine(f.lines)
	}
	switch {
	case err == io.EOF:
		return err
	case err != nil:
		return fmt.Errorf("%s: after line %d: %w", f.name, f.lines.number, reasonOf(err))
	}
	p.size += len(r.raw)
	switch {
	case f.cfg.Format != "csv":
		p.lines = append(p.lines, p.copyRecord(r))
	case f.cfg.Records && r.reason == nil:
		f.addRecord(p, r, p.copyRecord(r))
	default:
		f.addRecord(p, r, rawLine{number: r.line})
	}
	return nil
}

// copyRecord copies what is read, which is valid until the next one is read.
func (p *Part) copyRecord(r *record) rawLine {
	l := rawLine{number: r.line, start: len(p.raw), size: r.size, record: r.number, reason: r.reason}
	p.raw = append(p.raw, r.raw...)
	l.end = len(p.raw)
	p.raw = append(p.raw, cmp.Or(r.lineEnd, "\n")...) // JSON and XML have none, and are kept a line each
	l.next = len(p.raw)
	return l
}

// Decoder makes posts of the records of a file's parts. It is for one goroutine.
type Decoder struct {
	f    *Source
	json *feed.PostDecoder // of what is no text
}

// NewDecoder returns a decoder of the parts of f. The format of a named pipe may be unknown then, and is known with its first part.
func (f *Source) NewDecoder() Decoder { return Decoder{f: f, json: feed.NewPostDecoder(f.cfg.Fields)} }

// Decode makes posts of the records of p. Its error, if a strict reading has one, is returned by Stamp.
func (d Decoder) Decode(p *Part) {
	for i := range p.lines {
		if p.strictErr != nil {
			return
		}
		l := &p.lines[i]
		r := record{line: l.number, number: l.record, raw: p.raw[l.start:l.end], size: l.size, reason: l.reason}
		d.decode(&r)
		d.f.addRecord(p, &r, *l)
	}
}

func (d Decoder) decode(r *record) {
	switch {
	case r.reason != nil:
	case r.size > d.f.lines.limit && r.number > 0:
		r.reason = fmt.Errorf("a record of %d bytes, and the limit is %d; --records says where posts are within others", r.size,
			d.f.lines.limit)
	case r.size > d.f.lines.limit:
		r.reason = tooLongLine(r.size, d.f.lines.limit)
	case d.f.cfg.Format == "text":
		r.post.ID = fmt.Sprintf("%010d", r.line)
		r.note, r.reason = r.post.Set(feed.FieldText, string(r.raw))
	default:
		r.note, r.reason = d.json.Decode(&r.post, r.raw)
	}
}

// addRecord adds the post of a record to p, or the reason why there is none. It may run beside itself, for other parts.
func (f *Source) addRecord(p *Part, r *record, l rawLine) {
	b := &p.Batch
	switch {
	case errors.Is(r.reason, feed.ErrNotPost):
		b.Skipped++
		return
	case r.reason != nil && f.cfg.Strict:
		p.strictErr = fmt.Errorf("%s: %w", f.location(r.line, r.number), r.reason)
		return
	case r.reason != nil:
		rejection := ingest.NewRejection(f.location(r.line, r.number), r.reason.Error(), r.raw)
		rejection.Truncated = r.size > len(rejection.Raw)
		b.Rejected = append(b.Rejected, rejection)
		return
	}
	if note := feed.JoinNotes(r.note, f.cfg.Fields.Finish(&r.post, f.cfg.SourceName)); note != "" {
		b.Notes = append(b.Notes, ingest.Note{Location: f.location(r.line, r.number), Text: note})
	}
	b.Posts = append(b.Posts, r.post)
	p.records = append(p.records, l)
}

// Bytes is about how much memory the part holds: its records, and the posts made of them.
func (p *Part) Bytes() int64 { return int64(cap(p.raw) + p.size) }

// Line is where post i of the batch begins in the file, counted from 1.
func (p *Part) Line(i int) int64 { return p.records[i].number }

// Line is a line of a file, without its end. Of one longer than MaxLine there is only the beginning.
type Line struct {
	Number int64 // from 1
	Text   []byte
	Size   int // bytes of the whole line
}

// Lines yields the lines of a part that has been read as text, and not decoded: for what is no posts. Lines of nothing but
// white space are left out.
func (p *Part) Lines(yield func(Line) bool) {
	for i := range p.lines {
		l := &p.lines[i]
		if !yield(Line{l.number, p.raw[l.start:l.end], l.size}) {
			return
		}
	}
}

// Stamp gives the posts of p that have no time theirs, and counts what is in p. Its error is the record at which a
// strict reading ends: the posts before it are in p, and of the parts behind p it leaves nothing.
func (f *Source) Stamp(ctx context.Context, p *Part) error {
	if f.refused != nil {
		p.clear(f.name)
		return f.refused
	}
	for i := range p.Batch.Posts {
		f.stamper.Stamp(&p.Batch.Posts[i])
	}
	ingest.Count(ctx, &p.Batch)
	f.refused = p.strictErr
	return f.refused
}
