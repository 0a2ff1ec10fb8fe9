package backfill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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

// inputs are what parts have found the archive to be.
func (d directory) inputs() (all []*input) {
	for _, path := range mustGlob(d.work(), "part-*/input.json") {
		var in input
		if read(path, &in) == nil {
			all = append(all, &in)
		}
	}
	return all
}

// letters are the dead letters, once the first part has written them.
func (d directory) letters() *Output {
	for _, in := range d.inputs() {
		if in.Letters != nil {
			return in.Letters
		}
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

// runPaths are the names of the runs, in order.
func (d directory) runPaths() []string { return mustGlob(d.runs(), "*.run") }

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

// mustGlob are the paths of what there is in a folder, whose own name may have brackets in it.
func mustGlob(folder, pattern string) []string {
	paths, err := fs.Glob(os.DirFS(folder), pattern)
	if err != nil {
		panic(err) // the pattern is ours
	}
	for i := range paths {
		paths[i] = filepath.Join(folder, paths[i])
	}
	return paths
}

func read(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: damaged: %w; give another folder, or remove this one", path, err)
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
