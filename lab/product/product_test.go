package product

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mustWrite writes a file that can be run, or not.
func mustWrite(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
}

func TestFindNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	mustWrite(t, "old", 0o700)
	mustWrite(t, "notes", 0o600)
	b, err := Find(t.Context(), "old")
	if err != nil || !filepath.IsAbs(b.Path) || filepath.Base(b.Path) != "old" {
		t.Fatalf("%+v, %v", b, err)
	}
	b.Remove()
	if _, err := os.Stat(b.Path); err != nil {
		t.Errorf("a binary that was only found is gone: %v", err)
	}
	for name, want := range map[string]string{"new": "--refrain new: ", "notes": "--refrain notes: permission denied",
		"go": "--refrain go: "} {
		if b, err := Find(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", name, b, err, want)
		}
	}
}

// TestFindOrBuild: on PATH first, and built where nothing is there.
func TestFindOrBuild(t *testing.T) {
	folder := t.TempDir()
	mustWrite(t, filepath.Join(folder, "refrain"), 0o700)
	path := os.Getenv("PATH")
	t.Setenv("PATH", folder+string(os.PathListSeparator)+path)
	if b, err := Find(t.Context(), ""); err != nil || b.Path != filepath.Join(folder, "refrain") {
		t.Errorf("on PATH: %+v, %v", b, err)
	}
	t.Setenv("PATH", path)
	if there, err := exec.LookPath("refrain"); err == nil {
		t.Skipf("there is %s on PATH", there)
	}
	b, err := Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(b.Path, "version").Output()
	if err != nil || !strings.HasPrefix(string(said), "refrain ") {
		t.Errorf("%v: %s", err, said)
	}
	b.Remove()
	if _, err := os.Stat(filepath.Dir(b.Path)); !os.IsNotExist(err) {
		t.Errorf("what was built is still there: %v", err)
	}
}

// TestFindNothing: away from the source, the error says what to do.
func TestFindNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "")
	_, err := Find(t.Context(), "")
	for _, want := range []string{"no refrain to measure", "none on PATH", "--refrain FILE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
