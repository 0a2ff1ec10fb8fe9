package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// DeadLetters writes rejected records as JSON lines, so that they can be looked at, repaired and sent again:
//
//	{"place":"posts.jsonl:17","reason":"id: missing or empty","time":"2026-01-02T15:04:05Z","raw":"{...}"}
//
// raw is the record as it came, at most MaxRaw bytes of it; rawTruncated says that it was longer, rawBase64
// takes its place where it is no text. It is safe for concurrent use, and does not sync to disk.
type DeadLetters struct {
	mu     sync.Mutex
	w      io.Writer
	closer io.Closer
	now    func() time.Time
}

// NewDeadLetters writes to w.
func NewDeadLetters(w io.Writer) *DeadLetters {
	return &DeadLetters{w: w, now: time.Now}
}

// OpenDeadLetters appends to the file at path, and makes it if there is none.
func OpenDeadLetters(path string) (*DeadLetters, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	d := NewDeadLetters(file)
	d.closer = file
	return d, nil
}

// deadLetter is one line.
type deadLetter struct {
	Place     string `json:"place"`
	Reason    string `json:"reason"`
	Time      string `json:"time"`
	Raw       string `json:"raw"`
	RawBase64 []byte `json:"rawBase64,omitempty"`
	Truncated bool   `json:"rawTruncated,omitempty"`
}

// Write appends the rejections, each line by one call of the writer. It goes on after an error and returns
// them all.
func (d *DeadLetters) Write(rejected []Rejection) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for i := range rejected {
		errs = append(errs, d.write(&rejected[i]))
	}
	err := errors.Join(errs...)
	if err != nil {
		return fmt.Errorf("write dead letters: %w", err)
	}
	return nil
}

func (d *DeadLetters) write(r *Rejection) error {
	raw := r.Raw[:min(len(r.Raw), MaxRaw)]
	letter := deadLetter{
		Place: r.Place, Reason: r.Reason,
		Time:      d.now().UTC().Format(time.RFC3339Nano),
		Truncated: r.Truncated || len(raw) < len(r.Raw),
	}
	if letter.Truncated {
		raw = wholeRunes(raw)
	}
	if utf8.Valid(raw) {
		letter.Raw = string(raw)
	} else {
		letter.RawBase64 = raw
	}
	line, err := json.Marshal(letter)
	if err != nil {
		return err
	}
	_, err = d.w.Write(append(line, '\n'))
	return err
}

// wholeRunes drops the beginning of a character that a cut has left at the end.
func wholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
			return b[:len(b)-n]
		}
	}
	return b
}

// Close closes the file that OpenDeadLetters has opened.
func (d *DeadLetters) Close() error {
	if d.closer == nil {
		return nil
	}
	return d.closer.Close()
}
