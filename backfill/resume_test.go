package backfill_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"refrain/backfill"
	"refrain/feed"
	"refrain/internal/e2e"
)

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestMain runs tests, or a backfill of files into a folder where a test asks for a process that it can kill.
func TestMain(m *testing.M) {
	if os.Getenv(asProcess) == "" {
		os.Exit(m.Run())
	}
	cfg := backfill.Default()
	cfg.Out, cfg.Files, cfg.Slice, cfg.Workers, cfg.KeepFirst = os.Args[1], os.Args[2:], 24*time.Hour, 2, true
	cfg.SortBytes, _ = strconv.Atoi(os.Getenv(asProcess))
	if _, err := backfill.Run(context.Background(), cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// asProcess has the bytes that such a process sorts at once.
const asProcess = "RUN_REFRAIN_BACKFILL"

// diary is a feed by days in which posts repeat those of the day before.
func diary(t testing.TB, days, perDay int) []byte {
	var posts []feed.Post
	for day := range days {
		for i := range perDay {
			posts = append(posts, feed.Post{
				ID: fmt.Sprintf("%d-%d", day, i), Time: feed.Time(day)*86400_000 + feed.Time(i)*1000,
				Text: fmt.Sprintf("word%d of every day%d goes on and on%d", i%97, i%89, day/2),
			})
		}
	}
	return asJSON(t, posts)
}

// TestKilled: a process is killed while slices are finished, again and again, whether its posts are in runs or in memory. What
// was finished stays as it is, and in the end there is what there is without.
func TestKilled(t *testing.T) {
	skipShort(t)
	for name, sortBytes := range map[string]int{"in runs": 200_000, "in memory": 128 << 20} {
		t.Run(name, func(t *testing.T) { testKilled(t, sortBytes) })
	}
}

func testKilled(t *testing.T, sortBytes int) {
	files := archive(t, shuffled(diary(t, 40, 400), 1, 2)...)
	calm := config(t, files, func(c *backfill.Config) { c.Slice, c.KeepFirst = 24*time.Hour, true })
	mustRun(t, calm)
	out := filepath.Join(t.TempDir(), "out")
	stamps := map[string]time.Time{}
	for slices := 0; slices < 35; slices += 7 {
		kill(t, out, files, sortBytes, slices+1)
		runs, _ := filepath.Glob(filepath.Join(out, "work", "part-1-of-1", "runs", "*.run"))
		if inRuns := sortBytes < 128<<20; len(finished(out)) > 0 && inRuns != (len(runs) > 0) {
			t.Errorf("%d runs, with %d bytes sorted at once", len(runs), sortBytes)
		}
		sameFiles(t, out, stamps)
	}
	cfg := calm
	cfg.Out = out
	m := mustRun(t, cfg)
	sameFiles(t, out, stamps)
	checkManifest(t, cfg, m)
	if len(stamps) < 5 {
		t.Errorf("%d slices were finished before a kill: nothing was tried", len(stamps))
	}
	for _, kind := range []string{"events-*", "posts-*"} {
		if got, want := contents(t, out, kind), contents(t, calm.Out, kind); !bytes.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %d bytes, want the same %d", kind, len(got), len(want))
		}
	}
}

// kill starts a process and kills it when so many slices are finished.
func kill(t *testing.T, out string, files []string, sortBytes, slices int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{out}, files...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asProcess, sortBytes))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, &stderr)
			}
			return // it was faster
		case <-tick.C:
		}
		if len(finished(out)) >= slices {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			<-ended
			return
		}
	}
}

// finished are the files of events of slices that are finished.
func finished(out string) (names []string) {
	b, err := os.ReadFile(filepath.Join(out, "work", "part-1-of-1", "finished.jsonl"))
	if err != nil {
		return nil // nothing is
	}
	for line := range bytes.Lines(b) {
		var report backfill.Slice
		if json.Unmarshal(line, &report) == nil {
			names = append(names, report.Files[0].Name)
		}
	}
	return names
}

// sameFiles wants the events of slices that are finished not to have been written again.
func sameFiles(t *testing.T, out string, stamps map[string]time.Time) {
	t.Helper()
	for _, name := range finished(out) {
		info, err := os.Stat(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := stamps[name]; ok && !before.Equal(info.ModTime()) {
			t.Errorf("%s was written again", name)
		}
		stamps[name] = info.ModTime()
	}
}

// disk has room for so many bytes, of all files.
type disk struct{ room atomic.Int64 }

var errFull = errors.New("no space left on device")

func (d *disk) create(path string) (io.WriteCloser, error) {
	f, err := backfill.CreateFile(path)
	return &onDisk{f, d}, err
}

type onDisk struct {
	io.WriteCloser
	disk *disk
}

func (f *onDisk) Write(p []byte) (int, error) {
	if f.disk.room.Add(-int64(len(p))) < 0 {
		return 0, errFull
	}
	return f.WriteCloser.Write(p)
}

// TestFullDisk: wherever the disk is full, the slice is not finished, nothing of it is left, and the next run, with more room,
// does it.
func TestFullDisk(t *testing.T) {
	files := archive(t, shuffled(diary(t, 20, 300), 1, 1)...)
	week := func(c *backfill.Config) { c.Slice, c.KeepFirst, c.Columns = 24*time.Hour, true, 2 }
	calm := config(t, files, week)
	mustRun(t, calm)
	cfg := config(t, files, week)
	failed := 0
	for room := int64(200_000); ; room += 300_000 {
		d := &disk{}
		d.room.Store(room)
		m, err := backfill.Run(context.Background(), backfill.WithFiles(cfg, d.create))
		if err == nil {
			checkManifest(t, cfg, m)
			break
		}
		if failed++; !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(filepath.Join(cfg.Out, "work", "part-1-of-1", "temporary", "*"))
		if len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	}
	if got, want := contents(t, cfg.Out, "events-*"), contents(t, calm.Out, "events-*"); failed < 3 || !bytes.Equal(got, want) {
		t.Errorf("after %d runs on a full disk %d bytes of events, want the same %d", failed, len(got), len(want))
	}
}

// TestInterrupted: a run that is told to end says so, and the next one goes on.
func TestInterrupted(t *testing.T) {
	files := archive(t, diary(t, 20, 300))
	cfg := config(t, files, func(c *backfill.Config) { c.Slice = 24 * time.Hour })
	for _, during := range []bool{true, false} { // gathering
		ctx, stop := context.WithCancel(t.Context())
		cfg.Progress = func(p backfill.Progress) {
			if p.Gathering == during {
				stop()
			}
		}
		if _, err := backfill.Run(ctx, cfg); !errors.Is(err, backfill.ErrStopped) {
			t.Errorf("while gathering: %t: %v, want %v", during, err, backfill.ErrStopped)
		}
	}
	cfg.Progress = func(backfill.Progress) {}
	checkManifest(t, cfg, mustRun(t, cfg))
	compareIDs(t, events(t, cfg.Out), sortedIDs(e2e.Detect(t, diary(t, 20, 300), e2e.DefaultSettings(), nil)))
}

// TestParts: processes that share the slices, one after the other, at once, or on machines of their own, find what one finds.
func TestParts(t *testing.T) {
	files := archive(t, append(shuffled(diary(t, 30, 100), 1, 2), []byte("no post\n"))...)
	day := func(c *backfill.Config) { c.Slice, c.KeepFirst = 24*time.Hour, true }
	one := config(t, files, day)
	mustRun(t, one)
	const parts = 3
	same := func(cfg backfill.Config, m backfill.Manifest) {
		t.Helper()
		checkManifest(t, cfg, m)
		for _, kind := range []string{"events-*", "posts-*"} {
			if got, want := contents(t, cfg.Out, kind), contents(t, one.Out, kind); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, want the same %d", kind, len(got), len(want))
			}
		}
		if m.DeadLetters == nil || m.DeadLetters.Lines != 1 {
			t.Errorf("dead letters: %v", m.DeadLetters)
		}
	}
	part := func(cfg backfill.Config, i int) backfill.Config {
		cfg.Part, cfg.Parts = i, parts
		return cfg
	}
	t.Run("one after the other", func(t *testing.T) {
		cfg := config(t, files, day)
		var m backfill.Manifest
		for i := range parts {
			m = mustRun(t, part(cfg, i+1))
			if m.Complete != (i == parts-1) || len(m.Slices) != 10*(i+1) || len(m.Unfinished) != 20-10*i {
				t.Errorf("part %d: complete %t, %d slices, %d unfinished", i+1, m.Complete, len(m.Slices), len(m.Unfinished))
			}
		}
		same(cfg, m)
	})
	t.Run("at once", func(t *testing.T) {
		cfg := config(t, files, day)
		ended := make(chan error, parts)
		for i := range parts {
			go func() {
				_, err := backfill.Run(context.Background(), part(cfg, i+1))
				ended <- err
			}()
		}
		for range parts {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		cfg.Progress = func(p backfill.Progress) { t.Errorf("something was left, or done again: %+v", p) }
		same(cfg, mustRun(t, cfg))
	})
	t.Run("on machines of their own", func(t *testing.T) {
		all := config(t, files, day)
		for i := range parts {
			cfg := config(t, files, day)
			mustRun(t, part(cfg, i+1))
			if err := os.CopyFS(all.Out, os.DirFS(cfg.Out)); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
			copyMissing(t, cfg.Out, all.Out)
		}
		all.Progress = func(p backfill.Progress) { t.Errorf("something was done again: %+v", p) }
		same(all, mustRun(t, all))
	})
}

// copyMissing copies the files that are not there yet.
func copyMissing(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if _, err := os.Stat(target); err == nil {
			return nil
		}
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, b, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}
