package joining

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"refrain/join"
	"refrain/publish"
)

// Writer writes pairs as they are found, a line each, soon after.
type Writer struct {
	lines *publish.Lines
	a, b  *Names
	self  bool
	csv   bool
	buf   []byte
	count int
}

// NewWriter returns a writer of pairs of the records of one file or two, as JSON lines, or as CSV with a header row.
//
// Of strings, distances go with them. The header is there where no pair is.
func NewWriter(w io.Writer, format string, distances bool, records []*Records) *Writer {
	n := len(records)
	p := &Writer{lines: publish.NewLines(w), a: &records[0].Names, b: &records[n-1].Names, self: n == 1, csv: format == "csv"}
	header := "a,b,similarity"
	if distances {
		header = "a,b,distance,similarity"
	}
	if p.csv {
		_ = p.lines.Append([]byte(header)) // its error stays, for what comes next
	}
	return p
}

// Count is how many pairs were written.
func (w *Writer) Count() int { return w.count }

// Write writes a pair of sets.
func (w *Writer) Write(p join.Pair) error {
	w.begin(p.A, p.B)
	w.number("similarity", p.Similarity)
	return w.end()
}

// WriteDistance writes a pair of strings: how many characters are apart, and as a similarity what share of the longer one is not.
func (w *Writer) WriteDistance(a, b, distance, longer int) error {
	w.begin(a, b)
	similarity := 1.0
	if longer > 0 {
		similarity = 1 - float64(distance)/float64(longer)
	}
	w.number("distance", float64(distance))
	w.number("similarity", similarity)
	return w.end()
}

func (w *Writer) begin(a, b int) {
	if w.self && w.a.Swapped(a, b) {
		a, b = b, a
	}
	if w.csv {
		w.buf = w.a.appendCSV(w.buf[:0], a)
		w.buf = w.b.appendCSV(append(w.buf, ','), b)
		return
	}
	w.buf = w.a.appendJSON(append(w.buf[:0], `{"a":`...), a)
	w.buf = w.b.appendJSON(append(w.buf, `,"b":`...), b)
}

func (w *Writer) number(name string, value float64) {
	if w.csv {
		w.buf = append(w.buf, ',')
	} else {
		w.buf = append(append(append(w.buf, ',', '"'), name...), '"', ':')
	}
	w.buf = strconv.AppendFloat(w.buf, value, 'f', -1, 64)
}

func (w *Writer) end() error {
	if !w.csv {
		w.buf = append(w.buf, '}')
	}
	w.count++
	return w.lines.Append(w.buf)
}

// Close writes what is left.
func (w *Writer) Close() error { return w.lines.Flush() }

func (n *Names) appendJSON(dst []byte, i int) []byte {
	if line, ok := n.Line(i); ok {
		return strconv.AppendInt(dst, int64(line), 10)
	}
	dst, _ = jsontext.AppendQuote(dst, n.id(i)) // what is not UTF-8 was replaced when it was read
	return dst
}

func (n *Names) appendCSV(dst []byte, i int) []byte {
	if line, ok := n.Line(i); ok {
		return strconv.AppendInt(dst, int64(line), 10)
	}
	cells := csv.NewWriter((*appender)(&dst))
	_ = cells.Write([]string{string(n.id(i))})
	cells.Flush()
	return dst[:len(dst)-1] // the line end
}

// appender is a writer onto a slice.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
