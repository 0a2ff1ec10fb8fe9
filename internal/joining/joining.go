// Package joining reads the records that `refrain join` compares, from files of posts, tables, text or sets of integers, and
// writes the pairs that it finds.
//
// A file is read by one goroutine, decoded and cut into tokens by several, and added to its collection by one, in order, so that
// records have the numbers that they have in the file.
package joining

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/units"
	"refrain/join"
	tokens "refrain/join/units"
)

// Formats lists what Config.Format may be.
var Formats = append(slices.Clip(file.Formats), "sets")

// Config says which file to read, and how.
type Config struct {
	Path       string // "-" is Stdin
	Stdin      io.Reader
	Format     string // one of Formats; "": by the name's ending, or as file.Config has it
	RecordsAt  string // where the records are in a file of JSON; "": its elements or values
	ID, Column string // which fields, or columns, have ids and texts
	Units      tokens.Unit
	Texts      bool // keep texts, and make no sets
	Strict     bool // the first record that is none is an error
	Budget     int64
	Left       int64 // of it, for this file; 0: any
	Workers    int

	Note     func(*ingest.Batch)              // told of each batch, for what was rejected or changed in it
	Progress func(bytes, size, records int64) // read so far

	OnRecognised func(path, what string) // told what the file was found to be, whose name does not say it; nil: nobody is
}

// Records are what a file has: record i is set i of Sets, or text i of Texts.
type Records struct {
	Sets     join.Collection
	Texts    []string
	Names    Names
	Rejected int // lines that are no records
	Repeated int // ids that an earlier record has too

	Path string // as messages show it

	numbered bool // records are known by their lines
	textual  int64
	integers integers
}

// CheckIntegers refuses two files of sets of which one has negative numbers and the other one those that stand for them.
func CheckIntegers(a, b *Records) error {
	both := a.integers
	both.or(b.integers)
	if both.negative == 0 || both.large == 0 {
		return nil
	}
	return fmt.Errorf("%s and %s: one has negative numbers, the other one such of 2^63 or more: want one or the other", a.Path, b.Path)
}

// Len is how many there are.
func (r *Records) Len() int { return r.Names.len() }

// Bytes is the memory that they take.
func (r *Records) Bytes() int64 { return r.Sets.Bytes() + r.Names.bytes() + r.textual }

// formatOf is the format of a file that is not told one: by its name, jsonl unless that says otherwise.
func (c *Config) formatOf() string {
	name := strings.ToLower(c.Path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	ext := filepath.Ext(name)
	switch {
	case c.Format != "":
		return c.Format
	case ext == ".sets", ext == ".txt" && strings.HasSuffix(name, ".sets.txt"):
		return "sets"
	case ext == ".txt":
		return "text"
	case ext == ".csv":
		return "csv"
	}
	return "jsonl"
}

// Integers reports whether the file is one of sets of integers, and not of texts.
func (c *Config) Integers() bool { return c.formatOf() == "sets" }

// HasFields reports whether records have fields, or columns, and are no lines.
func (c *Config) HasFields() bool {
	format := c.formatOf()
	return format != "text" && format != "sets"
}

// Check reports a format that cannot be read, and fields that cannot be asked for.
func (c *Config) Check() error {
	if c.Format != "" && !slices.Contains(Formats, c.Format) {
		return fmt.Errorf("format %q: want %s", c.Format, strings.Join(Formats, ", "))
	}
	if !c.HasFields() {
		return nil
	}
	_, err := c.fields()
	return err
}

// fields are where ids and texts are. What else a record has may be anything: names that no field has stand for it.
func (c *Config) fields() (*feed.Fields, error) {
	for i, name := range []string{c.ID, c.Column} {
		if name == "" {
			return nil, fmt.Errorf("%s %q: want the name of a field or column, or a path of names with dots between them",
				[]string{"id", "column"}[i], name)
		}
	}
	if c.ID == c.Column {
		return nil, fmt.Errorf("column %q: cannot have both ids and texts", c.ID)
	}
	return feed.ParseFields(fmt.Sprintf("id=%s,text=%s,source=\x01,author=\x02,created_at=\x03,lang=\x04",
		feed.QuotePath(c.ID), feed.QuotePath(c.Column)))
}

func (c *Config) open(format string) (*file.Source, error) {
	cfg := file.Config{Path: c.Path, Stdin: c.Stdin, Format: format, BatchPosts: 500, OnRecognised: c.OnRecognised}
	switch format {
	case "sets":
		cfg.Format = "text"
	case "text":
	default:
		cfg.Format, cfg.RecordsAt = c.Format, c.RecordsAt // the file may say more than its name
		var err error
		if cfg.Fields, err = c.fields(); err != nil {
			return nil, err
		}
	}
	return file.Open(cfg)
}

// Read reads a file to its end.
func Read(ctx context.Context, cfg Config) (*Records, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	format := cfg.formatOf()
	src, err := cfg.open(format)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	r := &reading{cfg: cfg, src: src, format: format, records: &Records{Path: cfg.name(), numbered: format == "text" || format == "sets"}}
	r.seen.seed = maphash.MakeSeed()
	if err := r.run(ctx); err != nil {
		return nil, r.inOurWords(err)
	}
	return r.records, r.checkRecords()
}

// checkRecords refuses a file that has lines, but none that is a record, and a table without a header.
func (r *reading) checkRecords() error {
	switch {
	case r.records.Len() > 0:
		return nil
	case r.src.Format() == "csv" && r.src.Header() == nil:
		return fmt.Errorf("%s: an empty file: want a header that names the columns", r.records.Path)
	case r.records.Rejected == 0:
		return nil
	case r.lacksAll():
		return r.lacking.error()
	}
	return fmt.Errorf("%s: not one line is a record", r.records.Path)
}

// name is the file as messages show it.
func (c *Config) name() string {
	if c.Path == "-" {
		return "stdin"
	}
	return c.Path
}

// Names are what records are called: by ids, or by lines.
type Names struct {
	lines []uint32 // from 0
	ids   []byte   // one after the other
	ends  []int
}

func (n *Names) len() int { return max(len(n.lines), len(n.ends)) }

func (n *Names) bytes() int64 {
	return 4*int64(cap(n.lines)) + 8*int64(cap(n.ends)) + int64(cap(n.ids))
}

func (n *Names) id(i int) []byte {
	from := 0
	if i > 0 {
		from = n.ends[i-1]
	}
	return n.ids[from:n.ends[i]]
}

func (n *Names) add(id string) {
	n.ids = append(n.ids, id...)
	n.ends = append(n.ends, len(n.ids))
}

// Swapped says whether two records of one file are to be named the other way round: the lesser id first, as bytes. Lines are in
// order.
func (n *Names) Swapped(a, b int) bool { return n.lines == nil && bytes.Compare(n.id(a), n.id(b)) > 0 }

// Line is the line of record i, from 0, if that is its name.
func (n *Names) Line(i int) (line int, ok bool) {
	if n.lines == nil {
		return 0, false
	}
	return int(n.lines[i]), true
}

// ID is the name of record i.
func (n *Names) ID(i int) string {
	if line, ok := n.Line(i); ok {
		return strconv.Itoa(line)
	}
	return string(n.id(i))
}

// repeats knows which ids have come up: by hashes, confirmed.
type repeats struct {
	seed maphash.Seed
	at   map[uint64]uint32 // hash -> the last record of it
}

// note reports whether an earlier record has the id of the one that comes next.
func (s *repeats) note(n *Names, id string) (before bool) {
	if s.at == nil {
		s.at = map[uint64]uint32{}
	}
	h := maphash.String(s.seed, id)
	record, found := s.at[h]
	s.at[h] = uint32(n.len())
	return found && string(n.id(int(record))) == id
}

// bytes is about what a map of that many takes.
func (s *repeats) bytes() int64 { return 40 * int64(len(s.at)) }

// errBudget says that the records are too many.
func (r *reading) errBudget(line int64) error {
	return fmt.Errorf("%s:%d: what has been read takes more than the budget of %s: give more (--budget), or join the file in parts, each with "+
		"itself and with every other", r.records.Path, line, units.FormatBytes(r.cfg.Budget))
}
