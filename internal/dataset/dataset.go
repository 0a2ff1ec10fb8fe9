// Package dataset finds the shared data set for tests and benchmarks.
package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// File returns the path of a file of the data set: below REFRAIN_DATA, or ../shared/data beside the repository. Where
// there is none the test is skipped and says so.
func File(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("REFRAIN_DATA")
	if dir == "" {
		dir = filepath.Join(root(tb), "..", "shared", "data")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("no data: %s is not there (set REFRAIN_DATA)", path)
	}
	return path
}

// root is the repository's: the first folder above the test's with a go.mod.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for up := ""; up != dir; {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up, dir = dir, filepath.Dir(dir)
	}
	tb.Fatal("no go.mod above the test")
	return ""
}
