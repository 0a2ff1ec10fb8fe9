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

// idFile is the ids of a slice's events, 16 bytes each, in their order. They stay in memory as long as there is room, and there is
// no file; whoever has them no more, and no file, reads them from the events. It is not synced: what a power cut leaves of it is
// found out by its hash, and then it is as if there were none.
type idFile struct {
	create func() (io.WriteCloser, error)
	keep   func(ids []byte) bool // reports whether there was room
	file   io.WriteCloser        // nil: none yet
	buf    []byte
	sum    *xxh3.Hasher128
}

// fewIDs is how many bytes of ids are worth a file, and maxBuffered how many go to one before their slice ends.
const fewIDs, maxBuffered = 64 << 10, 1 << 20

func (b *backfill) newIDs(start feed.Time) *idFile {
	return &idFile{
		create: func() (io.WriteCloser, error) { return b.cfg.create(b.dir.ids(start)) },
		keep:   func(ids []byte) bool { return b.kept.put(start, ids) },
	}
}

func (f *idFile) add(id feed.Hash) error {
	f.buf = append(f.buf, id[:]...)
	if len(f.buf) < maxBuffered {
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

// end returns the hash of the ids in the file, "" where there is none.
func (f *idFile) end() (string, error) {
	if f.file == nil && (f.keep(f.buf) || len(f.buf) < fewIDs) {
		return "", nil
	}
	err := f.flush()
	if f.file == nil {
		return "", err
	}
	return sumOf(f.sum), errors.Join(err, f.file.Close())
}

func (f *idFile) abandon() {
	if f != nil && f.file != nil {
		_ = f.file.Close() // the next run writes it anew
	}
}

// keptIDs are the ids of slices that this process has found, as long as they are not many together. Any goroutine may put some.
type keptIDs struct {
	mu      sync.Mutex
	bytes   int
	byStart map[feed.Time][]byte
}

// maxKept is how many bytes they are at most.
const maxKept = 16 << 20

// put keeps the ids of a slice, those that it has now, if there is room.
func (k *keptIDs) put(start feed.Time, ids []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byStart == nil {
		k.byStart = map[feed.Time][]byte{}
	}
	k.bytes -= len(k.byStart[start])
	delete(k.byStart, start)
	if k.bytes+len(ids) > maxKept {
		return false
	}
	k.bytes += len(ids)
	k.byStart[start] = slices.Clone(ids)
	return true
}

// each visits the ids of a slice, if they are there and are as many as its events.
func (k *keptIDs) each(r *report, visit func(line int64, id feed.Hash)) bool {
	ids := k.byStart[r.Start]
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
	if b.kept.each(r, visit) {
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
