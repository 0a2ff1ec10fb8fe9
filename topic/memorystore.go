package topic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// MemoryStore is a Store inside one process. The zero value is empty and ready.
type MemoryStore struct {
	mu     sync.Mutex
	values map[string][]byte
}

var _ Store = (*MemoryStore)(nil)

// Get implements Store.
func (s *MemoryStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkCall(ctx, "get", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values[key]), nil
}

// Put implements Store.
func (s *MemoryStore) Put(ctx context.Context, key string, value []byte) error {
	if err := checkCall(ctx, "put", key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string][]byte)
	}
	s.values[key] = append([]byte{}, value...) // never nil: nil means absent
	return nil
}

func checkCall(ctx context.Context, verb, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckKey(key); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}

// CheckKey reports a key that no Store takes.
func CheckKey(key string) error {
	if key == "" || key[0] == '.' || key[len(key)-1] == '.' || strings.Contains(key, "..") {
		return fmt.Errorf("key %q: empty, or a dot with nothing beside it", key)
	}
	if i := strings.IndexFunc(key, notKey); i >= 0 {
		return fmt.Errorf("key %q: character %q", key, []rune(key[i:])[0])
	}
	return nil
}

func notKey(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("-_=./", r)
}
