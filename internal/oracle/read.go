package oracle

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"refrain/feed"
)

// maxLine bounds a line of a file of posts.
const maxLine = 64 << 20

// Open opens a file of posts; what ends in .gz or .zst is decompressed.
func Open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := decompress(file, filepath.Ext(path))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), file.Close())
	}
	return stream{r, file}, nil
}

func decompress(r io.Reader, ext string) (io.ReadCloser, error) {
	switch ext {
	case ".gz":
		return gzip.NewReader(r)
	case ".zst":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// stream closes the file under a decompressor too.
type stream struct {
	io.ReadCloser
	file *os.File
}

func (s stream) Close() error { return errors.Join(s.ReadCloser.Close(), s.file.Close()) }

// Posts yields the first n posts of JSON lines, or all when n is 0. A line that is no post gives an error
// with its number and counts towards nothing. A post without a time gets the newest time so far, 0 before
// the first, or the one that it got when it came before.
func Posts(r io.Reader, n int) iter.Seq2[feed.Post, error] {
	return func(yield func(feed.Post, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 64<<10), maxLine)
		type text struct{ source, id, text string }
		var newest feed.Time
		assigned := map[text]feed.Time{}
		for line, posts := 1, 0; (n == 0 || posts < n) && lines.Scan(); line++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			p, err := decode(lines.Bytes())
			if err != nil {
				if !yield(feed.Post{}, fmt.Errorf("line %d: %w", line, err)) {
					return
				}
				continue
			}
			newest = max(newest, p.Time)
			if !p.Timed {
				k := text{p.Source, p.ID, p.Text}
				if _, ok := assigned[k]; !ok {
					assigned[k] = newest
				}
				p.Time = assigned[k]
			}
			posts++
			if !yield(p, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(feed.Post{}, err)
		}
	}
}

// ReadFile adds the first n posts of a file to f, or all when n is 0, and returns how many lines were no post.
func (f *Feed) ReadFile(path string, n int) (malformed int, err error) {
	r, err := Open(path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for p, err := range Posts(r, n) {
		if err != nil {
			malformed++
			continue
		}
		f.Add(&p)
	}
	return malformed, nil
}

func decode(line []byte) (feed.Post, error) {
	var raw struct {
		ID                   json.RawMessage
		Source, Author, Lang string
		CreatedAt            json.RawMessage `json:"created_at"`
		Text                 *string
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return feed.Post{}, err
	}
	id := scalar(raw.ID)
	if id == "" {
		return feed.Post{}, errors.New("id is missing")
	}
	if raw.Text == nil {
		return feed.Post{}, errors.New("text is missing")
	}
	p := feed.Post{Source: raw.Source, ID: id, Author: raw.Author, Lang: raw.Lang, Text: *raw.Text}
	stamp := scalar(raw.CreatedAt)
	if stamp == "" {
		return p, nil
	}
	t, err := parseTime(stamp)
	p.Time, p.Timed = t, true
	return p, err
}

// scalar is the value of a JSON string, or the literal of a number; "" for null.
func scalar(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// lastSecond is the end of the year 2100 in Unix seconds; a greater number is milliseconds.
const lastSecond = 4133980799

func parseTime(s string) (feed.Time, error) {
	for _, layout := range []string{time.RFC3339, "Mon Jan 02 15:04:05 -0700 2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return feed.FromTime(t), nil
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("created_at %q is no time", s)
	}
	if n <= lastSecond {
		n *= 1000
	}
	return feed.Time(n), nil
}
