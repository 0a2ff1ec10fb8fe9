package damage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// TestBackupOfAFrozenServer is docs/running.md#back-up: what is copied while the process stands still, in the middle
// of whatever it does, is sound; and a server on it has all events once the posts since have come again.
func TestBackupOfAFrozenServer(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("whether all threads stand still is read from /proc: ", err)
	}
	p, posts := e2e.New(t), threes(6000)
	p.Start()
	var sent atomic.Int64
	copied := make(chan error, 1)
	backups := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	pid := p.Cmd.Process.Pid
	go func() { copied <- backUp(t, p.Dir, pid, backups, &sent) }()
	p.Feed(posts, 50, func(n int) { sent.Store(int64(n)) })
	if err := <-copied; err != nil {
		t.Fatal(err)
	}
	want := p.Events()
	if len(want) != 4000 {
		t.Fatalf("%d events, want one for the second and third of each text", len(want))
	}
	mustStop(t, p)
	for _, dir := range backups {
		if found, _ := run(t, dir); len(found) > 0 {
			t.Errorf("%v", found)
		}
		restored := on(t, dir)
		before := len(slices.Compact(restored.Events()))
		restored.Feed(posts, 500, func(int) {})
		if got := slices.Compact(restored.Events()); before == 0 || before >= len(want) || !slices.Equal(got, want) {
			t.Errorf("%d events in the backup, %d after all posts came again, want %d", before, len(got), len(want))
		}
		mustStop(t, restored)
	}
}

// threes are posts of which three in a row have one text.
func threes(n int) (lines [][]byte) {
	begin := time.Now().Add(-time.Minute)
	for i := range n {
		at := begin.Add(time.Duration(i) * time.Millisecond).Format(time.RFC3339Nano)
		lines = append(lines,
			fmt.Appendf(nil, `{"id":"p%d","created_at":%q,"text":"a%d b%[3]d c%[3]d d%[3]d e%[3]d f%[3]d."}`+"\n", i, at, i/3))
	}
	return lines
}

// backUp copies a server's directory whenever a thousand more posts are in.
func backUp(t *testing.T, dir string, pid int, backups []string, sent *atomic.Int64) error {
	for i, to := range backups {
		for sent.Load() < int64(i+1)*1000 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if err := copyFrozen(t, dir, pid, to); err != nil {
			return err
		}
	}
	return nil
}

// copyFrozen holds the process where it is for as long as copying takes.
func copyFrozen(t *testing.T, dir string, pid int, to string) (err error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() {
		if thaw := syscall.Kill(pid, syscall.SIGCONT); err == nil {
			err = thaw
		}
	}()
	for !standsStill(pid) {
		if t.Context().Err() != nil {
			return t.Context().Err()
		}
		time.Sleep(time.Millisecond)
	}
	return os.CopyFS(to, os.DirFS(dir))
}

// standsStill tells whether every thread is stopped: T behind the name in parentheses.
func standsStill(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range stats {
		stat, errRead := os.ReadFile(name)
		if i := bytes.LastIndexByte(stat, ')'); errRead != nil || i < 0 || !bytes.HasPrefix(stat[i:], []byte(") T")) {
			return false
		}
	}
	return err == nil && len(stats) > 0
}
