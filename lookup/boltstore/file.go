package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"refrain/lookup"
)

// errDamaged says that the file holds what was not written.
var errDamaged = errors.New("the file is damaged")

// file is a bbolt file that may prove damaged at any time. Then it is moved aside and a new one begun; until somebody
// has been told so, and asks for the cursor again, it answers nothing: an empty index would be a wrong answer.
type file struct {
	path    string
	log     *slog.Logger
	damages metric.Int64Counter

	mu     sync.RWMutex // held for reading by whoever uses db
	db     *bbolt.DB    // nil: there is none now
	raw    *os.File     // of db
	closed bool
	times  int // that it proved damaged
	state  fileState
}

type fileState int

const (
	fileIntact   fileState = iota
	fileLost               // what was stored is gone, and nobody knows
	fileReported           // to whoever applies
)

// lockWait is how long a file is waited for that another process has open.
const lockWait = time.Second

// maxDamages is how often a file is begun anew: after that it is not the file that is broken.
const maxDamages = 5

func openFile(path string, log *slog.Logger) (*file, error) {
	f := &file{path: path, log: log}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open lookup: %w", err)
	}
	var err error
	f.damages, err = otel.Meter("refrain/lookup").Int64Counter("refrain_lookup_damaged",
		metric.WithDescription("Times that the file of the index proved damaged, was moved aside, and begun anew"))
	if err != nil {
		return nil, fmt.Errorf("open lookup: %w", err)
	}
	f.damages.Add(context.Background(), 0)
	if err := f.open(); errors.Is(err, errDamaged) {
		f.setAside(err)
		err = f.open()
		return f, err
	} else if err != nil {
		return nil, err
	}
	return f, nil
}

// open opens the file once it is sure that bbolt can read it.
func (f *file) open() error {
	raw, err := openLocked(f.path)
	if err != nil {
		return fmt.Errorf("open lookup %s: %w", f.path, err)
	}
	err = verify(raw)
	if err == nil {
		err = guarded(func() error { return f.openBolt(raw) })
	}
	if err != nil {
		raw.Close()
		return fmt.Errorf("open lookup %s: %w", f.path, err)
	}
	f.raw = raw
	return nil
}

// openLocked opens the file for this process alone. bbolt takes the same lock, which on the same file is one.
func openLocked(path string) (*os.File, error) {
	raw, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("%w: give this user the right to read and write it, or remove it: it is made again "+
			"from the event topic", err)
	}
	if err != nil {
		return nil, err
	}
	for begin := time.Now(); ; time.Sleep(lockWait / 20) {
		err := syscall.Flock(int(raw.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return raw, nil
		}
		if time.Since(begin) >= lockWait {
			raw.Close()
			return nil, errors.New("another process has it open")
		}
	}
}

// verify walks the pages; an empty file has none. bbolt does the same when it opens a file, but without care: 1.2 s for a
// file of 1 GiB in memory, and this about as much again. It is read in one go before: a disk gives single pages slowly.
func verify(raw *os.File) error {
	info, err := raw.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if _, err := io.Copy(io.Discard, io.NewSectionReader(raw, 0, info.Size())); err != nil {
		return err
	}
	var first *Finding
	w := walker{file: raw, size: info.Size(), found: func(x Finding) bool { first = &x; return false }}
	w.walk()
	if first != nil {
		return fmt.Errorf("%w at offset %d: %s", errDamaged, first.Offset, first.Reason)
	}
	return nil
}

// openBolt opens a file that has been verified. One of an earlier format is begun anew.
func (f *file) openBolt(raw *os.File) error {
	db, err := bbolt.Open(f.path, 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		OpenFile: first(raw)})
	if err != nil {
		return err
	}
	f.db = db
	return db.Update(begin)
}

// first gives bbolt the file that is open already; copies of it (Tx.WriteTo) are read from another.
func first(raw *os.File) func(string, int, os.FileMode) (*os.File, error) {
	return func(path string, flag int, mode os.FileMode) (file *os.File, err error) {
		if file, raw = raw, nil; file == nil {
			file, err = os.OpenFile(path, flag, mode)
		}
		return file, err
	}
}

// begin makes the bucket of the cursors, which tells that entries have sums, and drops what has none.
func begin(tx *bbolt.Tx) error {
	if tx.Bucket(cursorBucket) != nil {
		return nil
	}
	var old [][]byte
	err := tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		old = append(old, slices.Clone(name))
		return nil
	})
	for _, name := range old {
		err = errors.Join(err, tx.DeleteBucket(name))
	}
	_, errMake := tx.CreateBucket(cursorBucket)
	return errors.Join(err, errMake)
}

// guarded makes errors of panics, and of memory that is mapped and cannot be read.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

func (f *file) view(ctx context.Context, do func(*bbolt.Tx) error) error {
	return f.use(ctx, func(db *bbolt.DB) error { return db.View(do) })
}

// update changes the file. A transaction over damage is left as it is: bbolt would read all pages again to undo it.
func (f *file) update(ctx context.Context, do func(*bbolt.Tx) error) error {
	return f.use(ctx, func(db *bbolt.DB) error {
		tx, err := db.Begin(true)
		if err != nil {
			return err
		}
		err = guarded(func() error { return do(tx) })
		if err != nil && !errors.Is(err, errDamaged) {
			return errors.Join(err, tx.Rollback())
		}
		if err != nil {
			return err
		}
		return tx.Commit()
	})
}

func (f *file) use(ctx context.Context, do func(*bbolt.DB) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f.try(do)
	if errors.Is(err, errDamaged) {
		f.replace(err)
	}
	if err != nil {
		err = fmt.Errorf("bolt: %w: %w", lookup.ErrUnavailable, err)
	}
	return err
}

func (f *file) try(do func(*bbolt.DB) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch {
	case f.closed:
		return errors.New("closed")
	case f.db == nil || f.state != fileIntact:
		return errors.New("its file was damaged")
	}
	return guarded(func() error { return do(f.db) })
}

// replace begins the file anew. Of several that have found the same damage the first one does.
func (f *file) replace(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.state != fileIntact {
		return
	}
	f.state = fileLost
	f.abandon()
	f.setAside(why)
	f.reopen()
}

// abandon lets go of a damaged file, but not of the memory that it is mapped to: bbolt may hold a lock for ever.
func (f *file) abandon() {
	f.raw.Close()
	f.db, f.raw = nil, nil
	f.times++
}

func (f *file) reopen() {
	if f.times >= maxDamages {
		f.log.Error("lookup: the index stays closed: its file proved damaged again and again; the disk or the memory "+
			"may be failing", "file", f.path, "times", f.times)
		return
	}
	if err := f.open(); err != nil {
		f.log.Error("lookup: retrying open", "file", f.path, "error", err)
	}
}

// rewound says that what was stored is gone, as long as that is so.
func (f *file) rewound() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.state == fileIntact {
		return nil
	}
	if f.db == nil && f.times < maxDamages {
		f.reopen()
	}
	if f.db == nil {
		return fmt.Errorf("bolt: %w: its file was damaged", lookup.ErrUnavailable)
	}
	f.state = fileReported
	return fmt.Errorf("bolt: %w: the file was damaged and is begun anew", lookup.ErrRewound)
}

// resume goes on with the new file, once whoever applies knows that it is empty.
func (f *file) resume(reset func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == fileReported {
		reset()
		f.state = fileIntact
	}
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.db == nil {
		f.closed = true
		return nil
	}
	f.closed = true
	return f.db.Close()
}

// maxDamagedFiles is how many damaged files are kept.
const maxDamagedFiles = 2

// setAside renames the damaged file, for whoever wants to know what happened to it.
func (f *file) setAside(why error) {
	f.damages.Add(context.Background(), 1)
	to := f.path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	err := os.Rename(f.path, to)
	f.log.Error("lookup: the index is damaged, moved aside, and made again from the event topic; what the topic "+
		"has dropped is missing until it expires",
		"file", f.path, "to", to, "reason", why, "error", err,
		"hint", "nothing to do; if it happens again, check the disk and the memory. The file that was moved aside may be removed")
	old, _ := filepath.Glob(f.path + ".damaged-*")
	slices.Sort(old)
	for _, path := range old[:max(0, len(old)-maxDamagedFiles)] {
		_ = os.Remove(path) // one that stays does no harm
	}
}
