package jetstream

import (
	"context"
	"errors"
	"fmt"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// Store is a topic.Store in a JetStream key-value bucket that keeps the last value of each key.
type Store struct {
	kv   js.KeyValue
	lost int64
}

var _ topic.Store = (*Store)(nil)

// OpenStore opens a store of this server, making it if need be.
func (s *Server) OpenStore(ctx context.Context, name string) (*Store, error) {
	kv, err := openStore(ctx, s.js, name)
	if err != nil {
		return nil, err
	}
	kv.lost = s.lost[bucketPrefix+name].blocks
	return kv, nil
}

func openStore(ctx context.Context, client js.JetStream, name string) (*Store, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("open store %q: a name is letters, digits, - and _", name)
	}
	kv, err := client.CreateOrUpdateKeyValue(ctx, js.KeyValueConfig{Bucket: name, History: 1, Storage: js.FileStorage})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", name, err)
	}
	return &Store{kv: kv}, nil
}

// Get implements topic.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := topic.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	entry, err := s.kv.Get(ctx, key)
	if errors.Is(err, js.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s from store %s: %w", key, s.kv.Bucket(), err)
	}
	return append([]byte{}, entry.Value()...), nil
}

// Put implements topic.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	if err := topic.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if _, err := s.kv.Put(ctx, key, value); err != nil {
		return fmt.Errorf("put %s into store %s: %w", key, s.kv.Bucket(), err)
	}
	return nil
}
