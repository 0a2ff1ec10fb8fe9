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
	line, err := r.nextLine(j.lines)
	if err != nil || line == nil {
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
	line, err := r.nextLine(t.lines)
	if err != nil || line == nil {
		return err
	}
	r.post.ID = fmt.Sprintf("%010d", r.line)
	r.note, r.reason = r.post.Set(feed.FieldText, string(r.raw))
	return nil
}

// nextLine returns the next line that is not empty, nor only white space, with its line end, and fills r with
// it. A line that is too long gives nil, and r.reason says so.
func (r *fileRecord) nextLine(lines *lineReader) ([]byte, error) {
	for {
		line, size, err := lines.next()
		if err != nil {
			return nil, err
		}
		r.raw, r.size, r.line = trimEnd(line), size, lines.number
		if size > lines.limit {
			r.reason = tooLongLine(size, lines.limit)
			return nil, nil
		}
		r.size = len(r.raw)
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

func tooLongLine(size, limit int) error {
	return fmt.Errorf("a line of %d bytes, and the limit is %d", size, limit)
}
