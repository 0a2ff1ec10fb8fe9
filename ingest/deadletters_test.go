package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDeadLetters(t *testing.T) {
	var out bytes.Buffer
	d := NewDeadLetters(&out)
	d.now = func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.FixedZone("", 3600)) }
	err := d.Write([]Rejection{
		NewRejection("a.jsonl:17", "id: missing or empty", []byte(`{"text":"中"}`)),
		NewRejection("a.jsonl:18", "not JSON", []byte("\xff\x00")),
		NewRejection("a.jsonl:19", "too long", []byte("x"+strings.Repeat("中", MaxRaw/3+1))),
		{Location: "request line 2", Reason: "cut before it came here", Raw: []byte("ab"), Truncated: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	want := []string{
		`{"place":"a.jsonl:17","reason":"id: missing or empty","time":"2026-01-02T14:04:05Z","raw":"{\"text\":\"中\"}"}`,
		`{"place":"a.jsonl:18","reason":"not JSON","time":"2026-01-02T14:04:05Z","raw":"","rawBase64":"/wA="}`,
		`{"place":"a.jsonl:19","reason":"too long","time":"2026-01-02T14:04:05Z","raw":"x` +
			strings.Repeat("中", MaxRaw/3) + `","rawTruncated":true}`,
		`{"place":"request line 2","reason":"cut before it came here","time":"2026-01-02T14:04:05Z","raw":"ab","rawTruncated":true}`,
		"",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDeadLettersFile: a second run appends, and writers do not cut each other's lines.
func TestDeadLettersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead-letters.jsonl")
	for range 2 {
		d, err := OpenDeadLetters(lettersAt(path, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				err := d.Write([]Rejection{NewRejection("a:1", "x", []byte("raw")), NewRejection("a:2", "y", nil)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		err = d.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(content)) {
		var letter deadLetter
		err := json.Unmarshal([]byte(line), &letter)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		n++
	}
	if n != 2*4*2 {
		t.Errorf("%d lines, want %d", n, 2*4*2)
	}
}

func lettersAt(path string, bytes int64) DeadLetterConfig {
	return DeadLetterConfig{Name: "posts", Path: path, MaxBytes: bytes, Old: 2, Logger: slog.New(slog.DiscardHandler)}
}

// TestDeadLettersKeepTheirSize: a client that sends nothing but rejects fills no disk, and what goes is said: what is there
// and what was dropped are what was written.
func TestDeadLettersKeepTheirSize(t *testing.T) {
	const letters, limit = 3000, 10_000
	var log bytes.Buffer
	cfg := lettersAt(filepath.Join(t.TempDir(), "dead-letters.jsonl"), limit)
	cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	d, err := OpenDeadLetters(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range letters {
		if err := d.Write([]Rejection{NewRejection(fmt.Sprint("a:", i), "x", []byte("raw"))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(cfg.Path + "*")
	if err != nil || len(files) != cfg.Old+1 {
		t.Errorf("files %v, %v", files, err)
	}
	present, dropped := 0, 0
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil || len(content) > limit {
			t.Errorf("%s: %d bytes, %v", f, len(content), err)
		}
		present += strings.Count(string(content), "\n")
	}
	for line := range strings.Lines(log.String()) {
		var record struct{ Letters int }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		dropped += record.Letters
	}
	if present+dropped != letters || dropped == 0 {
		t.Errorf("%d letters there and %d dropped of %d", present, dropped, letters)
	}
}

func TestDeadLettersErrors(t *testing.T) {
	d := NewDeadLetters(fullDisk{})
	err := d.Write([]Rejection{{}, {}})
	if !errors.Is(err, io.ErrShortWrite) || !strings.HasPrefix(err.Error(), "write dead letters: ") {
		t.Errorf("got %v", err)
	}
	_, err = OpenDeadLetters(lettersAt(filepath.Join(t.TempDir(), "no", "such"), 1<<20))
	if err == nil || !strings.HasPrefix(err.Error(), "open dead letters: ") {
		t.Errorf("got %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestDeadLettersAllocate: whoever sends nothing but lines that are none costs a copy of each, and no more.
func TestDeadLettersAllocate(t *testing.T) {
	d := NewDeadLetters(io.Discard)
	var batch []Rejection
	for i := range 1000 {
		batch = append(batch, NewRejection(fmt.Sprint("request line ", i), "id: missing or empty", []byte(`{"text":"some words"}`)))
	}
	allocations := testing.AllocsPerRun(10, func() {
		if err := d.Write(batch); err != nil {
			t.Error(err)
		}
	})
	const limit = 3.5 // under the race detector 3: a sync.Pool in encoding/json then forgets a part of what it is given
	if perLetter := allocations / float64(len(batch)); perLetter > limit {
		t.Errorf("%v allocations a letter, want 1", perLetter)
	}
}

// BenchmarkDeadLetters is a batch of lines that are no posts, as a client may send them all day.
func BenchmarkDeadLetters(b *testing.B) {
	for name, raw := range map[string]string{
		"short": "x", "tweet": strings.Repeat(`{"text":"Some words","<&>":"中文"},`, 5), "long": strings.Repeat("abcdefg ", 1<<10),
	} {
		b.Run(name, func(b *testing.B) {
			d, err := OpenDeadLetters(DeadLetterConfig{
				Name: "posts", Path: filepath.Join(b.TempDir(), "dead-letters.jsonl"), MaxBytes: 64 << 20, Old: 1,
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			counted := &countingWriter{w: d.w}
			d.w = counted
			var batch []Rejection
			for i := range 1000 {
				batch = append(batch, NewRejection(fmt.Sprint("request line ", i), `id: missing or empty`, []byte(raw)))
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Write(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/letter")
			b.ReportMetric(float64(counted.writes)/float64(b.N), "writes/op")
			b.ReportMetric(float64(counted.bytes)/float64(b.N)/1000, "B/letter")
		})
	}
}

type countingWriter struct {
	w             io.Writer
	writes, bytes int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.writes, c.bytes = c.writes+1, c.bytes+len(p)
	return c.w.Write(p)
}
