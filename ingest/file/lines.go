package file

import (
	"bufio"
	"bytes"
	"cmp"
	"io"

	"refrain/ingest"
)

// MaxLine is the longest line of a file, or record of a table, in bytes. A longer one is skipped without
// being held, and rejected.
const MaxLine = 8 << 20

// lineBuffer is what is read of a file at once.
const lineBuffer = 256 << 10

var byteOrderMark = []byte("\xef\xbb\xbf")

// lineReader cuts a stream into lines, and holds one of them at most.
type lineReader struct {
	r      *bufio.Reader
	limit  int
	number int64 // of the line last read, from 1
	buf    []byte

	mark     bool   // a byte order mark was dropped
	firstEnd string // of the first line that has one
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, lineBuffer), limit: limit}
}

// next returns the next line with its line end, valid until the next call, and its size; of a line longer
// than the limit, its first ingest.MaxRaw bytes. A byte order mark before the first line is dropped. At the end the
// error is io.EOF; before any other error, bytes of an unfinished line are dropped.
func (l *lineReader) next() (line []byte, size int, err error) {
	part, err := l.r.ReadSlice('\n')
	if l.number == 0 {
		part, l.mark = bytes.CutPrefix(part, byteOrderMark)
	}
	if err == bufio.ErrBufferFull {
		part, size, err = l.readLong(part)
	} else {
		size = len(part)
	}
	if err == io.EOF && size > 0 {
		err = nil
	}
	if err != nil {
		return nil, 0, err
	}
	l.number++
	return part, size, nil
}

// readLong gathers a line that is longer than the reader's buffer.
func (l *lineReader) readLong(part []byte) (line []byte, size int, err error) {
	l.buf = append(l.buf[:0], part...)
	size = len(part)
	err = bufio.ErrBufferFull
	for err == bufio.ErrBufferFull {
		part, err = l.r.ReadSlice('\n')
		size += len(part)
		if size <= l.limit {
			l.buf = append(l.buf, part...)
		}
	}
	if size > l.limit {
		l.buf = l.buf[:min(len(l.buf), ingest.MaxRaw)]
	}
	return l.buf, size, err
}

// waits reports whether the next line may have to be waited for: what is here has no end of one.
func (l *lineReader) waits() bool {
	here, _ := l.r.Peek(l.r.Buffered()) // as much as there is
	return bytes.IndexByte(here, '\n') < 0
}

// endOf is how a line ends. The last one, if it has no end, is taken to end as the first one does.
func (l *lineReader) endOf(line []byte) string {
	end := ""
	switch {
	case bytes.HasSuffix(line, []byte("\r\n")):
		end = "\r\n"
	case bytes.HasSuffix(line, []byte("\n")):
		end = "\n"
	}
	l.firstEnd = cmp.Or(l.firstEnd, end)
	return cmp.Or(end, l.firstEnd, "\n")
}

// trimEnd drops the line end, \n or \r\n.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
