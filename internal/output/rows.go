package output

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"refrain/internal/terminal"
)

// column is one of a table. A person sees those that have a width, and so much of their values.
type column struct {
	name  string
	width int
	right bool // values stand on the right
}

const (
	timeWidth = len("2006-01-02T15:04")
	idWidth   = 8  // enough to name a group to --group
	last      = -1 // to the end of the screen
)

// rows writes a table row by row.
type rows interface {
	row(values ...any) error
	close() error
}

func (cfg *Config) rows(columns []column) rows {
	switch cfg.Format {
	case "csv":
		return newSheet(cfg.To, ',', columns)
	case "tsv":
		return newSheet(cfg.To, '\t', columns)
	case "jsonl":
		return &objects{bufio.NewWriter(cfg.To), columns}
	default:
		return newPlain(cfg.To, columns)
	}
}

// sheet is for spreadsheets: RFC 4180, a header row.
type sheet struct {
	*csv.Writer
	record []string
}

func newSheet(w io.Writer, comma rune, columns []column) *sheet {
	s := &sheet{Writer: csv.NewWriter(w)}
	s.Comma = comma
	for _, c := range columns {
		s.record = append(s.record, c.name)
	}
	_ = s.Writer.Write(s.record) // Flush says what became of it
	return s
}

func (s *sheet) row(values ...any) error {
	for i, v := range values {
		s.record[i] = harmless(v)
	}
	return s.Writer.Write(s.record)
}

// harmless is a cell that no spreadsheet takes for a formula: texts and names come from strangers, and one that begins with
// one of these characters gets an apostrophe before it, which a spreadsheet does not show.
func harmless(v any) string {
	switch v := v.(type) {
	case estimate:
		return strconv.Itoa(v.n)
	case string:
		if v != "" && strings.ContainsRune("=+-@\t\r\n", rune(v[0])) {
			return "'" + v
		}
	}
	return fmt.Sprint(v)
}

func (s *sheet) close() error {
	s.Flush()
	return s.Error()
}

// estimate is a number of authors. For people ~ marks one that is not exact, - posts that name none.
type estimate struct {
	n     int
	rough bool
}

func (e estimate) String() string {
	switch {
	case e.n == 0:
		return "-"
	case e.rough:
		return fmt.Sprint("~", e.n)
	}
	return strconv.Itoa(e.n)
}

// MarshalJSON writes the number.
func (e estimate) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(e.n), 10), nil }

// objects writes a JSON object a row.
type objects struct {
	*bufio.Writer
	columns []column
}

func (o *objects) row(values ...any) error {
	for i, c := range o.columns {
		value, err := json.Marshal(values[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(o, `%c"%s":%s`, "{,"[min(i, 1)], c.name, value)
	}
	_, err := o.WriteString("}\n")
	return err
}

func (o *objects) close() error { return o.Flush() }

// plain is a table for a person.
type plain struct {
	*bufio.Writer
	columns []column
	screen  terminal.Options
}

func newPlain(w io.Writer, columns []column) *plain {
	p := &plain{bufio.NewWriter(w), columns, terminal.Detect(w)}
	names := make([]any, len(columns))
	for i, c := range columns {
		names[i] = strings.ToUpper(c.name)
	}
	_ = p.row(names...) // Flush says what became of it
	return p
}

func (p *plain) row(values ...any) error {
	var line strings.Builder
	for i, c := range p.columns {
		value := fmt.Sprint(values[i])
		switch {
		case c.width == last:
			fmt.Fprint(&line, value)
		case c.right:
			fmt.Fprintf(&line, "%*s  ", c.width, value)
		case c.width > 0:
			fmt.Fprintf(&line, "%-*.*s  ", c.width, c.width, value)
		}
	}
	_, err := fmt.Fprintln(p, p.screen.Cut(line.String()))
	return err
}

func (p *plain) close() error { return p.Flush() }
