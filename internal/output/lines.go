package output

import (
	"io"
	"slices"

	"refrain/feed"
	"refrain/publish"
)

// lines writes an event a line, as JSON.
type lines struct {
	to  *publish.Lines
	buf []byte
}

func newLines(w io.Writer) *lines { return &lines{to: publish.NewLines(w)} }

// Write appends several lines at a time, the line end of the last one left to Append.
func (l *lines) Write(matches []feed.Match) error {
	for chunk := range slices.Chunk(matches, linesPerAppend) {
		l.buf = l.buf[:0]
		for i := range chunk {
			if i > 0 {
				l.buf = append(l.buf, '\n')
			}
			l.buf = chunk[i].AppendEvent(l.buf, deployment)
		}
		if err := l.to.Append(l.buf); err != nil {
			return err
		}
	}
	return nil
}

// linesPerAppend fill the buffer of publish.Lines about once.
const linesPerAppend = 64

func (l *lines) Close() error { return l.to.Flush() }

// deployment is the source of events where no configuration names one.
const deployment = "refrain"
