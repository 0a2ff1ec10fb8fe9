// Package atomicfile replaces files whole: whoever reads one, or a machine that stops, finds the old content or the new.
//
// google/renameio does the same but for the folder, whose entry is not durable without a sync of its own, and puts what
// is not finished elsewhere, where the owner of the folder cannot find it after a crash.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Unfinished is the pattern of the names, in the same folder, of files that a crash may leave behind.
const Unfinished = ".unfinished-*"

// Write makes the file at path of what write writes, with the permissions of mode. It is durable on return. After an
// error the old file is there as before.
func Write(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	f, err := create(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// Check says why no file can be written into a folder.
func Check(folder string) error {
	f, err := create(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func create(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, Unfinished)
	if err != nil {
		return nil, fmt.Errorf("cannot write a file in %s: %w", folder, errors.Unwrap(err))
	}
	return f, nil
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
