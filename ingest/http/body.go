package http

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// body is a request's body as a scanner, with what was found out about its form.
type body struct {
	scanner
	array bool
}

var (
	errEncoding = errors.New("content encoding not understood")
	errTooLarge = errors.New("body too large")
)

// openBody undoes compression, sets the limits and finds the form: NDJSON when the content type says so or when
// the first line holds one whole JSON value; an array when it begins with a bracket; otherwise objects one after
// the other, of which a single one is the usual case.
func (u *upload) openBody(w http.ResponseWriter, r *http.Request) (body, error) {
	h := u.h
	plain, err := u.decompress(w, r)
	if err != nil {
		return body{}, err
	}
	in := bufio.NewReaderSize(plain, 64<<10)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
		_, _ = in.Discard(3)
	}
	if isNDJSON(r.Header.Get("Content-Type")) {
		return body{scanner: &lineScanner{r: in, limit: h.cfg.MaxPost, grow: u.grow}}, nil
	}
	first, blank, err := skipBlank(in)
	if err != nil && err != io.EOF {
		return body{}, err
	}
	values := &valueScanner{r: in, limit: h.cfg.MaxPost, grow: u.grow}
	switch {
	case first == '[':
		_, err := in.Discard(1)
		values.array = true
		return body{scanner: values, array: true}, err
	case first == '{' && isCompleteLine(in):
		return body{scanner: &lineScanner{r: in, limit: h.cfg.MaxPost, grow: u.grow, line: blank}}, nil
	}
	return body{scanner: values}, nil
}

func isNDJSON(contentType string) bool {
	t, _, _ := mime.ParseMediaType(contentType)
	return t == "application/x-ndjson" || t == "application/ndjson" || t == "application/jsonl"
}

// skipBlank drops white space; it returns the first byte that is left, which stays, and the line ends dropped.
func skipBlank(in *bufio.Reader) (first byte, lines int, err error) {
	for {
		b, err := in.Peek(1)
		if err != nil || !isSpace(b[0]) {
			return head(b), lines, err
		}
		if b[0] == '\n' {
			lines++
		}
		_, _ = in.Discard(1)
	}
}

// head is the first byte of b, 0 without one.
func head(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// isCompleteLine reports whether the first line, as far as it is in the buffer, reads as NDJSON: one JSON value and
// nothing after it, or something that is not JSON at all and will be rejected by itself. A value that goes on in
// the next line, or two values in one line, are read by brackets instead.
func isCompleteLine(in *bufio.Reader) bool {
	line, _ := in.Peek(in.Size())
	end := bytes.IndexByte(line, '\n')
	if end < 0 {
		return false // one line, or a very long one: brackets find the same, and a second value behind the first
	}
	d := json.NewDecoder(bytes.NewReader(line[:end]))
	var v json.RawMessage
	err := d.Decode(&v)
	if err == nil {
		return len(bytes.TrimSpace(line[d.InputOffset():end])) == 0
	}
	return !errors.Is(err, io.ErrUnexpectedEOF)
}

// decompress returns the body as it was before transport, limited before and after.
func (u *upload) decompress(w http.ResponseWriter, r *http.Request) (io.Reader, error) {
	h := u.h
	if r.ContentLength > h.cfg.MaxBody {
		return nil, fmt.Errorf("%w: %d bytes, the limit (ingest.body) is %d", errTooLarge, r.ContentLength, h.cfg.MaxBody)
	}
	awaited := &awaitedReader{
		ReadCloser: r.Body, control: http.NewResponseController(w), patience: h.cfg.ReadTimeout, slot: u.slot,
	}
	sent := http.MaxBytesReader(w, awaited, h.cfg.MaxBody)
	switch e := r.Header.Get("Content-Encoding"); strings.ToLower(e) { // RFC 9110, 8.4.1
	case "", "identity":
		return &cappedReader{r: sent, left: h.cfg.MaxBody, limit: h.cfg.MaxBody}, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(sent)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return &cappedReader{r: z, left: h.cfg.MaxBody, limit: h.cfg.MaxBody}, nil
	default:
		return nil, fmt.Errorf("%w: %q; gzip is", errEncoding, e)
	}
}

// cappedReader ends with errTooLarge when there is more than the limit, where io.LimitReader would say EOF.
type cappedReader struct {
	r           io.Reader
	left, limit int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		p = p[:min(len(p), 1)] // is there one byte more?
	} else {
		p = p[:min(int64(len(p)), c.left)]
	}
	n, err := c.r.Read(p)
	var tooLarge *http.MaxBytesError
	if c.left == 0 && n > 0 || errors.As(err, &tooLarge) {
		return 0, fmt.Errorf("%w: the limit (ingest.body) is %d bytes", errTooLarge, c.limit)
	}
	c.left -= int64(n)
	return n, err
}

// awaitedReader gives the client so long for every read: a body may take hours, but not stand still.
type awaitedReader struct {
	io.ReadCloser
	control  *http.ResponseController
	patience time.Duration
	slot     *uploadSlot
}

func (a *awaitedReader) Read(p []byte) (int, error) {
	if err := a.deadline(time.Now().Add(a.patience)); err != nil {
		return 0, err
	}
	a.slot.begin(a.control)
	n, err := a.ReadCloser.Read(p)
	if a.slot.end(n) {
		err = errEvicted
	}
	if err == io.EOF { // what the connection is read for from here on is not the body
		_ = a.deadline(time.Time{}) // err says more
	}
	return n, err
}

// deadline is without effect where there is no connection to set it on.
func (a *awaitedReader) deadline(t time.Time) error {
	err := a.control.SetReadDeadline(t)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
