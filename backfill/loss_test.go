package backfill_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"refrain/backfill"
)

// TestALostRun: a run that is not there any more is noticed, and the archive read again.
func TestALostRun(t *testing.T) {
	skipShort(t)
	files := archive(t, shuffled(diary(t, 40, 400), 1, 2)...)
	small := func(c *backfill.Config) { c.Slice, c.SortBytes, c.Workers = 24*time.Hour, 200_000, 2 }
	want := mustRun(t, config(t, files, small))
	cfg := config(t, files, small)
	stopInSlices(t, cfg)
	runs, err := filepath.Glob(filepath.Join(cfg.Out, "work", "part-*", "runs", "*.run"))
	if err != nil || len(runs) < 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if err := os.Remove(runs[len(runs)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := backfill.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("without a run: %v", err)
	}
	if got := mustRun(t, cfg); got.Posts != want.Posts || got.Events != want.Events {
		t.Errorf("%d posts, %d events, want %d, %d", got.Posts, got.Events, want.Posts, want.Events)
	}
}

// stopInSlices interrupts a backfill as soon as it is at its slices.
func stopInSlices(t *testing.T, cfg backfill.Config) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cfg.Progress = func(p backfill.Progress) {
		if !p.Gathering {
			stop()
		}
	}
	if _, err := backfill.Run(ctx, cfg); !errors.Is(err, backfill.ErrStopped) {
		t.Fatalf("interrupted: %v", err)
	}
}

// TestPartsOfAnotherContent: parts whose files differ, though their sizes and times do not, are not put together.
func TestPartsOfAnotherContent(t *testing.T) {
	files := archive(t, diary(t, 10, 100))
	cfg := config(t, files, func(c *backfill.Config) { c.Slice, c.Parts, c.Part = 24*time.Hour, 2, 1 })
	if _, err := backfill.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	alter(t, files[0])
	cfg.Part = 2
	if _, err := backfill.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "another content") {
		t.Errorf("a part of another content: %v", err)
	}
}

// alter changes a letter in a file, and neither its size nor its time.
func alter(t *testing.T, path string) {
	t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.Replace(content, []byte("e"), []byte("a"), 1)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// TestTheReasonOfTheEnd: what a gatherer cannot take is told, and not that reading was stopped for it.
func TestTheReasonOfTheEnd(t *testing.T) {
	lines := "no post\n" + strings.Repeat(`{"id":"1","created_at":"2020-01-01T00:00:00Z","text":"a b c d e"}`+"\n", 200_000)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := config(t, []string{path}, func(c *backfill.Config) { c.Strict = true })
	if _, err := backfill.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "a.jsonl:1") {
		t.Errorf("a malformed first line: %v", err)
	}
}

// TestAFirstTryBindsNothing: after a first try with wrong settings, which found nothing, the same folder takes others.
func TestAFirstTryBindsNothing(t *testing.T) {
	files := archive(t, diary(t, 3, 50))
	cfg := config(t, files)
	wrong := cfg
	wrong.Format = "csv"
	if _, err := backfill.Run(t.Context(), wrong); err == nil {
		t.Fatal("posts were read as a table")
	}
	if m := mustRun(t, cfg); m.Posts == 0 {
		t.Error("no posts")
	}
}
