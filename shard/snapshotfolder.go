package shard

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"refrain/internal/atomicfile"
)

// SnapshotFolder is a directory of snapshots, which may lie on a network file system: files appear by a rename, nothing is
// locked, and nothing is mapped into memory.
type SnapshotFolder struct{ path string }

var _ SnapshotFiles = (*SnapshotFolder)(nil)

// unfinishedAge is how old a file is that nobody finishes any more.
const unfinishedAge = time.Hour

// OpenSnapshotFolder opens a directory, which is made if there is none, and removes what a crash has left of unfinished files.
func OpenSnapshotFolder(path string) (*SnapshotFolder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	if err := atomicfile.Check(path); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(path, atomicfile.Unfinished))
	if err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	for _, file := range left {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > unfinishedAge {
			_ = os.Remove(file) // another process may have
		}
	}
	return &SnapshotFolder{path}, nil
}

// Names implements SnapshotFiles.
func (f *SnapshotFolder) Names() (names []string, err error) {
	entries, err := os.ReadDir(f.path)
	for _, e := range entries {
		if e.Type()&fs.ModeType == 0 {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Write implements SnapshotFiles.
func (f *SnapshotFolder) Write(name string, write func(io.Writer) error) error {
	return atomicfile.Write(filepath.Join(f.path, name), 0o600, write)
}

// Open implements SnapshotFiles. What is no file is not opened: a pipe would be waited for.
func (f *SnapshotFolder) Open(name string) (io.ReadCloser, error) {
	path := filepath.Join(f.path, filepath.Base(name))
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is no regular file", path)
	}
	return os.Open(path)
}

// Link implements SnapshotFiles.
func (f *SnapshotFolder) Link(from, to string) error {
	return os.Link(filepath.Join(f.path, filepath.Base(from)), filepath.Join(f.path, to))
}

// Remove implements SnapshotFiles.
func (f *SnapshotFolder) Remove(name string) error { return os.Remove(filepath.Join(f.path, name)) }
