package bluesky

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"refrain/internal/atomicfile"
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
	return atomicfile.Write(path, 0o600, func(f io.Writer) error {
		_, err := f.Write(value)
		return err
	})
}
