package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/ingest/mapping"
	"refrain/server"
)

func mustWrite(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "refrain.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantParts checks that an error is there and says everything a person needs.
func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestLoadWithoutFile(t *testing.T) {
	got, err := Load("", []string{"HOME=/root", "PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(server.Default(), got); diff != "" {
		t.Errorf("not the defaults:\n%s", diff)
	}
}

func TestLoadEmptyFile(t *testing.T) {
	for _, content := range []string{"", "# nothing\n", "---\n"} {
		got, err := Load(mustWrite(t, content), nil)
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		if diff := cmp.Diff(server.Default(), got); diff != "" {
			t.Errorf("%q: not the defaults:\n%s", content, diff)
		}
	}
}

// TestFileChangesWhatItNames and nothing beside it, also in a section that it names in part.
func TestFileChangesWhatItNames(t *testing.T) {
	got, err := Load(mustWrite(t, `
http: 127.0.0.1:9000
window: {span: 7d, threshold: 2/3, budget: 1.5GiB}
ingest:
  files:
    - {path: a.jsonl, map: "text=body", source: x}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := server.Default()
	want.HTTP = "127.0.0.1:9000"
	want.Window.Span, want.Window.Threshold, want.Window.Budget = 7*24*time.Hour, "2/3", 3<<29
	want.Ingest.Files = []server.File{{Path: "a.jsonl", Config: mapping.Config{Map: "text=body"}, Source: "x"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnknownKeyIsNamedWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, content, key, line string }{
		{"top", "http: x\ntreshold: 0.5\n", "treshold", "line 2"},
		{"in a section", "window:\n  span: 24h\n  treshold: 0.5\n", "treshold", "line 3"},
		{"deep", "ingest:\n  bluesky:\n    enable: true\n", "ingest.bluesky.enable is no setting", "line 3"},
		{"in a list", "ingest:\n  files:\n    - path: a\n      fromat: csv\n", "fromat", "line 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := mustWrite(t, c.content)
			_, err := Load(path, nil)
			wantParts(t, err, path, c.key, c.line)
		})
	}
}

func TestAllUnknownKeysAreNamed(t *testing.T) {
	_, err := Load(mustWrite(t, "htpp: x\nwindow: {spam: 1}\n"), nil)
	wantParts(t, err, "htpp", "line 1", "spam", "line 2")
}

func TestBadValuesInFile(t *testing.T) {
	for _, c := range []struct{ content, value string }{
		{"window: {span: 7 weeks}", "7 weeks"},
		{"window: {budget: 64XB}", "64XB"},
		{"window: {min_tokens: many}", "many"},
		{"window: {texts: perhaps}", "perhaps"},
		{"window: {max_matches: 0.5}", "line 1: window.max_matches: `0.5`: want a whole number"},
		{"window:\n  span: 7 weeks", "line 2: window.span: duration"},
		{"workers: 2\n---\nworkers: 3\n", "line 2: a second document"},
		{"window: {budget: 0.5}", "window.budget: size \"0.5\""},
		{"workers: 2\ntopics:\n  partitions: 4.7\n", "line 3: topics.partitions: `4.7`: want a whole number"},
		{"window: [1, 2]", "line 1"},
		{"window: {span", "line 1"},
		{"workers: 2\nworkers: 3", "line 2"},
	} {
		_, err := Load(mustWrite(t, c.content), nil)
		wantParts(t, err, "configuration", c.value)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	wantParts(t, err, "none.yaml", "no such file")
}

// A file without an end is no configuration, and does not take all memory.
func TestEndlessFile(t *testing.T) {
	_, err := Load("/dev/zero", nil)
	wantParts(t, err, "/dev/zero", "more than 16")
}

func TestEnvironmentOverridesFile(t *testing.T) {
	path := mustWrite(t, "http: 127.0.0.1:9000\nworkers: 3\nwindow: {span: 48h}\n")
	got, err := Load(path, []string{
		"REFRAIN_HTTP=127.0.0.1:9001", "REFRAIN_WINDOW_SPAN=7d", "REFRAIN_WINDOW_BUDGET=64MB", "REFRAIN_WINDOW_TEXTS=false",
		"REFRAIN_INGEST_BLUESKY_ENABLED=true", "REFRAIN_NAME=a=b", "REFRAIN_TOPICS_PARTITIONS=8", "REFRAIN_DATA=/elsewhere",
		"REFRAIN_DEV=/cache", "REFRAIN_BEFORE=refrain", "REFRAIN_PROGRESS=/progress", "REFRAIN_TEST_KAFKA=127.0.0.1:9092",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := server.Default()
	want.HTTP, want.Workers, want.Name, want.Topics.Partitions = "127.0.0.1:9001", 3, "a=b", 8
	want.Window.Span, want.Window.Budget, want.Window.Texts = 7*24*time.Hour, 64_000_000, false
	want.Ingest.Bluesky.Enabled = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDeviceIsANumberOrSeveral: quotes are not needed for either.
func TestDeviceIsANumberOrSeveral(t *testing.T) {
	for written, want := range map[string]string{"1": "1", "0,2": "0,2", "all": "all", `"0, 1"`: "0, 1"} {
		got, err := Load(mustWrite(t, "window: {engine: cuda, cuda: {device: "+written+", budget: 40GB}}\n"), nil)
		if strings.Contains(written, ",") { // in braces a comma ends a value
			got, err = Load(mustWrite(t, "window:\n  engine: cuda\n  cuda:\n    device: "+written+"\n    budget: 40GB\n"), nil)
		}
		if c := got.Window.CUDA; err != nil || c.Device != want || c.Budget != 40e9 {
			t.Errorf("%s: %+v, %v", written, c, err)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", written, err)
		}
	}
}

// TestEveryScalarHasAVariable, with a name that follows from its key.
func TestEveryScalarHasAVariable(t *testing.T) {
	for _, name := range []string{
		"REFRAIN_DATA_DIR=d", "REFRAIN_LOG_LEVEL=debug", "REFRAIN_LOG_FORMAT=json", "REFRAIN_WINDOW_THRESHOLD=1",
		"REFRAIN_WINDOW_LATENESS=1s", "REFRAIN_WINDOW_MIN_TOKENS=1", "REFRAIN_WINDOW_MAX_MATCHES=0", "REFRAIN_WINDOW_ENGINE=scan",
		"REFRAIN_WINDOW_CUDA_DEVICE=0,2", "REFRAIN_WINDOW_CUDA_BUDGET=40GB", "REFRAIN_WINDOW_CUDA_KERNEL=imma",
		"REFRAIN_WINDOW_MODEL=m", "REFRAIN_WINDOW_BITS=32", "REFRAIN_WINDOW_ONES=2", "REFRAIN_TOPICS_SENTENCE_BYTES=1GB",
		"REFRAIN_TOPICS_EVENT_BYTES=1GB", "REFRAIN_TOPICS_EVENT_AGE=1h", "REFRAIN_TOPICS_SYNC=true", "REFRAIN_INGEST_BODY=1MB",
		"REFRAIN_INGEST_BLUESKY_URL=wss://x", "REFRAIN_WORKERS=7",
	} {
		got, err := Load("", []string{name})
		if err != nil {
			t.Error(err)
		} else if cmp.Equal(server.Default(), got) {
			t.Errorf("%s changes nothing", name)
		}
	}
}

func TestBadEnvironmentIsNamedAllAtOnce(t *testing.T) {
	_, err := Load("", []string{
		"REFRAIN_WINDOW_SPAM=7d", "REFRAIN_WINDOW_SPAN=7x", "REFRAIN_WORKERS=two", "REFRAIN_TOPICS_SYNC=maybe",
		"REFRAIN_INGEST_FILES=a",
	})
	wantParts(t, err, "REFRAIN_WINDOW_SPAM", "REFRAIN_WINDOW_SPAN", "7x", "REFRAIN_WORKERS", "two",
		"REFRAIN_TOPICS_SYNC", "maybe", "REFRAIN_INGEST_FILES")
}

// Every mistake of a file is told at once, each with its line, and none in the words of Go.
func TestAFilesMistakesAreToldTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "refrain.yaml")
	content := "dta_dir: x\nwindow:\n  span: 7 days\n  treshold: 0.8\n  budget: lots\n  ones: many\n  cuda:\n    device: [0, 1]\n  texts: maybe\nlog: 1\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path, nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"line 1: dta_dir is no setting", "line 3: window.span: duration", "line 4: window.treshold is no setting",
		"line 5: window.budget: size", "line 6: window.ones: `many`: want a whole number",
		"line 8: window.cuda.device: want a text", "line 9: window.texts: `maybe`: want true or false", "line 10: log: want a section",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "type server") {
		t.Errorf("%q speaks of Go types", err)
	}
}

// TestModelHasASizeOfItsOwn: bits and ones are of hashed codes; with others they would say what is not so.
func TestModelHasASizeOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		model      string
		bits, ones int
		valid      bool
	}{
		{"default", 64, 1, true}, {"default", 32, 1, false}, {"default", 64, 2, false}, {"posts.model", 128, 1, false},
		{"posts.model", 64, 1, true}, {"md5", 32, 2, true}, {"", 128, 4, true},
	} {
		w := server.Default()
		w.Window.Model, w.Window.Bits, w.Window.Ones = c.model, c.bits, c.ones
		if err := w.Validate(); (err == nil) != c.valid {
			t.Errorf("%+v: %v", c, err)
		} else if err != nil && !strings.Contains(err.Error(), "window.model: "+c.model+" has bits and ones of its own") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestAliases: what stands in two places is read for each, and checked in each.
func TestAliases(t *testing.T) {
	got, err := Load(mustWrite(t, `
name: &s 24h
window: {span: *s, lateness: ~, budget: }
models: {every: *s}
topics: {<<: [{event_age: 7d}, {sentence_bytes: 1.5GiB}], event_bytes: null}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := server.Default()
	want.Name, want.Window.Span, want.Models.Every = "24h", 24*time.Hour, 24*time.Hour
	want.Topics.EventAge, want.Topics.SentenceBytes = 7*24*time.Hour, 3<<29
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBadAliases(t *testing.T) {
	for content, what := range map[string]string{
		"window: &w\n  <<: *w\n":                              "anchor 'w' value contains itself",
		"window:\n  <<: [{spam: 7}]\n":                        "line 2: window.spam is no setting",
		"ingest: {files: [{<<: [{path: a, fromat: csv}]}]}\n": "ingest.files.fromat is no setting",
		"window: {<<: [{min_tokens: 4.5}]}\n":                 "`4.5`: want a whole number",
		"window: {span: [1, 2]}\n":                            "want a time such as",
		"window: {budget: [1]}\n":                             "want a size such as",
		"name: &a [x,x,x,x,x,x,x,x,x,x]\nhttp: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" +
			"log: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nauth: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"topics: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n": "the aliases stand for more than",
	} {
		_, err := Load(mustWrite(t, content), nil)
		wantParts(t, err, what)
	}
}
