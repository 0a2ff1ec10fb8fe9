package boltstore

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"refrain/topic"
)

var cursorBucket = []byte("cursors")

// unsummedBucket is what it was called as long as entries had no sums.
const unsummedBucket = "cursor"

// Get implements lookup.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, err error) {
	if err := topic.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	s.file.resume(s.dropCursors)
	s.mu.Lock()
	waiting, ok := s.cursors[key]
	s.mu.Unlock()
	if ok {
		return bytes.Clone(waiting), nil
	}
	err = s.file.view(ctx, func(tx *bbolt.Tx) (err error) {
		if b := tx.Bucket(cursorBucket); b != nil {
			value, err = named{b, cursorBucket}.get([]byte(key))
			value = bytes.Clone(value)
		}
		return err
	})
	return value, err
}

// Put implements lookup.Store. The cursor is written with the changes that come next, or by Close.
func (s *Store) Put(_ context.Context, key string, value []byte) error {
	if err := topic.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if err := s.file.rewound(); err != nil { // the cursor stands for what is gone
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursors[key] = append([]byte{}, value...) // never nil: nil means absent
	return nil
}

// dropCursors drops the cursors that wait: they stand for what is gone.
func (b *backend) dropCursors() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.cursors)
}

// Close implements lookup.Store.
func (s *Store) Close() error {
	err := s.file.update(context.Background(), s.putCursors)
	if closing := s.file.close(); err == nil {
		err = closing
	}
	return err
}

// putCursors writes the cursors that wait. They go on waiting, for the transaction may fail; there are few.
func (b *backend) putCursors(tx *bbolt.Tx) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	bucket, err := tx.CreateBucketIfNotExists(cursorBucket)
	if err != nil {
		return err
	}
	for key, value := range b.cursors {
		if err := bucket.Put([]byte(key), seal(cursorBucket, []byte(key), value)); err != nil {
			return err
		}
	}
	return nil
}
