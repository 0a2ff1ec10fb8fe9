// Package file reads posts from files.
//
// A file is JSON lines, JSON of any shape, text with one post a line, a table (CSV and its relatives), or RSS or Atom, plain
// or compressed. Source.Next does everything in
// one goroutine; Part tells how to do it with several.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/check"
	"refrain/internal/feedtime"
)

// Formats lists what Config.Format may be.
var Formats = []string{"jsonl", "json", "text", "csv", "xml"}

// batchBytes ends a batch early, by the bytes of its records: they may be large.
const batchBytes = 1 << 20

// Config says which file to read, and how.
type Config struct {
	// Path of the file; "-" is Stdin. Compression (gzip, zstd) is recognised from the first bytes.
	Path string
	// Stdin is what "-" reads.
	Stdin io.Reader
	// Format is one of Formats; "": by the name's ending, and where that says nothing by the first line.
	Format string
	// RecordsAt are the paths to the posts in a file of JSON, as data or chats.list.messages|left_chats.list.messages; "", or
	// a dot, which overrules a preset: its elements or values.
	RecordsAt string
	// Include is what records refer to, beside them; nil: nothing.
	Include *Include
	// Encoding is that of a file that is not UTF-8, by a name that the web knows it by; "": UTF-8, or UTF-16 with its mark.
	Encoding string
	// Fields maps our names to the file's; nil: our own. Text files have none.
	Fields *feed.Fields
	// SourceName is the source of posts that name none.
	SourceName string
	// Strict makes the first record that is no post an error.
	Strict bool
	// BatchPosts is the most posts of a batch; 1 or more.
	BatchPosts int
	// Records has parts keep the record of each post byte for byte: see Part.Record.
	Records bool
	// OnRecognised is told what the first bytes have told of the file, and its name had not; nil: nobody is.
	OnRecognised func(path, what string)
	// Stored is given the bytes of the file as they are stored, all of them in the end; nil: nobody is.
	Stored io.Writer
}

// Default reads the file at a path, in the format that its name says.
func Default(path string) Config {
	return Config{Path: path, Stdin: os.Stdin, BatchPosts: 1000}
}

func (c *Config) validate() error {
	var format error
	if c.Format != "" && !slices.Contains(Formats, c.Format) {
		format = fmt.Errorf("format %q: want %s", c.Format, strings.Join(Formats, ", "))
	}
	return errors.Join(format, CheckEncoding(c.Encoding), check.Set("stdin", c.Stdin != nil || c.Path != "-"),
		check.AtLeast(1, "batch posts", c.BatchPosts))
}

// Source reads posts from a file or stdin: JSON lines, text with one post a line, or a table (CSV).
//
// A post without a time gets the greatest time of the posts before it, the year 1970 before there is one, and
// stays untimed (feed.Post.Timed); redelivered, it keeps the time it got first. Locations are FILE:LINE; a post that covers
// several lines is named by its first.
// Next belongs to one goroutine; BytesRead and Lines may be asked from any. Who wants to decode with several goroutines
// calls the three steps of Next instead; see Part.
type Source struct {
	cfg        Config
	name       string    // as locations show it
	in         io.Reader // as it is stored
	closer     io.Closer
	pipe       *os.File // of a named pipe, to interrupt a read; nil: it is none
	plain      *decompressed
	lines      *lineReader
	records    recordReader // of tables, JSON and XML; nil where a line is a post
	separator  byte         // of tables
	recognised string
	live       bool    // somebody may be writing the other end: hand on what is there
	decoder    Decoder // Next's, as part
	part       Part

	// Read's
	record record
	ended  error // what ended the file, told once the part before it is out

	// Stamp's
	stamper feedtime.Stamper
	refused error // the record that a strict reading ends at

	bytesRead, linesRead atomic.Int64
	size                 int64
}

var _ ingest.Source = (*Source)(nil)

// Open opens a file for reading, and finds its format and compression. A named pipe is read until its last writer has
// gone, whenever the first comes; devices and sockets are refused.
func Open(cfg Config) (*Source, error) {
	f := &Source{cfg: cfg, name: cfg.Path}
	if cfg.Path == "-" {
		f.name, f.live = "stdin", true
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	in, err := f.open()
	if err != nil {
		return nil, err
	}
	if f.in = in; f.cfg.Stored != nil {
		f.in = io.TeeReader(in, f.cfg.Stored)
	}
	if f.pipe != nil {
		return f, nil // whose first bytes may be long in coming
	}
	if err := f.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.name, err), f.Close())
	}
	return f, nil
}

// open returns the bytes of the file as they are stored. It does not wait for anybody.
func (f *Source) open() (io.Reader, error) {
	if f.cfg.Path == "-" {
		return f.cfg.Stdin, nil
	}
	info, err := os.Stat(f.cfg.Path)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		path.Op = "open" // which is what it is for
	}
	if err != nil {
		return nil, err
	}
	if err := readable(f.cfg.Path, info.Mode()); err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return f.openPipe()
	}
	file, err := os.Open(f.cfg.Path)
	if err != nil {
		return nil, err
	}
	f.closer, f.size = file, info.Size()
	return file, nil
}

func (f *Source) openPipe() (io.Reader, error) {
	file, in, err := openFIFO(f.cfg.Path)
	if err != nil {
		return nil, err
	}
	f.closer, f.pipe, f.live = file, file, true
	return in, nil
}

// readable refuses what has no end, or none that can be waited for.
func readable(path string, mode fs.FileMode) error {
	switch {
	case mode.IsDir():
		return fmt.Errorf("%s: a directory, not a file", path)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s: a socket, not a file", path)
	case mode&fs.ModeDevice != 0 && path != os.DevNull:
		return fmt.Errorf("%s: a device, not a file (for what comes from a terminal or a pipe give - and stdin)", path)
	}
	return nil
}

// start reads the first bytes.
func (f *Source) start() (err error) {
	f.plain, err = decompress(bufio.NewReaderSize(countingReader{f.in, &f.bytesRead}, 64<<10), f.cfg.Path)
	if err != nil {
		return err
	}
	r, err := f.asUTF8(bufio.NewReaderSize(f.plain, lineBuffer))
	if err != nil {
		return err
	}
	if err := refuseForeign(r, f.cfg.Path); err != nil {
		return err
	}
	f.sniff(r)
	if f.recognised != "" && f.cfg.OnRecognised != nil {
		f.cfg.OnRecognised(f.name, f.recognised)
	}
	f.lines = newLineReader(r, MaxLine)
	f.decoder = f.NewDecoder()
	switch f.cfg.Format {
	case "csv":
		f.records = newTableReader(f.lines, f.cfg.Fields, f.separator)
	case "json":
		f.records = newJSONReader(f.lines, f.cfg.RecordsAt, f.cfg.Include)
	case "xml":
		f.records = newXMLReader(f.lines)
	}
	return nil
}

// Next returns up to BatchPosts posts. What cannot be read further is an error that names the file and the line
// reached; so is the first malformed record if the file is read strictly. Reading from a pipe, it waits for
// one record and takes what else is there. It looks at ctx between records, and interrupts a read only of a named pipe,
// which cannot be read further then.
func (f *Source) Next(ctx context.Context) (ingest.Batch, error) {
	if f.refused != nil {
		return ingest.Batch{}, f.refused
	}
	p := &f.part
	p.Batch = ingest.Batch{Posts: make([]feed.Post, 0, len(p.Batch.Posts))} // the last one's are the receiver's
	if err := f.Read(ctx, p); err != nil {
		return ingest.Batch{}, err
	}
	f.decoder.Decode(p)
	if err := f.Stamp(ctx, p); p.Batch.Empty() {
		return ingest.Batch{}, err
	}
	return p.Batch, nil
}

// location is that of a line, or of a record whose line may hold others.
func (f *Source) location(line, number int64) string {
	at := f.name + ":" + strconv.FormatInt(line, 10)
	if number > 0 {
		at += ", record " + strconv.FormatInt(number, 10)
	}
	return at
}

// BytesRead counts the bytes of the file read so far, as they are stored.
func (f *Source) BytesRead() int64 { return f.bytesRead.Load() }

// Size is the size of the file as it is stored; 0 where that is not known: stdin, pipes.
func (f *Source) Size() int64 { return f.size }

// Format is that of the records of the file: one of Formats. Those of JSON and XML are as JSON lines have them.
func (f *Source) Format() string {
	if f.cfg.Format == "json" || f.cfg.Format == "xml" {
		return "jsonl"
	}
	return f.cfg.Format
}

// Header is the first record of a table, which names its columns, byte for byte: with a byte order mark before it, if the file
// has one, and its line end. It is nil before it is read, and of a file that has none.
func (f *Source) Header() []byte {
	if t, ok := f.records.(*tableReader); ok {
		return t.headerRecord
	}
	return nil
}

// Columns are those of a table, as its header names them, alike for headers that differ in quotes and line end alone. They are ""
// where Header is nil.
func (f *Source) Columns() string {
	if t, ok := f.records.(*tableReader); ok {
		return t.columns
	}
	return ""
}

// Lines counts the lines read so far, empty ones too.
func (f *Source) Lines() int64 { return f.linesRead.Load() }

// Memory is how many bytes decompressing the file holds: for zstd, above all the window that the file asks for.
// That of a named pipe is known once something was read.
func (f *Source) Memory() int64 {
	if f.plain == nil {
		return 0
	}
	return f.plain.memory
}

// Close gives back what reading holds. It may be called at any time, also before the end.
func (f *Source) Close() error {
	if f.plain != nil {
		f.plain.close()
	}
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// countingReader counts what is read through it.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
