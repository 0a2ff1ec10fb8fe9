package backfill

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Output is a file that was written whole.
type Output struct {
	Name   string `json:"name"`
	Lines  int64  `json:"lines"` // records: events, posts, dead letters; not the header of a table
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// output is a file that is being written, by a temporary name.
type output struct {
	Output
	temporary, path string
	file            io.WriteCloser
	w               *bufio.Writer
	sum             hash.Hash
}

// newOutput begins a file at path, which appears with commit.
func (b *backfill) newOutput(path string) (*output, error) {
	o := &output{Output: Output{Name: filepath.Base(path)}, temporary: b.dir.temporary(path), path: path, sum: sha256.New()}
	file, err := b.cfg.create(o.temporary)
	if err != nil {
		return nil, err
	}
	o.file, o.w = file, writers.Get().(*bufio.Writer)
	o.w.Reset(file)
	return o, nil
}

// writers are buffers of outputs: slices may be many, and short.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 256<<10) }}

// Write writes whole records: p has so many lines.
func (o *output) write(p []byte, lines int) error {
	o.Lines += int64(lines)
	o.Bytes += int64(len(p))
	o.sum.Write(p)
	_, err := o.w.Write(p)
	return err
}

// commit makes the file durable, and then gives it its name. After an error it is gone.
func (o *output) commit() error {
	err := o.flush()
	if err == nil {
		err = o.sync()
	}
	if err == nil {
		err = o.publish()
	}
	if err != nil {
		o.abandon()
		return err
	}
	return syncFolder(filepath.Dir(o.path))
}

// flush ends the writing.
func (o *output) flush() error {
	o.SHA256 = hex.EncodeToString(o.sum.Sum(nil))
	err := o.w.Flush()
	o.w.Reset(nil)
	writers.Put(o.w)
	o.w = nil
	return err
}

// sync makes the content durable, and closes the file.
func (o *output) sync() (err error) {
	if f, ok := o.file.(interface{ Sync() error }); ok {
		err = f.Sync()
	}
	return errors.Join(err, o.file.Close())
}

// publish gives the file its name, which is durable when the folder is.
func (o *output) publish() error { return os.Rename(o.temporary, o.path) }

// abandon removes what there is of the file, unless it has its name.
func (o *output) abandon() {
	if o == nil {
		return
	}
	_ = o.file.Close() // it is of no use
	_ = os.Remove(o.temporary)
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
