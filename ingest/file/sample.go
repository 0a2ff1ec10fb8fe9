package file

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Sample is the beginning of a file, before anybody has said which field is which.
type Sample struct {
	Format     string   // one of Formats
	Recognised string   // see Source.Recognised
	Records    [][]byte // as JSON objects; of a table with a member for each column
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
			s.Records = append(s.Records, p.raw[p.lines[i].start:p.lines[i].end])
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
		case header == nil && isSeparatorLine(r.raw):
		case header == nil:
			header = append(header, cells...)
		case len(cells) == len(header):
			s.Records = append(s.Records, object(header, cells))
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
