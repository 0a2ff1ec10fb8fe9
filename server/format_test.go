package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"refrain/internal/datadir"
)

// TestNewerDirectoryIsLeftAlone: what a newer program has written is refused, and nothing is touched there.
func TestNewerDirectoryIsLeftAlone(t *testing.T) {
	cfg := Default()
	cfg.DataDir, cfg.HTTP, cfg.Logger = t.TempDir(), "127.0.0.1:0", slog.New(slog.DiscardHandler)
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "FORMAT"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second) // it is not to serve
	defer stop()
	var newer *datadir.FormatError
	if err := s.Run(ctx); !errors.As(err, &newer) || newer.Format != 2 {
		t.Errorf("the end of the server: %v", err)
	}
	if got := names(t, cfg.DataDir); !slices.Equal(got, []string{".", "FORMAT"}) {
		t.Errorf("the directory has %q", got)
	}
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
