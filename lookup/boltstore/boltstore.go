// Package boltstore keeps the lookup index in one bbolt file.
//
// The file has a bucket for each slice (lookup/record), with values and members under flat keys, and one for cursors. A
// slice that is over is not read any more, and emptied a little with every write. The file does not shrink: what is
// freed is used again.
//
// Changes are taken in by transactions that are written through to the disk. A cursor waits for the next of them, or for
// Close: so it costs no transaction of its own, and stands for no more than is there whenever the process or the power
// ends. Then a last few hundred events are applied again.
package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"refrain/lookup"
	"refrain/lookup/record"
)

// Config says where the index is, and how long it keeps things. Default has all but Path.
type Config struct {
	Path      string        // of the file; its folder is made
	Retention time.Duration // of wall time; above 0
	Now       func() time.Time
}

// Default keeps things as long as record's.
func Default() Config {
	d := record.Default()
	return Config{Retention: d.Retention, Now: d.Now}
}

// Store is the index in a file, which no other process may use meanwhile. It is safe for concurrent use.
type Store struct {
	*record.Store
	*backend
}

var _ lookup.Store = (*Store)(nil)

// atOnce is the most matches of a transaction. A transaction writes every page that it changes, and most events change
// some that no other does: 28,000 events/s at 250 a transaction, 42,000 at 1,000, 49,000 at 4,000, 22,000 at 16,000.
const atOnce = 4000

// lockWait is how long a file is waited for that another process has open.
const lockWait = time.Second

// Open opens the file, or makes it.
func Open(c Config) (*Store, error) {
	if c.Path == "" {
		return nil, errors.New("open lookup: path is not set")
	}
	b := &backend{cursors: map[string][]byte{}}
	index, err := record.New(b, record.Config{Retention: c.Retention, Now: c.Now, AtOnce: atOnce})
	if err != nil {
		return nil, fmt.Errorf("open lookup: %w", err)
	}
	if b.db, err = openFile(c.Path); err != nil {
		return nil, err
	}
	return &Store{Store: index, backend: b}, nil
}

func openFile(path string) (*bbolt.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open lookup: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("open lookup %s: another process has it open", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open lookup %s: %w (the file may be removed: it is made again from the event topic)", path, err)
	}
	return db, nil
}

// Check implements lookup.Store: no other process can change the file meanwhile.
func (s *Store) Check(context.Context) error { return nil }

func view(ctx context.Context, db *bbolt.DB, f func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return wrap(db.View(f))
}

func update(ctx context.Context, db *bbolt.DB, f func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return wrap(db.Update(f))
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bolt: %w: %w", lookup.ErrUnavailable, err)
}
