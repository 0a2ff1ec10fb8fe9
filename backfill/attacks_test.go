package backfill_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"refrain/backfill"
	"refrain/feed"
	"refrain/ingest"
)

// TestSlicesEndBehindAllTimes: a slice may end later than any post can be of, and is finished all the same; after it was, nothing
// is done again.
func TestSlicesEndBehindAllTimes(t *testing.T) {
	last := []byte(`{"id":"c","text":"what is this","created_at":"2100-12-31T23:00:00Z"}` + "\n")
	for _, slice := range []time.Duration{7 * 24 * time.Hour, 99_999 * 24 * time.Hour, 106_751 * 24 * time.Hour} {
		cfg := config(t, archive(t, append(diary(t, 4, 50), last...)), func(c *backfill.Config) { c.Slice = slice })
		checkManifest(t, cfg, mustRun(t, cfg))
		cfg.Progress = func(p backfill.Progress) { t.Errorf("slices of %v: done again: %+v", slice, p) }
		checkManifest(t, cfg, mustRun(t, cfg))
	}
}

// TestUnreadableReport: a report that is whole and cannot be read is an error that says where, and not a slice to be done again;
// one that a crash has cut is none.
func TestUnreadableReport(t *testing.T) {
	for line, want := range map[string]string{
		`{"start":"1970-01-01T00:00:00Z","posts":"many"}`: "work/part-1-of-2/finished.jsonl:",
		`{"start":"1970-01-01T00:00:00Z","pos`:            "",
		strings.Repeat("\x00", 100):                       "",
	} {
		cfg := config(t, archive(t, diary(t, 4, 50)), func(c *backfill.Config) { c.Slice, c.Part, c.Parts = 24*time.Hour, 1, 2 })
		mustRun(t, cfg)
		journal := filepath.Join(cfg.Out, "work", "part-1-of-2", "finished.jsonl")
		mustAppend(t, journal, "\n"+line+"\n")
		cfg.Part = 2
		if want == "" {
			checkManifest(t, cfg, mustRun(t, cfg))
		} else {
			refused(t, cfg, want)
		}
	}
}

func mustAppend(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
}

// TestLostWhileAtWork: what a part has worked on and is not finished is an error, and not another's slice.
func TestLostWhileAtWork(t *testing.T) {
	for parts := 1; parts <= 2; parts++ {
		cfg := config(t, archive(t, diary(t, 4, 50)), func(c *backfill.Config) { c.Slice, c.Parts, c.Workers = 24*time.Hour, parts, 1 })
		lost := cfg
		lost.Progress = func(p backfill.Progress) {
			for _, path := range eventFiles(cfg.Out) {
				_ = os.Remove(path)
			}
		}
		refused(t, lost, "not finished, though it was worked on")
		if m := mustRun(t, cfg); parts == 1 {
			checkManifest(t, cfg, m)
		}
	}
}

func eventFiles(out string) []string {
	paths, _ := filepath.Glob(filepath.Join(out, "events-*"))
	return paths
}

// TestLettersOfNoSlice: the first part writes the dead letters, though another was before it and left it no slices.
func TestLettersOfNoSlice(t *testing.T) {
	const posts = `{"id":"a","text":"one two three four five","created_at":"1971-06-01T00:00:00Z"}` + "\nno post\n"
	for _, parts := range []int{1, 2} {
		cfg := config(t, archive(t, []byte(posts)), func(c *backfill.Config) { c.Slice, c.Part, c.Parts = 365*24*time.Hour, 2, 2 })
		if m := mustRun(t, cfg); m.Complete || len(m.Slices) != 1 {
			t.Fatalf("complete: %t, %d slices", m.Complete, len(m.Slices))
		}
		cfg.Part, cfg.Parts = 1, parts
		m := mustRun(t, cfg)
		checkManifest(t, cfg, m)
		if m.DeadLetters == nil || m.DeadLetters.Lines != 1 {
			t.Errorf("1/%d: dead letters: %+v", parts, m.DeadLetters)
		}
	}
}

// TestFirstTry: a first run that finds no posts, since its settings are wrong, leaves the folder to the next.
func TestFirstTry(t *testing.T) {
	posts := []byte(`{"uri":"a","body":"one two three four five"}` + "\n" + `{"uri":"b","body":"one two three four five"}` + "\n")
	cfg := config(t, archive(t, posts), func(c *backfill.Config) {
		c.Slice = time.Second
		c.Estimate = func(e backfill.Estimate) { t.Errorf("an estimate of no posts: %+v", e) }
	})
	if _, err := backfill.Run(context.Background(), cfg); !errors.Is(err, backfill.ErrNoPosts) {
		t.Fatal(err)
	}
	var err error
	if cfg.Fields, err = feed.ParseFields("text=body,id=uri"); err != nil {
		t.Fatal(err)
	}
	cfg.Map, cfg.Slice, cfg.Estimate = "text=body,id=uri", 24*time.Hour, func(backfill.Estimate) {}
	m := mustRun(t, cfg)
	checkManifest(t, cfg, m)
	if _, err := os.Stat(filepath.Join(cfg.Out, "dead-letters.jsonl")); m.Events != 1 || err == nil {
		t.Errorf("%d events, want 1; of dead letters: %v", m.Events, err)
	}
}

// TestGrowing: a file that grows, or is cut, between being looked at and its end is refused, and the folder is free again.
func TestGrowing(t *testing.T) {
	for want, change := range map[string]func(path string){
		"posts-1.jsonl grew while it was read, from ":    func(path string) { mustAppend(t, path, string(diary(t, 3, 1))) },
		"posts-1.jsonl was cut while it was read, from ": func(path string) { mustWrite(t, path, nil) },
	} {
		files := archive(t, diary(t, 2, 50), diary(t, 2, 10))
		cfg := config(t, files)
		var once sync.Once
		changed := cfg
		changed.Note = func(*ingest.Batch) { once.Do(func() { change(files[1]) }) } // while the first is read
		refused(t, changed, want)
		checkManifest(t, cfg, mustRun(t, cfg))
	}
}

// TestReadToTheEnd: of files of any kind, larger than what is read at once, every byte is read: none seems cut.
func TestReadToTheEnd(t *testing.T) {
	skipShort(t)
	lines := diary(t, 20, 500)
	array := "[" + strings.ReplaceAll(strings.TrimSpace(string(lines)), "\n", ",\n") + "]" + strings.Repeat("\n", 200_000)
	var gzipped, zstded bytes.Buffer
	g := gzip.NewWriter(&gzipped)
	z, err := zstd.NewWriter(&zstded)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{g, z} {
		if _, err := w.Write(lines); errors.Join(err, w.Close()) != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string][]byte{
		"a.jsonl": lines, "a.json": []byte(array), "a.jsonl.gz": gzipped.Bytes(), "a.jsonl.zst": zstded.Bytes(),
	} {
		path := filepath.Join(t.TempDir(), name)
		mustWrite(t, path, b)
		if m := mustRun(t, config(t, []string{path})); m.Posts != 20*500 {
			t.Errorf("%s: %d posts", name, m.Posts)
		}
	}
}

// TestUnfinishedWrites: what a kill left of files that are replaced whole is removed by the next run, also by one that finds
// all done.
func TestUnfinishedWrites(t *testing.T) {
	cfg := config(t, archive(t, diary(t, 4, 50)))
	for round := range 2 {
		var planted []string
		for _, folder := range []string{cfg.Out, filepath.Join(cfg.Out, "work")} {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if round == 0 && folder == cfg.Out {
				continue // nothing is written there before there are slices
			}
			planted = append(planted, filepath.Join(folder, ".unfinished-123"))
			mustWrite(t, planted[len(planted)-1], []byte("{"))
		}
		checkManifest(t, cfg, mustRun(t, cfg))
		for _, path := range append(planted, filepath.Join(cfg.Out, "work")) {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("round %d: %s is left", round, path)
			}
		}
	}
}

// TestSameColumns: tables whose headers differ in quotes have the same columns; those with other separators have not.
func TestSameColumns(t *testing.T) {
	for header, same := range map[string]bool{
		"id,text\n": true, "\"id\",\"text\"\r\n": true, "\ufeff\"id\",text\n": true, "": true, "id;text\n": false, "text,id\n": false, "id,\"text \"\n": false,
	} {
		dir := t.TempDir()
		var files []string
		for i, h := range []string{"id,text\n", header} {
			files = append(files, filepath.Join(dir, fmt.Sprintf("%d.csv", i)))
			row := fmt.Sprintf("%d,post number%d\n", i, i)
			if h == "" {
				row = ""
			}
			mustWrite(t, files[i], []byte(h+strings.ReplaceAll(row, ",", separatorOf(h))))
		}
		_, err := backfill.Run(context.Background(), config(t, files, func(c *backfill.Config) { c.KeepFirst = true }))
		if (err == nil) != same {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func separatorOf(header string) string {
	if strings.Contains(header, ";") {
		return ";"
	}
	return ","
}

// TestNameWithBrackets: a folder may be called as a pattern is written.
func TestNameWithBrackets(t *testing.T) {
	for _, name := range []string{"found[1]", "found[", "*"} {
		cfg := config(t, archive(t, diary(t, 4, 50)), func(c *backfill.Config) { c.Slice, c.SortBytes = 24*time.Hour, 1000 })
		cfg.Out = filepath.Join(t.TempDir(), name)
		if m := mustRun(t, cfg); !m.Complete {
			t.Errorf("%s: not complete", name)
		}
	}
}
