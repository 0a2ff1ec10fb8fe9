package backfill

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeebo/xxh3"
)

// File is one file of an archive. It is known by its name, its size and its content: where it is may change.
type File struct {
	Name     string    `json:"name"`
	Bytes    int64     `json:"bytes"` // as it is stored
	Modified time.Time `json:"modified"`
	XXH3     string    `json:"xxh3,omitempty"` // of what is stored, 128 bits

	path string
}

// list is what the files are, in the order of their names: whatever the order in which they were given.
func list(paths []string) (files []File, err error) {
	var errs []error
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-":
			errs = append(errs, errors.New("-: stdin cannot be read again by a run that goes on: write it to a file"))
		case err != nil:
			errs = append(errs, err)
		case info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0:
			errs = append(errs, fmt.Errorf("%s: not a file that a run that goes on can read again", path))
		case info.IsDir():
			errs = append(errs, fmt.Errorf("%s: a directory: name the files in it, %s", path, filepath.Join(path, "*")))
		default:
			files = append(files, File{Name: filepath.Base(path), Bytes: info.Size(), Modified: info.ModTime().UTC(), path: path})
		}
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.path, b.path))
	})
	return files, errors.Join(errs...)
}

// sameSize refuses a file that had another size when it was looked at than the bytes that were read of it.
func (f *File) sameSize(read int64) error {
	how := "grew"
	switch {
	case read == f.Bytes:
		return nil
	case read < f.Bytes:
		how = "was cut"
	}
	return fmt.Errorf("%s %s while it was read, from %d bytes to %d: run it when nobody writes to it any more", f.path, how, f.Bytes, read)
}

// hash is what XXH3 is of the file.
func (f *File) hash() (string, error) { return hashOf(f.path) }

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := xxh3.New128()
	_, err = io.Copy(h, file)
	return sumOf(h), err
}

func sumOf(h *xxh3.Hasher128) string { return hex.EncodeToString(h.Sum(nil)) }

// same returns an error that says which of the files are not those that were named before. A file that has another time of
// modification is read, to see whether its content is the same; as long as nobody has read all of it, it is taken to be.
func same(files, before []File) error {
	if len(files) != len(before) {
		return fmt.Errorf("%d files were given, and it is of %d: %s", len(files), len(before), names(before))
	}
	left := slices.Clone(before)
	for i := range files {
		j, err := files[i].indexIn(left)
		if err != nil {
			return err
		}
		if j < 0 {
			return fmt.Errorf("%s is none of its files, or has another content now: %s", files[i].path, names(before))
		}
		left = slices.Delete(left, j, j+1)
	}
	return nil
}

// indexIn is the place of f among files, -1 if it is not among them.
func (f *File) indexIn(files []File) (int, error) {
	named := func(g File) bool { return g.Name == f.Name && g.Bytes == f.Bytes }
	j := slices.IndexFunc(files, func(g File) bool { return named(g) && (g.XXH3 == "" || g.Modified.Equal(f.Modified)) })
	if j >= 0 || !slices.ContainsFunc(files, named) {
		return j, nil
	}
	hash, err := f.hash()
	return slices.IndexFunc(files, func(g File) bool { return named(g) && g.XXH3 == hash }), err
}

func names(files []File) (list string) {
	for i := range files {
		if i == 3 {
			return fmt.Sprintf("%s and %d more", list, len(files)-i)
		}
		list += fmt.Sprintf("%.*s%s (%d bytes)", 2*min(i, 1), ", ", files[i].Name, files[i].Bytes)
	}
	return list
}

// input is what is known of an archive once it was gathered. All parts find the same.
type input struct {
	Files    []File          `json:"files"`
	Posts    int64           `json:"posts"`
	Untimed  int64           `json:"untimed"`           // of these: they have the time of the post before them in their file
	Rejected int64           `json:"rejected"`          // records that are no posts
	Skipped  int64           `json:"skipped,omitempty"` // records that are no posts as the preset has it, and no mistakes
	Changed  int64           `json:"changed"`           // posts accepted with a change
	Slices   map[int64]int64 `json:"slices"`            // posts by slice
	Format   string          `json:"format"`            // of all files, where the posts are written again
	Header   []byte          `json:"header,omitempty"`
	Letters  *Output         `json:"deadLetters,omitempty"` // the rejected ones; of the first part alone
	Runs     int             `json:"runs"`                  // that the posts were sorted into
}

// numbers are those of all slices that have posts, in order.
func (in *input) numbers() []int64 {
	all := make([]int64, 0, len(in.Slices))
	for s := range in.Slices {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}
