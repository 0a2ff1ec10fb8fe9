package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"refrain/internal/datadir"
	"refrain/topic/jetstream"
)

// TestNewerDirectoryIsLeftAlone: what a newer program has written is refused, and nothing is touched there.
func TestNewerDirectoryIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var newer *datadir.FormatError
	if err := refused(t, dir); !errors.As(err, &newer) || newer.Format != 2 {
		t.Errorf("the end of the server: %v", err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{".", "FORMAT", "refrain.lock"}) {
		t.Errorf("the directory has %q", got)
	}
}

// TestDirectoryInUseIsLeftAlone: of two that start at once in a directory without a format, only who has its lock writes.
func TestDirectoryInUseIsLeftAlone(t *testing.T) {
	storage := jetstream.Default()
	storage.Dir = t.TempDir()
	first, err := jetstream.Start(storage) // it has the lock, and has claimed nothing
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	var inUse *jetstream.InUseError
	if err := refused(t, storage.Dir); !errors.As(err, &inUse) {
		t.Errorf("the end of the server: %v", err)
	}
	if got := names(t, storage.Dir); slices.Contains(got, "FORMAT") {
		t.Error("the second one has claimed the directory")
	}
}

// refused is why a server does not serve.
func refused(t *testing.T, dir string) error {
	t.Helper()
	cfg := testConfig(t)
	cfg.DataDir = dir
	s := mustNew(t, cfg)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second) // it is not to serve
	defer stop()
	return s.Run(ctx)
}

// TestDirectoriesHaveTheirFormat: also those that are made.
func TestDirectoriesHaveTheirFormat(t *testing.T) {
	s := mustRun(t)
	if got := names(t, s.cfg.DataDir); !slices.Contains(got, "FORMAT") {
		t.Errorf("the directory has %q", got)
	}
}

// names are those of the files below a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		all = append(all, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
