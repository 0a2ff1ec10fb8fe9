package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"refrain/feed"
	"refrain/ingest"
)

// writeFile makes a file in the test's directory.
func writeFile(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	err := os.WriteFile(path, []byte(content), 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// readAll reads a source to its end or its first error, as one batch. Locations lose their directory.
// with is the default configuration for a path, changed.
func with(path string, change func(*Config)) Config {
	cfg := Default(path)
	change(&cfg)
	return cfg
}

func readAll(tb testing.TB, cfg Config) (all ingest.Batch, err error) {
	tb.Helper()
	f, err := Open(cfg)
	if err != nil {
		return ingest.Batch{}, err
	}
	defer func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	}()
	for {
		b, err := f.Next(context.Background())
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		b.Done(nil)
		all.Posts = append(all.Posts, b.Posts...)
		all.Rejected = append(all.Rejected, b.Rejected...)
		all.Notes = append(all.Notes, b.Notes...)
	}
}

// show writes a batch as lines that are easy to compare: posts as id: text, then notes, then rejections.
func show(b ingest.Batch) (lines []string) {
	for _, p := range b.Posts {
		lines = append(lines, p.ID+": "+p.Text)
	}
	for _, n := range b.Notes {
		lines = append(lines, "note "+filepath.Base(n.Location)+": "+n.Text)
	}
	for _, r := range b.Rejected {
		lines = append(lines, "rejected "+filepath.Base(r.Location)+": "+r.Reason)
	}
	return lines
}

func wantLines(tb testing.TB, got, want []string) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("(-want +got):\n%s", diff)
	}
}

func validLine(id string) string { return `{"id":"` + id + `","text":"hello"}` + "\n" }

// badLines are the inputs that no reader may stumble over, and what becomes of them.
var badLines = []struct{ name, line, want string }{
	{"malformed JSON", `{"id":"2"`, "rejected a.jsonl:2: malformed JSON: it ends too soon, at byte 9"},
	{"no id", `{"text":"x"}`, "rejected a.jsonl:2: id: missing or empty"},
	{"10 MB of text", `{"id":"2","text":"` + strings.Repeat("x", 10<<20) + `"}`,
		"rejected a.jsonl:2: a line of 10485781 bytes, and the limit is 8388608"},
	{"2 MB of text", `{"id":"2","text":"` + strings.Repeat("x", 2<<20) + `"}`,
		"rejected a.jsonl:2: text: 2097152 bytes, and the limit is 1048576"},
	{"year 30000", `{"id":"2","text":"x","created_at":"30000-01-01T00:00:00Z"}`,
		`rejected a.jsonl:2: created_at: "30000-01-01T00:00:00Z": year 30000: outside 1970 to 2100`},
	{"deep nesting", `{"id":"2","text":"x","d":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		"rejected a.jsonl:2: d: nested 501 deep, and the limit is 100"},
	{"trailing garbage", `{"id":"2","text":"x"},`, `rejected a.jsonl:2: "," after the end of the JSON object`},
	{"binary", "\x00\x01\xfe\xff", `rejected a.jsonl:2: want a JSON object, got "\x00\x01\xfe\xff"`},
}

func TestRejects(t *testing.T) {
	for _, test := range badLines {
		t.Run(test.name, func(t *testing.T) {
			content := validLine("1") + test.line + "\n" + validLine("3")
			got, err := readAll(t, Default(writeFile(t, "a.jsonl", content)))
			if err != nil {
				t.Fatal(err)
			}
			wantLines(t, show(got), []string{"1: hello", "3: hello", test.want})
			wantRaw := test.line[:min(len(test.line), ingest.MaxRaw)]
			if r := got.Rejected[0]; string(r.Raw) != wantRaw || r.Truncated != (len(test.line) > ingest.MaxRaw) {
				t.Errorf("kept %d bytes of %d, truncated %v", len(r.Raw), len(test.line), r.Truncated)
			}
		})
	}
}

func TestStrict(t *testing.T) {
	for _, test := range badLines {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, "a.jsonl", validLine("1")+test.line+"\n"+validLine("3"))
			got, err := readAll(t, with(path, func(c *Config) { c.Strict = true }))
			wantLines(t, show(got), []string{"1: hello"})
			want := filepath.Dir(path) + "/" + strings.TrimPrefix(test.want, "rejected ")
			if err == nil || err.Error() != want {
				t.Errorf("error\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestAccepts(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 100_000))
	tests := []struct {
		name, content string
		want          []string
	}{
		{"nothing", "", nil},
		{"only empty lines", "\n\r\n  \n", nil},
		{"empty lines between", "\n" + validLine("1") + "\r\n \t\n" + validLine("2"), []string{"1: hello", "2: hello"}},
		{"no newline at the end", validLine("1") + strings.TrimSpace(validLine("2")), []string{"1: hello", "2: hello"}},
		{"byte order mark", "\ufeff" + validLine("1") + validLine("2"), []string{"1: hello", "2: hello"}},
		{"CRLF", "\ufeff" + strings.ReplaceAll(validLine("1")+validLine("2"), "\n", "\r\n"), []string{"1: hello", "2: hello"}},
		{"100,000 words", validLine("1") + `{"id":"2","text":"` + words + `"}` + "\n" + validLine("3"),
			[]string{"1: hello", "2: " + words, "3: hello"}},
		{"invalid UTF-8", validLine("1") + "{\"id\":\"2\",\"text\":\"a\xff\xfeb\"}\n" + validLine("3"),
			[]string{"1: hello", "2: a\uFFFD\uFFFDb", "3: hello", "note a.jsonl:2: text: invalid UTF-8 replaced by U+FFFD"}},
		{"lone surrogate", `{"id":"2","text":"\udfff"}`,
			[]string{"2: \uFFFD", "note a.jsonl:1: text: lone surrogate replaced by U+FFFD"}},
		{"NUL", `{"id":"2","text":"a\u0000"}`, []string{"2: a\x00"}},
		{"the same id with other text", validLine("1") + `{"id":"1","text":"world"}`, []string{"1: hello", "1: world"}},
		{"numeric id", `{"id":1.0,"text":"hello"}`, []string{"1.0: hello"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(t, Default(writeFile(t, "a.jsonl", test.content)))
			if err != nil {
				t.Fatal(err)
			}
			wantLines(t, show(got), test.want)
		})
	}
}

// TestTimes: without a time of its own, a post gets the greatest so far.
func TestTimes(t *testing.T) {
	path := writeFile(t, "a.jsonl", `{"id":"1","text":"x"}
{"id":"2","text":"x","created_at":20}
{"id":"3","text":"x","created_at":10,"source":"own"}
{"id":"4","text":"x"}
`)
	got, err := readAll(t, with(path, func(c *Config) { c.SourceName, c.BatchPosts = "default", 1 }))
	if err != nil {
		t.Fatal(err)
	}
	want := []feed.Post{
		{Source: "default", ID: "1", Text: "x"},
		{Source: "default", ID: "2", Text: "x", Time: 20_000, Timed: true},
		{Source: "own", ID: "3", Text: "x", Time: 10_000, Timed: true},
		{Source: "default", ID: "4", Text: "x", Time: 20_000},
	}
	if diff := cmp.Diff(want, got.Posts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestText(t *testing.T) {
	content := "first\n\n  \nfour\xff\r\n\"quoted\", and so on\n" + strings.Repeat("x", feed.MaxText+1) + "\nlast"
	got, err := readAll(t, Default(writeFile(t, "a.txt", content)))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, show(got), []string{"0000000001: first", "0000000004: four\uFFFD",
		`0000000005: "quoted", and so on`, "0000000007: last",
		"note a.txt:4: text: invalid UTF-8 replaced by U+FFFD",
		"rejected a.txt:6: text: 1048577 bytes, and the limit is 1048576"})
}

func gzipped(tb testing.TB, s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	mustWrite(tb, z, s)
	return b.String()
}

func zstded(tb testing.TB, s string) string {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(8<<20))
	if err != nil {
		tb.Fatal(err)
	}
	mustWrite(tb, z, s)
	return b.String()
}

func mustWrite(tb testing.TB, w io.WriteCloser, s string) {
	tb.Helper()
	_, err := io.WriteString(w, s)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// generatePosts is some 200 KB that do not compress to nothing.
func generatePosts(n int) (content string, want []string) {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":\"post %d says %x\"}\n", i, i, i*i*i*7919)
		want = append(want, fmt.Sprintf("%d: post %d says %x", i, i, i*i*i*7919))
	}
	return b.String(), want
}

func TestCompressed(t *testing.T) {
	plain, want := generatePosts(5000)
	half := len(plain) / 2
	contents := map[string]string{
		"a.jsonl":          plain,
		"a.jsonl.gz":       gzipped(t, plain),
		"a.jsonl.zst":      zstded(t, plain),
		"a.JSONL.GZ":       gzipped(t, plain),
		"gzip-inside":      gzipped(t, plain),
		"zstd-inside":      zstded(t, plain),
		"two-members.gz":   gzipped(t, plain[:half]) + gzipped(t, plain[half:]),
		"two-frames.zst":   zstded(t, plain[:half]) + zstded(t, plain[half:]),
		"skippable-ahead":  "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstded(t, plain),
		"newline-less.zst": zstded(t, strings.TrimSuffix(plain, "\n")),
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(t, Default(writeFile(t, name, content)))
			if err != nil {
				t.Fatal(err)
			}
			wantLines(t, show(got), want)
			got, err = readAll(t, with("-", func(c *Config) { c.Stdin = strings.NewReader(content) }))
			if err != nil {
				t.Fatal(err)
			}
			wantLines(t, show(got), want)
		})
	}
}

// TestCut cuts compressed files short: what came before is delivered, and the error says where it ended.
func TestCut(t *testing.T) {
	plain, want := generatePosts(20000)
	for name, content := range map[string]string{"a.gz": gzipped(t, plain), "a.zst": zstded(t, plain)} {
		for _, size := range []int{3, len(content) / 2, len(content) - 2} {
			path := writeFile(t, name, content[:size])
			got, err := readAll(t, Default(path))
			if err == nil {
				t.Fatalf("%s cut to %d bytes: no error", name, size)
			}
			n := len(got.Posts)
			if size == len(content)/2 && n < 1000 {
				t.Errorf("%s cut to half: only %d posts of 20000", name, n)
			}
			wantLines(t, show(got), append([]string(nil), want[:n]...))
			wantError := fmt.Sprintf("%s: after line %d: the compressed file is cut short", path, n)
			if size > 10 && err.Error() != wantError {
				t.Errorf("cut to %d: error %q, want %q", size, err, wantError)
			}
			if name == "a.gz" && !strings.HasSuffix(err.Error(), "the compressed file is cut short") {
				t.Errorf("cut to %d: error %q", size, err)
			}
			if !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("error %q does not begin with the file", err)
			}
		}
	}
}

// TestBehindTheEnd: what follows compressed data and is none is said so, and the posts before it are delivered.
func TestBehindTheEnd(t *testing.T) {
	plain, want := generatePosts(5000)
	for ending, packed := range map[string]string{"gz": gzipped(t, plain), "zst": zstded(t, plain), "two.gz": gzipped(t, "") + gzipped(t, plain)} {
		for _, junk := range []string{"junk\n", "\x00\x00\x00\x00\x00", strings.Repeat("{}\n", 100_000)} {
			path := writeFile(t, "a.jsonl."+ending, packed+junk)
			got, err := readAll(t, Default(path))
			wantError := fmt.Sprintf("%s: after line 5000: bytes behind the end of the compressed data", path)
			if err == nil || !strings.HasPrefix(err.Error(), wantError) {
				t.Errorf("%s and %.10q: %v, want %q", ending, junk, err, wantError)
			}
			wantLines(t, show(got), want)
		}
	}
	if _, err := readAll(t, Default(writeFile(t, "a.jsonl.gz", gzipped(t, plain)+"x"))); !errors.Is(err, errBehind) {
		t.Errorf("one byte behind the end: %v", err)
	}
	cut := gzipped(t, plain) + gzipped(t, plain)[:5]
	if _, err := readAll(t, Default(writeFile(t, "a.jsonl.gz", cut))); err == nil || !strings.HasSuffix(err.Error(), "the compressed file is cut short") {
		t.Errorf("a second member that is cut: %v", err)
	}
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	wide := "\x28\xb5\x2f\xfd\x00\xa0" + strings.Repeat("\x00", 20) // a window of 2^30
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no such file", Default(filepath.Join(dir, "none")), "open " + dir + "/none: no such file or directory"},
		{"a directory", Default(dir), dir + ": a directory, not a file"},
		{"unknown format", with("-", func(c *Config) { c.Stdin, c.Format = strings.NewReader(""), "xls" }),
			`stdin: format "xls": want jsonl, json, text, csv, xml`},
		{"not gzip", Default(writeFile(t, "a.gz", "{}")), "a.gz: no gz data, though the name ends in .gz"},
		{"not zstd", Default(writeFile(t, "a.zst", "")), "a.zst: no zst data, though the name ends in .zst"},
		{"window too large", Default(writeFile(t, "b.zst", wide)),
			"b.zst: zstd: a window of 1073741824 bytes, and the limit is 268435456: unpack it first, as in zstd -dc --long=31 FILE | refrain detect -"},
	}
	for _, test := range tests {
		f, err := Open(test.cfg)
		if err == nil {
			t.Errorf("%s: opened", test.name)
			_ = f.Close()
		} else if !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: error %q, want %q", test.name, err, test.want)
		}
	}
}

// TestProgress: what progress shows is known while the file is read.
func TestProgress(t *testing.T) {
	plain, _ := generatePosts(5000)
	content := gzipped(t, plain)
	f, err := Open(with(writeFile(t, "a.gz", content), func(c *Config) { c.BatchPosts = 7 }))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := f.Next(t.Context())
	if err != nil || len(b.Posts) != 7 || f.Lines() != 7 {
		t.Fatalf("first batch: %d posts, %d lines, %v; want 7", len(b.Posts), f.Lines(), err)
	}
	for err == nil {
		_, err = f.Next(t.Context())
	}
	if err != io.EOF || f.Lines() != 5000 || f.BytesRead() != int64(len(content)) || f.Size() != int64(len(content)) {
		t.Errorf("at the end (%v): %d lines, %d bytes of %d; want 5000 and %d", err, f.Lines(), f.BytesRead(), f.Size(),
			len(content))
	}
	if f.Memory() != gzipMemory {
		t.Errorf("gzip holds %d", f.Memory())
	}
}

// TestCancelled: a cancelled call says so, and does not end the file.
func TestCancelled(t *testing.T) {
	f, err := Open(Default(writeFile(t, "a.jsonl", validLine("1"))))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Next(ctx)
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	b, err := f.Next(t.Context())
	if err != nil || len(b.Posts) != 1 {
		t.Errorf("afterwards: %d posts, %v", len(b.Posts), err)
	}
}

// TestPipe: posts are handed on as they come, not when a batch is full.
func TestPipe(t *testing.T) {
	r, w := io.Pipe()
	next := make(chan bool)
	go func() {
		for _, id := range []string{"1", "2"} {
			_, _ = io.WriteString(w, validLine(id))
			<-next
		}
		_ = w.Close()
	}()
	f, err := Open(with("-", func(c *Config) { c.Stdin = r }))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		b, err := f.Next(t.Context())
		if err != nil || len(b.Posts) != 1 || b.Posts[0].ID != id {
			t.Fatalf("got %v, %v; want post %s alone", b.Posts, err, id)
		}
		next <- true
	}
	_, err = f.Next(t.Context())
	if err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestBatchBytes: batches of large posts go out early.
func TestBatchBytes(t *testing.T) {
	line := `{"id":"1","text":"` + strings.Repeat("x", feed.MaxText) + "\"}\n"
	f, err := Open(with("-", func(c *Config) { c.Stdin = strings.NewReader(strings.Repeat(line, 20)) }))
	if err != nil {
		t.Fatal(err)
	}
	f.live = false // or each batch would end with the buffer
	b, err := f.Next(t.Context())
	if err != nil || len(b.Posts) != batchBytes/feed.MaxText {
		t.Errorf("%d posts of 1 MiB in a batch (%v), want %d", len(b.Posts), err, batchBytes/feed.MaxText)
	}
}
