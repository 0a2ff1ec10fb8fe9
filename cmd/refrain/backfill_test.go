package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

func runBackfill(t *testing.T, args ...string) (stderr string, status int) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diagnostics}
	status = m.Run(t.Context(), append([]string{"backfill"}, args...))
	if out.Len() > 0 {
		t.Errorf("on stdout: %s", &out)
	}
	return diagnostics.String(), status
}

// eventsIn are the ids of the events in a folder.
func eventsIn(t *testing.T, out string) (ids []feed.Hash) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(out, "events-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			m, err := feed.DecodeEvent(line)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// TestBackfillFlags: the flags of the window do to an archive what they do to a stream.
func TestBackfillFlags(t *testing.T) {
	skipShort(t)
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 2000)
	lines := e2e.SplitLines(slices.Clone(posts))
	slices.Reverse(lines)
	file := filepath.Join(t.TempDir(), "posts.jsonl")
	mustWriteFile(t, file, bytes.Join(lines, nil))
	for _, flags := range []string{
		"", "--threshold 0.5 --measure cosine", "--span 10d --min-tokens 1 --engine scan --bits 64 --texts=false", "--measure dice --partitions 2",
	} {
		out := filepath.Join(t.TempDir(), "found")
		args := append(strings.Fields(flags), "--slice", "30d", "--columns", "2", "--out", out, file)
		if stderr, status := runBackfill(t, args...); status != 0 || !strings.Contains(stderr, "complete: "+out+"/manifest.json") {
			t.Fatalf("%q: status %d: %s", flags, status, stderr)
		}
		got := eventsIn(t, out)
		want, _ := detectIDs(t, posts, strings.Fields(flags)...)
		if missing, extra := oracle.Diff(oracle.Sorted(slices.Clone(got)), want); len(missing)+len(extra) > 0 || len(got) != len(want) {
			t.Errorf("%q: %d events missing, %d extra, of %d", flags, len(missing), len(extra), len(want))
		}
	}
}

func mustWriteFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackfillUsage: what cannot be meant is named.
func TestBackfillUsage(t *testing.T) {
	for args, want := range map[string]string{
		"posts.jsonl":                              "--out is missing",
		"--out x":                                  "no files: name the archive's",
		"--out x --slice soon posts.jsonl":         `--slice: duration "soon"`,
		"--out x --slice 10ms posts.jsonl":         "--slice 10ms: want whole seconds",
		"--out x --slices 5/4 posts.jsonl":         `--slices "5/4": want i/n`,
		"--out x --slices 1 posts.jsonl":           `--slices "1": want i/n`,
		"--out x --slices 0/0 posts.jsonl":         `--slices "0/0": want i/n`,
		"--out x --columns 0 posts.jsonl":          "--columns 0: want 1 to 65536",
		"--out x --columns 1000000 posts.jsonl":    "--columns 1000000: want 1 to 65536\nSee 'refrain backfill --help'",
		"--out x --slice 200000d posts.jsonl":      `--slice: duration "200000d" is too large: want 100000d or less`,
		"--out x --keep last posts.jsonl":          `--keep "last": want first`,
		"--out x --coverage 0.5 posts.jsonl":       "--coverage is for --keep first",
		"--out x --events=false posts.jsonl":       "--events=false is for --keep first",
		"--out x --keep first --coverage 2 p.json": `--coverage "2": want more than 0 and at most 1`,
		"--out x --format xls posts.jsonl":         `--format "xls": want jsonl, json, text, csv, xml`,
		"--out x --measure overlap posts.jsonl":    "--measure overlap",
	} {
		if stderr, status := runBackfill(t, strings.Fields(args)...); status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, got %q, want %q in it", args, status, stderr, want)
		}
	}
}

// TestBackfillFails: what goes wrong is said with file and reason, and a run that was told to end says that it can go on.
func TestBackfillFails(t *testing.T) {
	dir := t.TempDir()
	posts := filepath.Join(dir, "posts.csv")
	mustWriteFile(t, posts, []byte("id,body\n1,a\n"))
	stderr, status := runBackfill(t, "--out", filepath.Join(dir, "a"), posts)
	if want := posts + `: after line 1: header: no column "text"`; status != exitFailure || !strings.Contains(stderr, want) {
		t.Errorf("status %d, got %q, want %q in it", status, stderr, want)
	}
	var bad strings.Builder
	for i := range 15 {
		fmt.Fprintf(&bad, "no post %d\n", i)
	}
	other := filepath.Join(dir, "posts.jsonl")
	mustWriteFile(t, other, []byte(bad.String()))
	stderr, status = runBackfill(t, "--slice", "1s", "--out", filepath.Join(dir, "b"), other)
	for _, want := range []string{other + ":10: want a JSON object", "and 5 more like " + other + ":1: want", "not one line is a post, for the reasons above"} {
		if status != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("status %d, got %q, want %q in it", status, stderr, want)
		}
	}
	for _, no := range []string{"posts.jsonl:11:", "--map", "slow:", "dead-letters.jsonl"} {
		if strings.Contains(stderr, no) {
			t.Errorf("%q in %s", no, stderr)
		}
	}
	mustWriteFile(t, other, []byte(bad.String()+`{"id":"a","text":"b"}`))
	if stderr, status := runBackfill(t, "--out", filepath.Join(dir, "b"), other); status != 0 || !strings.Contains(stderr, "all that were refused are in ") {
		t.Errorf("status %d, got %q", status, stderr)
	}
	mustWriteFile(t, filepath.Join(dir, "b", "manifest.json"), []byte("{"))
	if stderr, status := runBackfill(t, "--out", filepath.Join(dir, "b"), other); status != exitFailure ||
		!strings.Contains(stderr, "manifest.json: damaged: ") || !strings.Contains(stderr, "give another folder, or remove this one") {
		t.Errorf("status %d, got %q", status, stderr)
	}
	mustWriteFile(t, other, []byte(`{"uri":"a","body":"b"}`+"\n"))
	if stderr, status := runBackfill(t, "--out", filepath.Join(dir, "d"), other); status != exitFailure || !strings.Contains(stderr, "say so: --map text=body") {
		t.Errorf("status %d, got %q", status, stderr)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var diagnostics bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &diagnostics}
	if status := m.Run(ctx, []string{"backfill", "--out", filepath.Join(dir, "c"), other}); status != exitFailure ||
		!strings.Contains(diagnostics.String(), "interrupted: the same command goes on where this one ended") {
		t.Errorf("status %d, %s", status, &diagnostics)
	}
}

// TestBackfillShapes: posts of any shape are kept as they came, each in a line of its own if it is JSON, and what a preset leaves
// out is counted.
func TestBackfillShapes(t *testing.T) {
	const repeated = "The ferry to Roshaven leaves at noon"
	for name, c := range map[string]struct{ args, content, kept, told string }{
		"array.json": {"", "[\n{\"id\":1, \"text\":\"" + repeated + "\"},\r\n{\"id\":2,\"text\":\"" + repeated + "\"}]",
			"{\"id\":1, \"text\":\"" + repeated + "\"}\n", "array.json: read as a JSON array"},
		"semicolons.csv": {"--map id=nr", "\ufeffnr;text\r\n1;\"" + repeated + "\"\r\n2;" + repeated + "\r\n",
			"\ufeffnr;text\r\n1;\"" + repeated + "\"\r\n", "semicolons.csv: read as a table with semicolons between its columns"},
		"result.json": {"--preset telegram", `{"messages":[{"id":1,"type":"service"},{"id":2,"type":"message","date_unixtime":"1500000000",` +
			`"text":"` + repeated + `"}]}`, `{"id":2,"type":"message","date_unixtime":"1500000000","text":"` + repeated + `"}` + "\n",
			"1 other record left out, as the preset says"},
	} {
		dir := t.TempDir()
		posts := filepath.Join(dir, name)
		mustWriteFile(t, posts, []byte(c.content))
		args := append(strings.Fields(c.args), "--keep", "first", "--out", filepath.Join(dir, "out"), posts)
		stderr, status := runBackfill(t, args...)
		if status != 0 || !strings.Contains(stderr, c.told) {
			t.Errorf("%s: status %d, got %q, want %q in it", name, status, stderr, c.told)
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, "out", "posts-*")); len(kept) != 1 || string(mustReadFile(t, kept[0])) != c.kept {
			t.Errorf("%s: kept %q, want %q", name, kept, c.kept)
		}
	}
}

// TestBackfillJob runs the command line of the manifest for Kubernetes, one pod after the other.
func TestBackfillJob(t *testing.T) {
	manifest, err := os.ReadFile("../../deploy/backfill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Spec struct {
			Completions int
			Template    struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	if err := yaml.Unmarshal(manifest, &job); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "posts"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := job.Spec.Template.Spec.Containers[0].Args
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "/archive", dir)
		if strings.HasSuffix(arg, ".jsonl.zst") {
			args[i] = strings.TrimSuffix(args[i], ".zst") // to write it here
			mustWriteFile(t, args[i], []byte(wordy(i)))
		}
	}
	for pod := range job.Spec.Completions {
		of := slices.Clone(args[1:])
		for i := range of {
			of[i] = strings.ReplaceAll(of[i], "$(JOB_COMPLETION_INDEX)", fmt.Sprint(pod))
		}
		stderr, status := runBackfill(t, of...)
		if last := pod == job.Spec.Completions-1; status != 0 || last && !strings.Contains(stderr, "complete: ") {
			t.Fatalf("pod %d: status %d: %s", pod, status, stderr)
		}
	}
	if n := len(eventsIn(t, filepath.Join(dir, "found"))); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}
