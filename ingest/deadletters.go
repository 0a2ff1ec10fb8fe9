package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/rotated"
)

// DeadLetters writes rejected records as JSON lines, so that they can be looked at, repaired and sent again:
//
//	{"place":"posts.jsonl:17","reason":"id: missing or empty","time":"2026-01-02T15:04:05Z","raw":"{...}"}
//
// raw is the record as it came, at most MaxRaw bytes of it; rawTruncated says that it was longer, rawBase64
// takes its place where it is no text. It is safe for concurrent use. A file is not synced to disk; in a topic letters are
// durable when Write returns.
type DeadLetters struct {
	mu     sync.Mutex
	w      io.Writer
	kept   Lines // the same, where it can be read; nil: NewDeadLetters was given another writer
	now    func() time.Time
	counts letterCounts // of a file
	piece  int          // bytes of lines that are written together
	lines  bytes.Buffer // to be written
	encode *json.Encoder
}

// maxPiece bounds the lines that are written together: a call of the system for each would make whoever sends many lines
// that are no posts hold up all others.
const maxPiece = 64 << 10

// Lines are where dead letters are kept: a file of one process, or a topic that several share.
type Lines interface {
	io.WriteCloser
	// Forward calls visit for the lines, the oldest first, until it returns an error, which Forward returns.
	Forward(visit func(line []byte) error) error
}

var _ Lines = (*rotated.File)(nil)

// NewDeadLetters writes to w.
func NewDeadLetters(w io.Writer) *DeadLetters {
	d := &DeadLetters{w: w, now: time.Now, piece: maxPiece}
	d.encode = json.NewEncoder(&d.lines)
	return d
}

// DeadLetterConfig says where dead letters go, and how many of them are kept. Name is what the metrics call them.
type DeadLetterConfig struct {
	Name, Path string
	MaxBytes   int64 // of a file
	Old        int   // files besides the one that is written
	Logger     *slog.Logger
}

// OpenDeadLetters appends to a file, and makes it if there is none. Before it becomes too large it is renamed, to PATH.1;
// what the oldest of them held is dropped then, which is said and counted.
func OpenDeadLetters(cfg DeadLetterConfig) (*DeadLetters, error) {
	counts, err := newLetterCounts(cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	file, err := rotated.Open(rotated.Config{Path: cfg.Path, MaxBytes: cfg.MaxBytes, Old: cfg.Old, Dropped: func(lines int) {
		counts.dropped.Add(context.Background(), int64(lines), counts.of)
		cfg.Logger.Error("the oldest dead letters are dropped to make room for others", "file", filepath.Base(cfg.Path),
			"letters", lines,
			"hint", "fetch them in time, or raise dead_letters.bytes or dead_letters.files")
	}})
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	d := NewDeadLetters(file)
	d.kept, d.counts, d.piece = file, counts, int(min(maxPiece, cfg.MaxBytes/16))
	return d, nil
}

// ShareDeadLetters writes to lines that several processes share. name is what the metrics call them.
func ShareDeadLetters(name string, to Lines) (*DeadLetters, error) {
	counts, err := newLetterCounts(name)
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	d := NewDeadLetters(to)
	d.kept, d.counts = to, counts
	return d, nil
}

// Dropped counts letters that made room for others where nobody but the reader of a topic's limits sees it.
func (d *DeadLetters) Dropped(letters int64) {
	d.counts.dropped.Add(context.Background(), letters, d.counts.of)
}

// letterCounts counts the lines of a file that were written, and those of them that are no more.
type letterCounts struct {
	written, dropped metric.Int64Counter
	of               metric.MeasurementOption
}

func newLetterCounts(name string) (c letterCounts, err error) {
	meter := otel.Meter("refrain/ingest")
	var errDropped error
	c.of = metric.WithAttributes(attribute.String("file", name))
	c.written, err = meter.Int64Counter("refrain_ingest_dead_letters",
		metric.WithDescription("Dead letters written, of posts or of events."))
	c.dropped, errDropped = meter.Int64Counter("refrain_ingest_dead_letters_dropped",
		metric.WithDescription("Dead letters that were dropped to make room for others."))
	if err = errors.Join(err, errDropped); err == nil {
		c.written.Add(context.Background(), 0, c.of)
		c.dropped.Add(context.Background(), 0, c.of)
	}
	return c, err
}

// deadLetter is one line.
type deadLetter struct {
	Location  string `json:"place"`
	Reason    string `json:"reason"`
	Time      string `json:"time"`
	Raw       string `json:"raw"`
	RawBase64 []byte `json:"rawBase64,omitempty"`
	Truncated bool   `json:"rawTruncated,omitempty"`
}

// Write appends the rejections, some whole lines by one call of the writer. It goes on after an error and returns
// them all.
func (d *DeadLetters) Write(rejected []Rejection) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.lines.Reset()
	var errs []error
	letter, n := deadLetter{Time: d.now().UTC().Format(time.RFC3339Nano)}, 0
	for i := range rejected {
		end := d.lines.Len()
		letter.set(&rejected[i])
		if err := d.encode.Encode(&letter); err != nil {
			errs = append(errs, err)
			continue
		}
		if n > 0 && d.lines.Len() > d.piece {
			errs = append(errs, d.write(d.lines.Next(end), n))
			n = 0
		}
		n++
	}
	if n > 0 {
		errs = append(errs, d.write(d.lines.Bytes(), n))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write dead letters: %w", err)
	}
	return nil
}

// write appends n lines.
func (d *DeadLetters) write(lines []byte, n int) error {
	_, err := d.w.Write(lines)
	if err == nil && d.counts.written != nil {
		d.counts.written.Add(context.Background(), int64(n), d.counts.of)
	}
	return err
}

// set makes it the line of a rejection, with the time that it has.
func (l *deadLetter) set(r *Rejection) {
	raw := r.Raw[:min(len(r.Raw), MaxRaw)]
	*l = deadLetter{Location: r.Location, Reason: r.Reason, Time: l.Time, Truncated: r.Truncated || len(raw) < len(r.Raw)}
	if l.Truncated {
		raw = trimPartialRune(raw)
	}
	if utf8.Valid(raw) {
		l.Raw = string(raw)
	} else {
		l.RawBase64 = raw
	}
}

// trimPartialRune drops the beginning of a character that a cut has left at the end.
func trimPartialRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
			return b[:len(b)-n]
		}
	}
	return b
}

// Letter is a dead letter that was written. Raw is what is kept of the record; Truncated says that there was more.
type Letter struct {
	Location  string
	Time      time.Time
	Raw       []byte
	Truncated bool
}

// Each calls visit for the letters that are kept, the oldest first, until that returns an error, which it
// returns.
func (d *DeadLetters) Each(visit func(Letter) error) error {
	if d.kept == nil {
		return nil
	}
	return d.kept.Forward(func(line []byte) error {
		var l deadLetter
		if json.Unmarshal(line, &l) != nil { // one that a crash has cut off is no letter
			return nil
		}
		at, err := time.Parse(time.RFC3339Nano, l.Time)
		if err != nil {
			return nil
		}
		raw := []byte(l.Raw)
		if l.RawBase64 != nil {
			raw = l.RawBase64
		}
		return visit(Letter{l.Location, at, raw, l.Truncated})
	})
}

// Close closes what OpenDeadLetters has opened, or ShareDeadLetters was given.
func (d *DeadLetters) Close() error {
	if d.kept == nil {
		return nil
	}
	return d.kept.Close()
}
