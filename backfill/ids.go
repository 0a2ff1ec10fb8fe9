package backfill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// idFile is the ids of a slice's events, 16 bytes each, in their order. A slice with few events has none: then they are read from
// the events. It is not synced: what a power cut leaves of it is found out by its hash, and then it is as if there were none.
type idFile struct {
	create func() (io.WriteCloser, error)
	file   io.WriteCloser // nil: none yet
	buf    []byte
	sum    *xxh3.Hasher128
}

// fewIDs is how many bytes of ids are worth a file.
const fewIDs = 64 << 10

func (b *backfill) newIDs(start feed.Time) *idFile {
	return &idFile{create: func() (io.WriteCloser, error) { return b.cfg.create(b.dir.ids(start)) }}
}

func (f *idFile) add(id feed.Hash) error {
	f.buf = append(f.buf, id[:]...)
	if len(f.buf) < fewIDs {
		return nil
	}
	return f.flush()
}

func (f *idFile) flush() (err error) {
	if f.file == nil {
		if f.file, err = f.create(); err != nil {
			return err
		}
		f.sum = xxh3.New128()
	}
	_, _ = f.sum.Write(f.buf) // a hash takes everything
	_, err = f.file.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

// end returns the hash of the ids, "" where there is no file.
func (f *idFile) end() (string, error) {
	if f.file == nil {
		return "", nil
	}
	err := errors.Join(f.flush(), f.file.Close())
	return sumOf(f.sum), err
}

func (f *idFile) abandon() {
	if f != nil && f.file != nil {
		_ = f.file.Close() // the next run writes it anew
	}
}

// eachID visits the ids of a slice's events.
func (b *backfill) eachID(r *report, visit func(line int64, id feed.Hash)) error {
	if r.IDs != "" {
		if sum, err := hashOf(b.dir.ids(r.Start)); err == nil && sum == r.IDs {
			return eachIn(b.dir.ids(r.Start), visit)
		}
	}
	return eachEventID(b.dir.events(r.Start), visit)
}

func eachIn(path string, visit func(line int64, id feed.Hash)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 256<<10)
	for line := int64(0); ; line++ {
		var id feed.Hash
		if _, err := io.ReadFull(r, id[:]); err != nil {
			return ignoreEOF(err)
		}
		visit(line, id)
	}
}

// eachEventID reads the ids of events.
func eachEventID(path string, visit func(line int64, id feed.Hash)) error {
	return eachLine(path, func(n int64, line []byte) error {
		_, rest, _ := bytes.Cut(line, []byte(`"id":"`)) // the first is the event's: its source, before it, is ours
		hex, _, _ := bytes.Cut(rest, []byte(`"`))
		id, err := feed.ParseHash(string(hex))
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		visit(n, id)
		return nil
	})
}

// eachLine visits the lines of a file, with their ends.
func eachLine(path string, visit func(n int64, line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 256<<10)
	for n := int64(0); ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return ignoreEOF(err)
		}
		if err := visit(n, line); err != nil {
			return err
		}
	}
}
