package backfill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"refrain/feed"
	"refrain/internal/atomicfile"
)

// directory is the folder of what is found:
//
//	manifest.json                   what there is
//	events-20150701T000000Z.jsonl   of the slice that begins then
//	posts-20150701T000000Z.jsonl    those of its posts that repeat nothing, where they are wanted
//	dead-letters.jsonl              what was no post
//	work/                           as long as it is not complete:
//	  settings.json                 whose folder it is
//	  ids/20150701T000000Z          the ids of a slice's events
//	  part-1-of-4/                  of one process
//	    lock, input.json            while it runs; what the input is, once it was gathered
//	    finished.jsonl              the reports of slices that are finished
//	    runs/, temporary/
type directory struct{ out, part string }

func newDirectory(c Config) directory {
	return directory{c.Out, filepath.Join(c.Out, "work", fmt.Sprintf("part-%d-of-%d", c.Part, c.Parts))}
}

func (d directory) manifest() string    { return filepath.Join(d.out, "manifest.json") }
func (d directory) deadLetters() string { return filepath.Join(d.out, "dead-letters.jsonl") }
func (d directory) work() string        { return filepath.Join(d.out, "work") }
func (d directory) settings() string    { return filepath.Join(d.work(), "settings.json") }
func (d directory) idsFolder() string   { return filepath.Join(d.work(), "ids") }
func (d directory) runs() string        { return filepath.Join(d.part, "runs") }
func (d directory) scratch() string     { return filepath.Join(d.part, "temporary") }
func (d directory) journal() string     { return filepath.Join(d.part, journalName) }
func (d directory) inputFile() string   { return filepath.Join(d.part, "input.json") }

// temporary is the name of a file until it is finished. No two processes have one part, so names do not meet.
func (d directory) temporary(path string) string {
	return filepath.Join(d.scratch(), filepath.Base(path))
}

// stampLayout names slices: ISO 8601 in its basic form, which no file system minds.
const stampLayout = "20060102T150405Z"

func stampOf(start feed.Time) string { return start.Time().Format(stampLayout) }

func (d directory) events(start feed.Time) string {
	return filepath.Join(d.out, "events-"+stampOf(start)+".jsonl")
}

func (d directory) posts(start feed.Time, extension string) string {
	return filepath.Join(d.out, "posts-"+stampOf(start)+"."+extension)
}

func (d directory) ids(start feed.Time) string { return filepath.Join(d.idsFolder(), stampOf(start)) }

// begin makes the folder ready for a backfill, unless it holds another one. done: it is complete.
func (d directory) begin(s Settings, files []File) (m Manifest, done bool, err error) {
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return m, false, err
	}
	err = read(d.manifest(), &m)
	if err == nil {
		if err := d.sameAs(s, m.Settings, files, m.Input); err != nil {
			return m, false, err
		}
		if m.Complete && d.hasAll(m.outputs()) {
			return m, true, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, false, err
	}
	if err := d.claim(s, files, err == nil); err != nil {
		return m, false, err
	}
	if m.Complete { // not any more; the folder is claimed without it
		if err := os.Remove(d.manifest()); err != nil {
			return m, false, err
		}
	}
	return m, false, errors.Join(os.MkdirAll(d.idsFolder(), 0o755), os.MkdirAll(d.part, 0o755))
}

// claim says whose folder it is, or that it is another's.
func (d directory) claim(s Settings, files []File, ours bool) error {
	var owner struct {
		Settings Settings `json:"settings"`
		Files    []File   `json:"files"`
	}
	err := read(d.settings(), &owner)
	switch {
	case err == nil:
		return d.sameAs(s, owner.Settings, files, d.hashed(owner.Files))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if !ours {
		if err := d.mustBeEmpty(); err != nil {
			return err
		}
	}
	owner.Settings, owner.Files = s, files
	return errors.Join(os.MkdirAll(d.work(), 0o755), write(d.settings(), &owner))
}

// hashed are files with their hashes, if any part has read them all.
func (d directory) hashed(files []File) []File {
	if all := d.inputs(); len(all) > 0 {
		return all[0].Files
	}
	return files
}

// inputs are what parts have found the archive to be.
func (d directory) inputs() (all []*input) {
	for _, path := range mustGlob(filepath.Join(d.work(), "part-*", "input.json")) {
		var in input
		if read(path, &in) == nil {
			all = append(all, &in)
		}
	}
	return all
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
			list = append(list, fmt.Sprintf("%s %v there and %v here", a.Type().Field(i).Tag.Get("json"), shown(x), shown(y)))
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
	if d.mustBeEmpty() != nil || len(mustGlob(filepath.Join(d.work(), "part-*"))) > 1 {
		return nil // there are slices, or another part is at work
	}
	return os.Remove(d.settings())
}

// lock keeps a second process from the same part. It ends with the process, however that ends.
func (d directory) lock() (unlock func(), err error) {
	path := filepath.Join(d.part, "lock")
	f, err := lockFile(path, syscall.LOCK_EX|syscall.LOCK_NB)
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

func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeRuns begins the runs anew.
func (d directory) makeRuns() error {
	err := os.Remove(d.inputFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, wipe(d.runs()))
}

// input is what this part has gathered, or else another; nil: none has yet.
func (d directory) input() *input {
	var in input
	if read(d.inputFile(), &in) == nil {
		return &in
	}
	if all := d.inputs(); len(all) > 0 {
		return all[0]
	}
	return nil
}

func (d directory) putInput(in *input) error { return write(d.inputFile(), in) }

// hasRuns reports whether this part has gathered its posts, and has them still.
func (d directory) hasRuns() bool {
	_, err := os.Stat(d.inputFile())
	_, errRuns := os.Stat(d.runs())
	return err == nil && errRuns == nil
}

// openRuns opens them all, so many.
func (d directory) openRuns(n int) (runs []*run, err error) {
	paths := mustGlob(filepath.Join(d.runs(), "*.run"))
	if len(paths) != n {
		return nil, fmt.Errorf("%s has %d of %d runs: %w", d.runs(), len(paths), n, errDamaged)
	}
	for _, path := range paths {
		r, err := openRun(path)
		if err != nil {
			return nil, errors.Join(err, closeRuns(runs))
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func closeRuns(runs []*run) (err error) {
	for _, r := range runs {
		err = errors.Join(err, r.file.Close())
	}
	return err
}

// hasAll reports whether the files are there, of their sizes.
func (d directory) hasAll(outputs []Output) bool {
	for _, o := range outputs {
		info, err := os.Stat(filepath.Join(d.out, o.Name))
		if err != nil || info.Size() != o.Bytes {
			return false
		}
	}
	return true
}

// clean removes what is not needed once all slices are finished. A part that is still at work removes its own.
func (d directory) clean() error {
	err := errors.Join(os.RemoveAll(d.part), os.RemoveAll(d.idsFolder()), os.RemoveAll(d.settings()))
	for _, path := range mustGlob(filepath.Join(d.work(), "part-*")) {
		f, lockErr := lockFile(filepath.Join(path, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
		if lockErr == nil {
			err = errors.Join(err, os.RemoveAll(path), f.Close())
		}
	}
	_ = os.Remove(filepath.Join(d.work(), "lock"))
	_ = os.Remove(d.work()) // unless another part has something in it
	return err
}

func mustGlob(pattern string) []string {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		panic(err) // the pattern is ours
	}
	return paths
}

func read(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func write(path string, v any) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}
