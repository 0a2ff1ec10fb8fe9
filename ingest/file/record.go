package file

import (
	"bytes"
	"fmt"

	"refrain/feed"
)

// record is one record of a file: a post, or the reason why it is none.
type record struct {
	line   int64
	number int64 // of the record in its file, where records are not lines; else 0
	post   feed.Post
	note   string
	reason error
	raw    []byte // as it came, without its line end; valid until the next one
	size   int    // of the whole record

	lineEnd string // "\n" or "\r\n"
}

// nextLine returns the next line that is not empty, nor only white space, with its line end, and fills r with
// it. A line that is too long gives nil, and r.reason says so.
func (r *record) nextLine(lines *lineReader) ([]byte, error) {
	for {
		line, size, err := lines.next()
		if err != nil {
			return nil, err
		}
		r.raw, r.size, r.line = trimEnd(line), size, lines.number
		r.lineEnd = lines.endOf(line)
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
