// Package inspect finds out what is in a file of posts: its fields, the platform whose export it is, and the flags to
// start with. `refrain inspect` shows it.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/ingest/mapping"
)

// Records is how many records of a file are looked at.
const Records = 1000

// Report is what was found.
type Report struct {
	file.Sample
	Fields    []Field        // in the order in which they came
	Posts     mapping.Config // how posts are read: as was said, and as was found where nothing was said
	RecordsAt string         // where the records are, within objects; "": where the preset has them, or they are what was read
	As        string         // the format, where the name of the file promises another one
	Encoding  string
	Missing   []feed.Field // that no field looks like
	Notes     []string     // sentences on what nobody but the reader can know

	file    file.Config
	open    func() file.Config
	samples map[string]file.Sample // by where the records are
}

// File looks into a file, of whose posts the caller says what it knows. Of stdin nothing is left for who reads on, so
// open hands in what can be read again.
func File(ctx context.Context, open func() file.Config, said mapping.Config) (*Report, error) {
	r := &Report{Posts: said, file: open(), open: open, samples: map[string]file.Sample{}}
	r.RecordsAt, r.Encoding = r.file.RecordsAt, r.file.Encoding
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	if r.Posts.Preset != "" || r.Posts.Map == "" {
		r.recognise(ctx)
	}
	if r.Posts.Preset == "" {
		r.descend(ctx)
		r.guess()
	}
	r.times()
	r.look()
	return r, nil
}

// read takes the first sample, and takes it again where it shows that the file is another one than it seemed.
func (r *Report) read(ctx context.Context) error {
	s, err := r.sample(ctx, r.RecordsAt)
	if err != nil {
		return err
	}
	if s.Invalid > 0 && s.Format != "xml" { // which names its encoding
		s = r.decoded(ctx, s)
	}
	r.take(s)
	if r.file.Format == "" && (s.Format == "text" && isTable(s.Records) || s.Format == "jsonl" && len(r.Fields) == 0) {
		r.readTable(ctx)
	}
	return r.unusable()
}

// take makes a sample the one that is reported.
func (r *Report) take(s file.Sample) { r.Sample, r.Fields = s, fieldsOf(s.Records) }

// sample reads the beginning of the file, its records at a path. Each path is read once.
func (r *Report) sample(ctx context.Context, at string) (file.Sample, error) {
	if s, ok := r.samples[at]; ok {
		return s, nil
	}
	cfg := r.open()
	cfg.RecordsAt, cfg.Encoding = at, r.Encoding
	s, err := file.ReadSample(ctx, cfg, Records)
	if err == nil {
		r.samples[at] = s
	}
	return s, err
}

// decoded is a sample that is not UTF-8 as what spreadsheets write, which is what it most probably is.
func (r *Report) decoded(ctx context.Context, s file.Sample) file.Sample {
	if s.NonASCII > 0 {
		r.note("%d of %d records are not UTF-8, and others are: the file seems to be put together of two. With --encoding those "+
			"that are UTF-8 would be spoiled; without it, letters of the %d become U+FFFD.", s.Invalid, len(s.Records), s.Invalid)
		return s
	}
	r.Encoding = "windows-1252"
	clear(r.samples)
	again, err := r.sample(ctx, r.RecordsAt)
	if err != nil {
		r.Encoding = ""
		return s
	}
	r.note("The file is not UTF-8, and read as windows-1252: if letters look wrong, it is another one, as windows-1250 or windows-1251.")
	return again
}

// readTable reads as a table what has another name, or none: Excel's "Unicode Text", what is copied from a sheet, stdin. It is
// one where a column is called as texts are.
func (r *Report) readTable(ctx context.Context) {
	text := *r
	open := r.open
	r.open = func() file.Config {
		cfg := open()
		cfg.Format = "csv"
		return cfg
	}
	clear(r.samples)
	if s, err := r.sample(ctx, r.RecordsAt); err == nil {
		r.As = "csv"
		r.take(s)
		if r.called(feed.FieldText) != "" {
			return
		}
	}
	*r = text
}

// isTable reports whether lines have the same number of tabs.
func isTable(lines [][]byte) bool {
	tabs := func(line []byte) int { return strings.Count(string(line), "\t") }
	return len(lines) > 1 && tabs(lines[0]) > 0 &&
		!slices.ContainsFunc(lines, func(line []byte) bool { return tabs(line) != tabs(lines[0]) })
}

// unusable refuses what no flag makes posts of.
func (r *Report) unusable() error {
	orient := pandasOrient(r.Records)
	switch {
	case orient != "":
		return fmt.Errorf("%s: written by pandas with orient=%q, all posts in one object: write it with "+
			"df.to_json(FILE, orient=\"records\", lines=True)", r.file.Path, orient)
	case len(r.Records) > 0 || r.Rejected > 0:
		return nil
	case r.Format == "xml":
		return fmt.Errorf("%s: XML without an <item> or <entry>: neither RSS nor Atom", r.file.Path)
	}
	return fmt.Errorf("%s: empty, there is no record in it", r.file.Path)
}

// recognise finds the preset whose signs are there, or where the records of the one that was said are.
func (r *Report) recognise(ctx context.Context) {
	places := append([]string{""}, r.places()...)
	for _, preset := range mapping.Presets {
		if said := r.Posts.Preset; said != "" && said != preset.Name {
			continue
		}
		for _, at := range r.placesOf(&preset, places) {
			s, err := r.sample(ctx, at)
			if err == nil && fits(&preset, s) {
				r.adopt(&preset, at, s)
				return
			}
		}
	}
}

// placesOf are where the records of a preset may be: where it says, or where this file may have some.
func (r *Report) placesOf(p *mapping.Preset, places []string) []string {
	if r.RecordsAt != "" {
		return []string{r.RecordsAt}
	}
	if p.Records == "" || len(r.Records) > fewRecords && !r.leads(p.Records) {
		return places
	}
	return append([]string{p.Records}, places...)
}

// leads reports whether the records have what a path begins with: else all of the file would be read for it.
func (r *Report) leads(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Path == first || strings.HasPrefix(f.Path, first+".") })
}

func (r *Report) adopt(p *mapping.Preset, at string, s file.Sample) {
	recognised := r.Recognised
	r.take(s)
	r.Recognised = recognised
	r.Posts.Preset = p.Name
	switch {
	case r.RecordsAt != "":
	case at == "" && p.Records != "":
		r.RecordsAt = file.WholeRecords
	case at != p.Records:
		r.RecordsAt = at
	}
}

// fits reports whether records have all the signs of a preset.
func fits(p *mapping.Preset, s file.Sample) bool {
	if p.Name == "rss" {
		return s.Format == "xml"
	}
	if s.Format == "csv" || s.Format == "text" || s.Format == "xml" {
		return false
	}
	fields := fieldsOf(s.Records)
	return len(fields) > 0 && !slices.ContainsFunc(p.Signs, func(sign string) bool {
		return !slices.ContainsFunc(fields, func(f Field) bool { return slices.Contains(strings.Split(sign, "|"), f.Path) })
	})
}

// descend goes to the records within what was read, if they are no posts themselves.
func (r *Report) descend(ctx context.Context) {
	if r.RecordsAt != "" {
		return
	}
	at := arrayIn(r.Sample)
	if at == "" || r.named(feed.FieldText) != "" || r.called(feed.FieldText) != "" {
		return
	}
	if inner, err := r.sample(ctx, at); err == nil && len(fieldsOf(inner.Records)) > 0 {
		recognised := r.Recognised
		r.take(inner)
		r.Recognised, r.RecordsAt, r.Format = recognised, at, "json"
	}
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Short cuts an example so that a line holds it.
func Short(s string, size int) string {
	if utf8.RuneCountInString(s) <= size {
		return s
	}
	return string([]rune(s)[:size-1]) + "…"
}
