// Package boltstore keeps the lookup index in one bbolt file.
//
// The file has a bucket for each slice (lookup/record), with values and members under flat keys, and one for cursors. A
// slice that is over is not read any more, and emptied a little with every write. The file does not shrink: what is
// freed is used again.
//
// All of it is derived, so a damaged file is no reason to stop: it is moved aside, a new one begun, and made again from
// the event topic. bbolt keeps no checksums, and panics over damaged pages; so the pages of a file are walked before it is
// opened (pages.go), panics are caught (file.go), and every entry carries a checksum (sum.go).
//
// Changes are taken in by transactions that are written through to the disk. A cursor waits for the next of them, or for
// Close: so it costs no transaction of its own, and stands for no more than is there whenever the process or the power
// ends. Then a last few hundred events are applied again.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package boltstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"refrain/internal/check"
	"refrain/lookup"
	"refrain/lookup/record"
)

// Config says where the index is, and how long it keeps things. Default has all but Path.
type Config struct {
	Path      string        // of the file; its folder is made
	Retention time.Duration // of wall time; above 0
	Now       func() time.Time
	Logger    *slog.Logger // is told of damage
}

// Default keeps things as long as record's.
func Default() Config {
	d := record.Default()
	return Config{Retention: d.Retention, Now: d.Now, Logger: slog.Default()}
}

// Store is the index in a file, which no other process may use meanwhile. It is safe for concurrent use.
//
// When the file proves damaged, queries return lookup.ErrUnavailable, and changes lookup.ErrRewound, until
// the cursor is asked for: then the Store goes on, empty.
type Store struct {
	*record.Store
	*backend
}

var _ lookup.Store = (*Store)(nil)

// maxTxMatches is the most matches of a transaction. A transaction writes every page that it changes, and most events change
// some that no other does: 28,000 events/s at 250 a transaction, 42,000 at 1,000, 49,000 at 4,000, 22,000 at 16,000.
const maxTxMatches = 4000

// Open opens the file, or makes it. One that is damaged, or no index, is moved aside, to PATH.damaged-TIME, and the log
// says so. One that cannot be read, or is in use, is an error.
func Open(c Config) (*Store, error) {
	if err := errors.Join(check.Set("path", c.Path != ""), check.Set("logger", c.Logger != nil)); err != nil {
		return nil, fmt.Errorf("open lookup: %w", err)
	}
	file, err := openFile(c.Path, c.Logger)
	if err != nil {
		return nil, err
	}
	b := &backend{file: file, cursors: map[string][]byte{}}
	index, err := record.New(b, record.Config{Retention: c.Retention, Now: c.Now, AtOnce: maxTxMatches})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open lookup: %w", err), file.close())
	}
	return &Store{Store: index, backend: b}, nil
}

// Apply implements lookup.Store.
func (s *Store) Apply(ctx context.Context, changes []lookup.Change) error {
	if err := s.file.rewound(); err != nil {
		return err
	}
	return s.Store.Apply(ctx, changes)
}

// Check implements lookup.Store: no other process can change the file meanwhile, but it may have proved damaged. There is
// time for what can wait.
func (s *Store) Check(ctx context.Context) error {
	if err := s.file.rewound(); err != nil {
		return err
	}
	return s.Purge(ctx, record.PurgeIdle)
}
