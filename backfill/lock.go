package backfill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"refrain/internal/atomicfile"
)

// Two locks end with the process that has them, however that ends: one of the folder, for as long as somebody begins or ends, and
// one of each part, while somebody works on it. Who ends with the last slice removes both files, so a lock counts only while its
// file is the one that has its name.

// lockFolder waits until nobody else begins or ends.
func (d directory) lockFolder() (unlock func(), err error) {
	for {
		err := os.MkdirAll(d.work(), 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // it was removed before MkdirAll could look at it
		}
		if err != nil {
			return nil, err
		}
		f, err := lockFile(filepath.Join(d.work(), "lock"), syscall.LOCK_EX)
		if errors.Is(err, errRemoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return func() { _ = f.Close() }, nil
	}
}

// lockPart keeps a second process from the same part. It is called with the folder locked.
func (d directory) lockPart() (unlock func(), err error) {
	f, err := lockFile(filepath.Join(d.part, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s: another process is at work on these slices", d.out)
	}
	if err != nil {
		return nil, err
	}
	if err := wipe(d.scratch()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// errRemoved says that somebody has removed the file of a lock meanwhile.
var errRemoved = errors.New("the lock was removed")

func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errRemoved // with its folder
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !isNamed(f, path) {
		return nil, errors.Join(errRemoved, f.Close())
	}
	return f, nil
}

// isNamed reports whether a file is still the one at path.
func isNamed(f *os.File, path string) bool {
	here, err := f.Stat()
	there, errThere := os.Stat(path)
	return errors.Join(err, errThere) == nil && os.SameFile(here, there)
}

// clean removes what is not needed once all slices are finished, with the folder locked.
func (d directory) clean() error { return errors.Join(os.RemoveAll(d.part), d.sweep()) }

// isClean reports whether there is nothing to be swept.
func (d directory) isClean() bool {
	_, err := os.Lstat(d.work())
	return errors.Is(err, fs.ErrNotExist) && len(mustGlob(d.out, atomicfile.Unfinished)) == 0
}

// sweep removes what a folder that is complete needs no more, also what a process has left that was killed, with the folder
// locked. A part that is still at work removes its own.
func (d directory) sweep() error {
	err := errors.Join(d.removeHalves(), os.RemoveAll(d.idsFolder()), os.RemoveAll(d.settings()))
	for _, path := range mustGlob(d.work(), "part-*") {
		f, lockErr := lockFile(filepath.Join(path, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
		if lockErr == nil {
			err = errors.Join(err, os.RemoveAll(path), f.Close())
		}
	}
	return errors.Join(err, d.removeEmpty())
}

// removeHalves removes what a process that was killed has left of files that are replaced whole, with the folder locked: nobody
// else writes one there then.
func (d directory) removeHalves() error {
	var errs []error
	for _, path := range append(mustGlob(d.out, atomicfile.Unfinished), mustGlob(d.work(), atomicfile.Unfinished)...) {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// removeEmpty removes the work folder, unless another part has something in it, with the folder locked.
func (d directory) removeEmpty() error {
	if parts := mustGlob(d.work(), "part-*"); len(parts) > 0 {
		return nil
	}
	err := errors.Join(os.RemoveAll(d.idsFolder()), os.RemoveAll(d.settings()), os.RemoveAll(filepath.Join(d.work(), "lock")))
	_ = os.Remove(d.work()) // unless somebody begins just now
	return err
}
