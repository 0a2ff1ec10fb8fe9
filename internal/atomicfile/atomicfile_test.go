package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// left counts what unfinished files are in a folder.
func left(t *testing.T, folder string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, Unfinished))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"old", "new"} {
		err := Write(path, 0o640, func(w io.Writer) error { _, err := io.WriteString(w, content); return err })
		if err != nil || mustRead(t, path) != content {
			t.Errorf("%v, got %q, want %q", err, mustRead(t, path), content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 || left(t, filepath.Dir(path)) > 0 {
		t.Errorf("%v, %v, %d files left", err, info.Mode(), left(t, filepath.Dir(path)))
	}
}

// TestWriteFails: the old file stays, and nothing beside it.
func TestWriteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no room")
	err := Write(path, 0o600, func(w io.Writer) error { _, _ = io.WriteString(w, "ne"); return full })
	if !errors.Is(err, full) || mustRead(t, path) != "old" || left(t, filepath.Dir(path)) > 0 {
		t.Errorf("%v, %q, %d files left", err, mustRead(t, path), left(t, filepath.Dir(path)))
	}
	folder := filepath.Join(path, "none")
	if err := Write(filepath.Join(folder, "x"), 0o600, func(io.Writer) error { return nil }); err == nil {
		t.Error("no error where there is no folder")
	}
	if err := Check(folder); err == nil {
		t.Error("a folder that is a file can be written")
	}
	if err := Check(filepath.Dir(path)); err != nil || left(t, filepath.Dir(path)) > 0 {
		t.Error(err)
	}
}
