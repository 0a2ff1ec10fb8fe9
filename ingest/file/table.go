package file

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"refrain/feed"
)

// tableReader reads a table with a header row: CSV as RFC 4180 has it, or with another separator. The columns that are passed on become Meta, a JSON
// object of strings; empty cells are left out.
//
// Records are cut here and only their cells are left to encoding/csv. That bounds what a quote that nobody
// closes can swallow, and keeps the line numbers; a record that is malformed ends where encoding/csv gives it up.
type tableReader struct {
	lines        *lineReader
	separator    byte
	fields       *feed.Fields
	header       []column // nil before the header is read
	headerRecord []byte   // as it came
	columns      string   // the same, with quotes only where they have to be
	parts        []string // of the record: the cells that fields are made of
	cells        *csv.Reader
	record       []byte // of the current record, what has not been handed to cells
	recordBytes  []byte // the current record
}

// ColumnError says that a table lacks a column that posts need.
type ColumnError struct {
	Field   feed.Field
	Column  string   // what the field is called in the table
	Columns []string // that there are
	Line    int64    // where the header ends, from 1
}

func (e *ColumnError) Error() string {
	return fmt.Sprintf("header: no column %q for the field %s among %q: map one (%s=COLUMN; refrain inspect says which it may be)",
		e.Column, e.Field, e.Columns, e.Field)
}

// column is what a cell becomes: a field of the post, a part of one, a member of Meta, or nothing.
type column struct {
	field                 feed.Field
	slot, metaIndex       int // among the parts of fields, and among the Meta fields
	known, isPart, isMeta bool
}

func newTableReader(lines *lineReader, fields *feed.Fields, separator byte) *tableReader {
	t := &tableReader{lines: lines, fields: fields, separator: separator}
	t.resetCells()
	return t
}

// resetCells starts encoding/csv afresh, so that nothing of a malformed record is left in its buffer.
func (t *tableReader) resetCells() {
	t.record = nil
	t.cells = csv.NewReader(recordBytes{t})
	t.cells.Comma = rune(t.separator)
	t.cells.FieldsPerRecord = -1 // counted here, for the reason's words
	t.cells.ReuseRecord = true
}

// recordBytes hands the current record to encoding/csv, and io.EOF after it.
type recordBytes struct{ t *tableReader }

func (r recordBytes) Read(p []byte) (int, error) {
	if len(r.t.record) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.t.record)
	r.t.record = r.t.record[n:]
	return n, nil
}

func (t *tableReader) read(r *record) error {
	if t.header == nil {
		err := t.readHeader()
		if err != nil {
			return err
		}
	}
	cells, err := t.next(r)
	if err != nil || r.reason != nil {
		return err
	}
	if len(cells) != len(t.header) {
		r.reason = fmt.Errorf("%d fields, and the header has %d", len(cells), len(t.header))
		return nil
	}
	r.note, r.reason = t.fill(&r.post, cells)
	return nil
}

// next reads one record that is not empty. The cells are valid until the next call.
func (t *tableReader) next(r *record) ([]string, error) {
	err := t.gather(r)
	if err != nil || r.reason != nil {
		return nil, err
	}
	t.record = t.recordBytes
	cells, err := t.cells.Read()
	if err != nil {
		t.resetCells()
		r.reason = plainCSV(err)
	}
	return cells, nil
}

// gather gathers the lines of one record, as they came: further ones as long as a quoted cell is open.
func (t *tableReader) gather(r *record) error {
	line, err := r.nextLine(t.lines)
	if err != nil || line == nil {
		return err
	}
	t.recordBytes = append(t.recordBytes[:0], line...)
	for open := t.inQuotes(r.raw, false); open; open = t.inQuotes(trimEnd(line), true) {
		var size int
		line, size, err = t.lines.next()
		switch {
		case err == io.EOF:
			r.reason = errors.New("a quote opened here is never closed")
		case err != nil:
			return err
		case len(t.recordBytes)+size > t.lines.limit:
			r.reason = fmt.Errorf("a record of more than %d bytes: is a quote not closed?", t.lines.limit)
		default:
			t.recordBytes = append(t.recordBytes, line...)
			continue
		}
		break
	}
	r.raw, r.lineEnd = trimEnd(t.recordBytes), t.lines.endOf(t.recordBytes)
	r.size = len(r.raw)
	return nil
}

// inQuotes reports whether a quoted cell is open at the end of a line, given whether one was at its beginning.
// After a quote where none may be it answers no: encoding/csv gives the record up there.
func (t *tableReader) inQuotes(line []byte, open bool) bool {
	for {
		if !open {
			if !bytes.HasPrefix(line, []byte{'"'}) {
				cell, rest, more := bytes.Cut(line, []byte{t.separator})
				if !more || bytes.IndexByte(cell, '"') >= 0 {
					return false
				}
				line = rest
				continue
			}
			line = line[1:]
		}
		end := bytes.IndexByte(line, '"')
		if end < 0 {
			return true
		}
		line = line[end+1:]
		switch {
		case len(line) == 0 || line[0] != '"' && line[0] != t.separator:
			return false
		default: // two quotes stand for one, and a separator begins the next cell
			open = line[0] == '"'
			line = line[1:]
		}
	}
}

func (t *tableReader) readHeader() error {
	var r record
	names, err := t.next(&r)
	if err == nil && isSeparatorLine(r.raw) {
		names, err = t.next(&r)
	}
	switch {
	case err != nil:
		return err
	case r.reason != nil:
		return fmt.Errorf("header: %w", r.reason)
	}
	header := make([]column, len(names))
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if seen[name] {
			return fmt.Errorf("header: two columns are called %q", name)
		}
		seen[name] = true
		header[i].field, header[i].known = t.fields.Find(name)
		header[i].slot, header[i].isPart = t.fields.Slot(name)
		header[i].metaIndex, header[i].isMeta = t.fields.MetaIndex(name)
	}
	for _, f := range []feed.Field{feed.FieldID, feed.FieldText} {
		if !t.fields.AnyOf(f, seen) {
			return &ColumnError{f, t.fields.Path(f), slices.Clone(names), t.lines.number}
		}
	}
	t.header, t.headerRecord = header, slices.Concat(t.mark(), r.raw, []byte(r.lineEnd))
	t.columns = t.line(names)
	t.parts = make([]string, t.fields.SlotCount())
	return nil
}

// line is a record of these cells, without a line end.
func (t *tableReader) line(cells []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = rune(t.separator)
	_ = w.Write(cells) // the reader has taken this separator too
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// isSeparatorLine reports whether a line tells Excel the separator, before the header: sep=;
func isSeparatorLine(line []byte) bool {
	line = bytes.Trim(bytes.TrimSpace(line), `"`)
	return len(line) == len("sep=;") && bytes.HasPrefix(bytes.ToLower(line), []byte("sep="))
}

// mark is the byte order mark that the file begins with, if it does.
func (t *tableReader) mark() []byte {
	if t.lines.mark {
		return byteOrderMark
	}
	return nil
}

// fill makes a post of the cells of one record.
func (t *tableReader) fill(p *feed.Post, cells []string) (note string, err error) {
	var notes []string
	metaCells := make([][]byte, t.fields.MetaCount())
	clear(t.parts)
	for i, c := range t.header {
		value := cells[i]
		if c.isPart {
			t.parts[c.slot] = value
		}
		switch {
		case c.known && c.field == feed.FieldText:
			note, err = t.fields.Set(p, c.field, value)
		case c.known:
			note, err = t.fields.Set(p, c.field, strings.Clone(value)) // or an id would keep the whole record
		case c.isMeta && value != "":
			metaCells[c.metaIndex], note = quote(value)
		}
		if err != nil {
			return "", err
		}
		if note != "" {
			notes, note = append(notes, note), ""
		}
	}
	note, err = t.fields.Combine(p, t.parts)
	if err != nil {
		return "", err
	}
	if note != "" {
		notes = append(notes, note)
	}
	meta, more := t.fields.Meta(metaCells)
	p.Meta = string(meta)
	return strings.Join(append(notes, more...), "; "), p.Complete(true)
}

// quote writes a cell as a JSON string.
func quote(value string) (quoted []byte, note string) {
	if !utf8.ValidString(value) {
		note = "meta: invalid UTF-8 replaced by U+FFFD"
	}
	quoted, _ = jsontext.AppendQuote(nil, value)
	return quoted, note
}

// plainCSV keeps the reason of a parse error: its line numbers are those of one record.
func plainCSV(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("malformed CSV at column %d: %w", parse.Column, parse.Err)
	}
	return fmt.Errorf("malformed CSV: %w", err)
}
