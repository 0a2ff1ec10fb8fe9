package ingest

import (
	"bytes"
	"fmt"

	"refrain/feed"
)

// jsonReader reads one JSON object a line.
type jsonReader struct {
	lines  *lineReader
	fields *feed.Fields
}

func (j *jsonReader) read(r *fileRecord) error {
	ok, err := r.nextLine(j.lines)
	if err != nil || !ok {
		return err
	}
	r.post, r.note, r.reason = feed.DecodePost(r.raw, j.fields)
	return nil
}

// textReader reads one post a line. Its id is the number of the line.
type textReader struct {
	lines *lineReader
}

func (t *textReader) read(r *fileRecord) error {
	ok, err := r.nextLine(t.lines)
	if err != nil || !ok {
		return err
	}
	r.post.ID = fmt.Sprintf("%010d", r.line)
	r.note, r.reason = r.post.Set(feed.FieldText, string(r.raw))
	return nil
}

// nextLine fills r with the next line that is not empty, or not only white space. Not ok means that it is too
// long; r.reason then says so.
func (r *fileRecord) nextLine(lines *lineReader) (ok bool, err error) {
	for {
		line, size, err := lines.next()
		if err != nil {
			return false, err
		}
		r.raw, r.size, r.line = trimEnd(line), size, lines.number
		if size > lines.limit {
			r.reason = tooLongLine(size, lines.limit)
			return false, nil
		}
		r.size = len(r.raw)
		if len(bytes.TrimSpace(r.raw)) > 0 {
			return true, nil
		}
	}
}

func tooLongLine(size, limit int) error {
	return fmt.Errorf("a line of %d bytes, and the limit is %d", size, limit)
}
