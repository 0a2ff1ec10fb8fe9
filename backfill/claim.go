package backfill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// begin makes the folder ready for a backfill and locks this part of it, unless the folder holds another one. done: it is
// complete, and not locked.
func (d directory) begin(s Settings, files []File) (m Manifest, done bool, unlock func(), err error) {
	if err := d.check(); err != nil {
		return m, false, nil, err
	}
	if m, done, err = d.complete(s, files); done && d.isClean() || err != nil {
		return m, done, nil, err
	}
	unlockFolder, err := d.lockFolder()
	if err != nil {
		return m, false, nil, err
	}
	defer unlockFolder()
	m, done, err = d.complete(s, files) // who had the lock before may have completed it
	if done {
		return m, true, nil, d.sweep()
	}
	if err != nil {
		return m, false, nil, errors.Join(err, d.removeEmpty())
	}
	if err := errors.Join(d.removeHalves(), d.claim(s, files, &m)); err != nil {
		return m, false, nil, err
	}
	unlock, err = d.lockPart()
	return m, false, unlock, err
}

// check refuses a folder that has files of somebody else, or leads to them.
func (d directory) check() error {
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	return errors.Join(d.mustBeOurs(), d.mustHaveNoLinks())
}

// complete reports whether the folder has everything that its manifest names; the manifest of another backfill is an error.
func (d directory) complete(s Settings, files []File) (m Manifest, is bool, err error) {
	err = read(d.manifest(), &m)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, false, nil
	}
	if err == nil {
		err = d.sameAs(s, m.Settings, files, m.Input)
	}
	return m, err == nil && m.Complete && d.hasAll(m.outputs()), err
}

// claim says whose folder it is, or that it is another's. What a complete one has lost is not finished any more.
func (d directory) claim(s Settings, files []File, m *Manifest) error {
	if err := d.putOwner(s, files); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(d.idsFolder(), 0o755), os.MkdirAll(d.part, 0o755)); err != nil || !m.Complete {
		return err
	}
	return errors.Join(d.addReports(m.reports()), os.Remove(d.manifest()))
}

// putOwner writes whose folder it is, if nobody has.
func (d directory) putOwner(s Settings, files []File) error {
	var owner struct {
		Settings Settings `json:"settings"`
		Files    []File   `json:"files"`
	}
	err := read(d.settings(), &owner)
	if err == nil {
		return d.sameAs(s, owner.Settings, files, d.hashed(owner.Files))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	owner.Settings, owner.Files = s, files
	return write(d.settings(), &owner)
}

// hashed are files with their hashes, if any part has read them all.
func (d directory) hashed(files []File) []File {
	if all := d.inputs(); len(all) > 0 {
		return all[0].Files
	}
	return files
}

// sameContent refuses files that another part has read with another content.
func (d directory) sameContent(files []File) error {
	for _, other := range d.inputs() {
		for i := range files {
			if files[i].XXH3 != other.Files[i].XXH3 {
				return fmt.Errorf("%s: %s has another content here than where other slices were done, though its size and time are the "+
					"same; give another folder, or remove this one", d.out, files[i].Name)
			}
		}
	}
	return nil
}

// mustBeOurs refuses a folder that is not empty, and no backfill's. Others may be at work in it: what is read first they write
// last, and the manifest of a complete one is there before its settings are removed.
func (d directory) mustBeOurs() error {
	foreign := d.mustBeEmpty()
	if _, err := os.Stat(d.settings()); err == nil {
		return nil
	}
	if _, err := os.Stat(d.manifest()); err == nil {
		return nil
	}
	return foreign
}

func (d directory) mustBeEmpty() error {
	entries, err := os.ReadDir(d.out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "work" && e.Name() != "lost+found" {
			return fmt.Errorf("%s is no backfill's, and not empty: it has %s; give a folder of its own", d.out, e.Name())
		}
	}
	return nil
}

// mustHaveNoLinks refuses symbolic links in the work folder: there are none of ours, and what is written, emptied or removed below
// one would be somebody else's.
func (d directory) mustHaveNoLinks() error {
	return filepath.WalkDir(d.work(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link: remove it", path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile
		}
		return err
	})
}

// sameAs refuses a folder of other settings, or of another archive.
func (d directory) sameAs(s, before Settings, files, filesBefore []File) error {
	if s != before {
		return fmt.Errorf("%s holds a backfill of other settings: %s; give another folder, or remove this one", d.out,
			differences(before, s))
	}
	if err := same(files, filesBefore); err != nil {
		return fmt.Errorf("%s holds a backfill of another archive: %w; give another folder, or remove this one", d.out, err)
	}
	return nil
}

// differences says what is other than before, by the names of the flags.
func differences(before, now Settings) string {
	var list []string
	a, b := reflect.ValueOf(before), reflect.ValueOf(now)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); x != y {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			list = append(list, fmt.Sprintf("%s %v there and %v here", name, shown(x), shown(y)))
		}
	}
	return strings.Join(list, ", ")
}

func shown(value any) any {
	if value == "" {
		return "none"
	}
	return value
}

// unclaim frees a folder in which there is nothing yet, so that a first try with a wrong flag does not bind the next one.
func (d directory) unclaim() error {
	unlock, err := d.lockFolder()
	if err != nil {
		return err
	}
	defer unlock()
	if d.mustBeEmpty() != nil || len(mustGlob(d.work(), "part-*")) > 1 {
		return nil // there are slices, or another part is at work
	}
	return os.Remove(d.settings())
}
