package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"refrain/sigstore"
)

// TestSnapshotFolder: one of the data directory, one that is named, none, and one that cannot be made, which is no reason
// not to start. Another deployment has another.
func TestSnapshotFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data, named := t.TempDir(), t.TempDir()
	open := func(setting string, key byte) *matcher {
		n := &node{cfg: Default()}
		n.cfg.DataDir, n.cfg.Window.Snapshots, n.log, n.now = data, setting, slog.New(slog.DiscardHandler), time.Now
		n.window.AuthorKey = sigstore.AuthorKey{key}
		m := &matcher{n: n}
		if err := m.openSnapshots(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for setting, want := range map[string]bool{"": true, named: true, snapshotsOff: false, filepath.Join(file, "x"): false} {
		if m := open(setting, 0); (m.snapshots != nil) != want {
			t.Errorf("window.snapshots %q: %v", setting, m.snapshots)
		}
	}
	open("", 1)
	for dir, want := range map[string]int{filepath.Join(data, "snapshots"): 2, named: 1} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s: %v, %v: want %d folders", dir, entries, err, want)
		}
	}
}
