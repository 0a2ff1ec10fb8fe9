package joining

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"refrain/ingest"
	"refrain/ingest/file"
)

// lacking counts the records that lack the field of ids or that of texts.
type lacking struct {
	count   int
	first   string             // where the first one is, and what it has
	waiting []ingest.Rejection // not told yet: where all lack it, one error says so
}

// maxLacking is how many records may lack a field before one has it: what all of so many lack nobody has.
const maxLacking = 500

func (l *lacking) error() error {
	others := ""
	if l.count > 1 {
		others = fmt.Sprintf(", nor is there one in the %d records read", l.count)
	}
	return fmt.Errorf("%s%s: --id and --column say which they are", l.first, others)
}

// lacksAll reports whether all that was read lacks a field.
func (r *reading) lacksAll() bool {
	return r.records.Len() == 0 && r.lacking.count == r.records.Rejected
}

// note tells of what was rejected or changed in a batch, and in those before it that have waited.
func (r *reading) note(b *ingest.Batch) {
	if r.lacksAll() {
		r.lacking.waiting = append(r.lacking.waiting, b.Rejected...)
		return
	}
	b.Rejected = append(r.lacking.waiting, b.Rejected...)
	r.lacking.waiting = nil
	r.cfg.Note(b)
}

// reject counts lines that are no records. Where a field is missing, the reason says which there are. Its error is the first line
// of a strict reading.
func (r *reading) reject(rejected []ingest.Rejection) error {
	r.records.Rejected += len(rejected)
	for i := range rejected {
		line := &rejected[i]
		if reason, ok := r.cfg.lacks(line.Raw); ok && r.src.Format() == "jsonl" {
			line.Reason, line.Raw = reason, nil
			if r.lacking.count++; r.lacking.count == 1 {
				r.lacking.first = line.Location + ": " + reason
			}
		}
		if r.cfg.Strict {
			return fmt.Errorf("%s: %s", line.Location, line.Reason)
		}
	}
	return nil
}

// lacks says which of the two fields an object lacks, if it does.
func (c *Config) lacks(object []byte) (reason string, ok bool) {
	names := namesOf(object)
	for _, path := range []string{c.ID, c.Column} {
		parent, _, _ := strings.Cut(path, ".")
		if names != nil && !slices.Contains(names, path) && !slices.Contains(names, parent) {
			return fmt.Sprintf("no field %q among %s", path, list(names)), true
		}
	}
	return "", false
}

// namesOf are the names of the members of an object; nil: there is none, or not all of one.
func namesOf(object []byte) (names []string) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		names = append(names, name.String())
		if d.SkipValue() != nil {
			return nil
		}
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '}' {
		return nil
	}
	return names
}

// list is names as messages show them: a few, and not too long.
func list(names []string) string {
	const maxNames = 20
	var quoted []string
	for _, name := range names[:min(len(names), maxNames)] {
		quoted = append(quoted, fmt.Sprintf("%.40q", name))
	}
	if len(names) > maxNames {
		quoted = append(quoted, fmt.Sprintf("and %d more", len(names)-maxNames))
	}
	return strings.Join(quoted, ", ")
}

// inOurWords says by flags that there are what other commands say by theirs.
func (r *reading) inOurWords(err error) error {
	var column *file.ColumnError
	if errors.As(err, &column) {
		return fmt.Errorf("%s:%d: no column %q among %s: --id and --column say which they are", r.records.Path, column.Line, column.Column,
			list(column.Columns))
	}
	return err
}
