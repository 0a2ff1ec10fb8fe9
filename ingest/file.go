package ingest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"refrain/feed"
)

// Formats lists what FileConfig.Format may be.
var Formats = []string{"jsonl", "text", "csv"}

// batchBytes ends a batch early: posts may be large.
const batchBytes = 8 << 20

// FileConfig says which file to read, and how.
type FileConfig struct {
	// Path of the file; "-" is Stdin. Compression (gzip, zstd) is recognised from the first bytes.
	Path string
	// Stdin is what "-" reads; nil: os.Stdin.
	Stdin io.Reader
	// Format is one of Formats; "": by the name's ending, jsonl unless that says otherwise.
	Format string
	// Fields maps our names to the file's; nil: our own. Text files have none.
	Fields *feed.Fields
	// SourceName is the source of posts that name none.
	SourceName string
	// Strict makes the first record that is no post an error.
	Strict bool
	// BatchPosts is the most posts of a batch; 0: 1000.
	BatchPosts int
}

// File reads posts from a file or stdin: JSON lines, text with one post a line, or a table (CSV).
//
// A post without a time gets the greatest time of the posts before it, the year 1970 before there is one, and
// stays untimed (feed.Post.Timed); delivered again, it keeps the time it got first. Places are FILE:LINE; a post that covers several lines is named by its first.
// Next belongs to one goroutine; BytesRead and Lines may be asked from any.
type File struct {
	cfg     FileConfig
	name    string // as places show it
	closer  io.Closer
	plain   *decompressed
	lines   *lineReader
	records recordReader
	live    bool // somebody may be writing the other end: hand on what is there

	latest  feed.Time
	untimed untimed
	expect  int   // posts in the batch before: how much room to make for the next
	err     error // what ended the file, told once the batch before it is out

	bytesRead, linesRead atomic.Int64
	size                 int64
}

var _ Source = (*File)(nil)

// recordReader reads the records of one format.
type recordReader interface {
	// read fills in r, or returns io.EOF, or what broke the file.
	read(r *fileRecord) error
}

// fileRecord is one record of a file: a post, or the reason why it is none.
type fileRecord struct {
	line   int64
	post   feed.Post
	note   string
	reason error
	raw    []byte // of a rejected record, valid until the next one
	size   int    // of the whole record
}

// OpenFile opens a file for reading, and finds its format and compression.
func OpenFile(cfg FileConfig) (*File, error) {
	if cfg.BatchPosts <= 0 {
		cfg.BatchPosts = 1000
	}
	f := &File{cfg: cfg, name: cfg.Path}
	in, err := f.open()
	if err != nil {
		return nil, err
	}
	err = f.start(in)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.name, err), f.Close())
	}
	return f, nil
}

// open returns the bytes of the file as they are stored.
func (f *File) open() (io.Reader, error) {
	if f.cfg.Path == "-" {
		f.name, f.live = "stdin", true
		if f.cfg.Stdin != nil {
			return f.cfg.Stdin, nil
		}
		return os.Stdin, nil
	}
	file, err := os.Open(f.cfg.Path)
	if err != nil {
		return nil, err
	}
	f.closer = file
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s: a directory, not a file", f.cfg.Path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if info.Mode().IsRegular() {
		f.size = info.Size()
	}
	return file, nil
}

func (f *File) start(in io.Reader) error {
	format, err := f.format()
	if err != nil {
		return err
	}
	f.plain, err = decompress(bufio.NewReaderSize(countingReader{in, &f.bytesRead}, 64<<10), f.cfg.Path)
	if err != nil {
		return err
	}
	f.lines = newLineReader(f.plain, MaxLine)
	switch format {
	case "text":
		f.records = &textReader{lines: f.lines}
	case "csv":
		f.records = newTableReader(f.lines, f.cfg.Fields)
	default:
		f.records = &jsonReader{lines: f.lines, fields: f.cfg.Fields}
	}
	return nil
}

func (f *File) format() (string, error) {
	if f.cfg.Format != "" && !slices.Contains(Formats, f.cfg.Format) {
		return "", fmt.Errorf("format %q: want %s", f.cfg.Format, strings.Join(Formats, ", "))
	}
	if f.cfg.Format != "" {
		return f.cfg.Format, nil
	}
	name := strings.ToLower(f.cfg.Path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".txt":
		return "text", nil
	case ".csv":
		return "csv", nil
	}
	return "jsonl", nil
}

// Next returns up to BatchPosts posts. What cannot be read further is an error that names the file and the line
// reached; so is the first malformed record if the file is read strictly. Reading from a pipe, it waits for
// one record and takes what else is there. It looks at ctx between records, but cannot interrupt a read.
func (f *File) Next(ctx context.Context) (Batch, error) {
	b := Batch{Partition: f.name, Posts: make([]feed.Post, 0, f.expect), Ack: func(error) {}}
	size := 0
	for f.err == nil && ctx.Err() == nil && !f.full(&b, size) {
		size += f.read(&b)
	}
	if b.Empty() {
		return Batch{}, cmp.Or(f.err, ctx.Err())
	}
	f.expect = len(b.Posts)
	Count(ctx, &b)
	return b, nil
}

// full reports whether b should go out now.
func (f *File) full(b *Batch, size int) bool {
	n := len(b.Posts) + len(b.Rejected)
	return n >= f.cfg.BatchPosts || size >= batchBytes || f.live && n > 0 && f.lines.waits()
}

// read adds one record to b and returns its weight in bytes, or sets f.err.
func (f *File) read(b *Batch) (size int) {
	var r fileRecord
	err := f.records.read(&r)
	f.linesRead.Store(f.lines.number)
	switch {
	case err == io.EOF:
		f.err = err
	case err != nil:
		f.err = fmt.Errorf("%s: after line %d: %w", f.name, f.lines.number, err)
	case r.reason != nil && f.cfg.Strict:
		f.err = fmt.Errorf("%s: %w", f.place(r.line), r.reason)
	case r.reason != nil:
		return f.reject(b, &r)
	default:
		return f.accept(b, &r)
	}
	return 0
}

func (f *File) reject(b *Batch, r *fileRecord) int {
	rejection := NewRejection(f.place(r.line), r.reason.Error(), r.raw)
	rejection.Truncated = r.size > len(rejection.Raw)
	b.Rejected = append(b.Rejected, rejection)
	return len(rejection.Raw)
}

func (f *File) accept(b *Batch, r *fileRecord) int {
	if r.note != "" {
		b.Notes = append(b.Notes, Note{f.place(r.line), r.note})
	}
	p := &r.post
	if p.Source == "" {
		p.Source = f.cfg.SourceName
	}
	if p.Timed {
		f.latest = max(f.latest, p.Time)
	} else {
		p.Time = f.untimed.stamp(p, f.latest)
	}
	b.Posts = append(b.Posts, *p)
	return len(p.Text) + len(p.Meta)
}

func (f *File) place(line int64) string { return f.name + ":" + strconv.FormatInt(line, 10) }

// BytesRead counts the bytes of the file read so far, as they are stored.
func (f *File) BytesRead() int64 { return f.bytesRead.Load() }

// Size is the size of the file as it is stored; 0 where that is not known: stdin, pipes.
func (f *File) Size() int64 { return f.size }

// Lines counts the lines read so far, empty ones too.
func (f *File) Lines() int64 { return f.linesRead.Load() }

// Memory is how many bytes decompressing the file holds: for zstd, above all the window that the file asks for.
func (f *File) Memory() int64 { return f.plain.memory }

// Close gives back what reading holds. It may be called at any time, also before the end.
func (f *File) Close() error {
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
