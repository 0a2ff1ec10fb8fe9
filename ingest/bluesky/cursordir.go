package bluesky

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CursorDir is a directory that keeps cursors, each in a file named after its key.
type CursorDir string

var _ Cursors = CursorDir("")

func (d CursorDir) path(key string) (string, error) {
	if !filepath.IsLocal(key) || filepath.Base(key) != key {
		return "", fmt.Errorf("cursor %q: not a file name", key)
	}
	return filepath.Join(string(d), key+".cursor"), nil
}

// Get implements Cursors.
func (d CursorDir) Get(_ context.Context, key string) ([]byte, error) {
	path, err := d.path(key)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Put implements Cursors: the file is replaced whole, and durable on return.
func (d CursorDir) Put(_ context.Context, key string, value []byte) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(string(d), key+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing left of that name
	_, err = f.Write(value)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(string(d))
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
