package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Sample is the beginning of a file, before anybody has said which field is which.
type Sample struct {
	Format     string   // one of Formats
	Recognised string   // see Source.Recognised
	Records    [][]byte // as JSON objects; of a table with a member for each column
	Rejected   int      // rows of a table that are none
	Invalid    int      // records that are not UTF-8
	NonASCII   int      // records that are, and not ASCII alone
}

// add keeps a record, that was read as raw.
func (s *Sample) add(record, raw []byte) {
	s.Records = append(s.Records, record)
	switch {
	case !utf8.Valid(raw):
		s.Invalid++
	case bytes.IndexFunc(raw, func(r rune) bool { return r > unicode.MaxASCII }) >= 0:
		s.NonASCII++
	}
}

// ReadSample reads up to n records of a file, and no further.
func ReadSample(ctx context.Context, cfg Config, n int) (Sample, error) {
	cfg.BatchPosts = n
	f, err := Open(cfg)
	if err != nil {
		return Sample{}, err
	}
	defer f.Close()
	var s Sample
	if t, ok := f.records.(*tableReader); ok {
		err = t.sample(&s, n)
	} else {
		var p Part
		err = f.Read(ctx, &p)
		for i := range p.lines {
			raw := p.raw[p.lines[i].start:p.lines[i].end]
			s.add(raw, raw)
		}
	}
	s.Format, s.Recognised = f.cfg.Format, f.Recognised()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return s, err
}

// sample reads rows as objects, whatever the columns are called.
func (t *tableReader) sample(s *Sample, n int) error {
	var header []string
	for len(s.Records) < n {
		var r record
		cells, err := t.next(&r)
		if err != nil {
			return err
		}
		switch {
		case r.reason != nil:
			s.Rejected++
		case header == nil && isSeparatorLine(r.raw):
		case header == nil:
			header = append(header, cells...)
		case len(cells) == len(header):
			s.add(object(header, cells), r.raw)
		default:
			s.Rejected++
		}
	}
	return nil
}

func object(names, values []string) []byte {
	b, seen := []byte{'{'}, map[string]bool{}
	for i, name := range names {
		if seen[name] || values[i] == "" {
			continue
		}
		b = appendName(b, name, len(seen) > 0)
		b, _ = jsontext.AppendQuote(b, values[i])
		seen[name] = true
	}
	return append(b, '}')
}
