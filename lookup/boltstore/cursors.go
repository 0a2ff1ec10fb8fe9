package boltstore

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"refrain/topic"
)

var cursorBucket = []byte("cursor")

// Get implements lookup.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, err error) {
	if err := topic.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	s.mu.Lock()
	waiting, ok := s.cursors[key]
	s.mu.Unlock()
	if ok {
		return bytes.Clone(waiting), nil
	}
	err = view(ctx, s.db, func(tx *bbolt.Tx) error {
		if b := tx.Bucket(cursorBucket); b != nil {
			value = bytes.Clone(b.Get([]byte(key)))
		}
		return nil
	})
	return value, err
}

// Put implements lookup.Store. The cursor is written with the changes that come next, or by Close.
func (s *Store) Put(_ context.Context, key string, value []byte) error {
	if err := topic.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursors[key] = append([]byte{}, value...) // never nil: nil means absent
	return nil
}

// Close implements lookup.Store.
func (s *Store) Close() error {
	err := update(context.Background(), s.db, s.putCursors)
	if closing := s.db.Close(); err == nil {
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
		if err := bucket.Put([]byte(key), value); err != nil {
			return err
		}
	}
	return nil
}
