package backfill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// idFile is the ids of a slice's events, 16 bytes each, in their order. A slice with few events has none: its ids stay in memory,
// and whoever has them no more reads them from the events. It is not synced: what a power cut leaves of it is found out by its
// hash, and then it is as if there were none.
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

// end returns the hash of the ids in the file, or where there is none "", and the ids.
func (f *idFile) end() (sum string, few []byte, err error) {
	if f.file == nil {
		return "", f.buf, nil
	}
	err = errors.Join(f.flush(), f.file.Close())
	return sumOf(f.sum), nil, err
}

func (f *idFile) abandon() {
	if f != nil && f.file != nil {
		_ = f.file.Close() // the next run writes it anew
	}
}

// fewHeld are the ids of slices that this process has found, those with few, as long as they are not many together. Any goroutine
// may put some.
type fewHeld struct {
	mu      sync.Mutex
	bytes   int
	byStart map[feed.Time][]byte
}

// maxHeld is how many bytes they are at most.
const maxHeld = 16 << 20

// put puts the ids of a slice, or those that it has now.
func (h *fewHeld) put(start feed.Time, ids []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes -= len(h.byStart[start])
	delete(h.byStart, start)
	if h.bytes+len(ids) > maxHeld {
		return
	}
	if h.byStart == nil {
		h.byStart = map[feed.Time][]byte{}
	}
	h.bytes += len(ids)
	h.byStart[start] = slices.Clone(ids)
}

// each visits the ids of a slice, if they are there and are as many as its events.
func (h *fewHeld) each(r *report, visit func(line int64, id feed.Hash)) bool {
	ids := h.byStart[r.Start]
	if int64(len(ids)) != r.Events*int64(len(feed.Hash{})) {
		return false
	}
	for line := range r.Events {
		visit(line, feed.Hash(ids[line*int64(len(feed.Hash{})):]))
	}
	return true
}

// eachID visits the ids of a slice's events.
func (b *backfill) eachID(r *report, visit func(line int64, id feed.Hash)) error {
	if b.fewHeld.each(r, visit) {
		return nil
	}
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
