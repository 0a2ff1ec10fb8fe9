package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"refrain/topic"
)

// RunStore tests an implementation. open returns an empty store.
func RunStore(t *testing.T, open func(t *testing.T) topic.Store) {
	t.Run("values", func(t *testing.T) { testValues(t, open(t)) })
	t.Run("keys", func(t *testing.T) { testKeys(t, open(t)) })
	t.Run("copies", func(t *testing.T) { testCopies(t, open(t)) })
	t.Run("context", func(t *testing.T) { testStoreContext(t, open(t)) })
	t.Run("concurrent", func(t *testing.T) { testStoreConcurrent(t, open(t)) })
}

func testValues(t *testing.T, s topic.Store) {
	MustGet(t, s, "positions/0", nil)
	for _, want := range [][]byte{[]byte("a"), []byte("bb\x00"), {}, bytes.Repeat([]byte("x"), 100_000)} {
		MustPut(t, s, "positions/0", want)
		MustGet(t, s, "positions/0", want)
	}
	MustGet(t, s, "positions/1", nil)
}

func testKeys(t *testing.T, s topic.Store) {
	for _, key := range []string{"a", "A-z_0=/9", "a.b"} {
		MustPut(t, s, key, []byte(key))
	}
	MustGet(t, s, "a", []byte("a"))
	MustGet(t, s, "a.b", []byte("a.b"))
	for _, key := range []string{"", ".a", "a.", "a..b", "a b", "ä", "*", ">"} {
		if err := s.Put(t.Context(), key, nil); err == nil {
			t.Errorf("put %q: no error", key)
		}
		if _, err := s.Get(t.Context(), key); err == nil {
			t.Errorf("get %q: no error", key)
		}
	}
}

func testCopies(t *testing.T, s topic.Store) {
	value := []byte("abc")
	MustPut(t, s, "k", value)
	value[0] = 'x'
	got, err := s.Get(t.Context(), "k")
	if err != nil || string(got) != "abc" {
		t.Fatalf("got %q, %v, want abc", got, err)
	}
	got[0] = 'y'
	MustGet(t, s, "k", []byte("abc"))
}

func testStoreContext(t *testing.T, s topic.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, "k", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("put: got %v, want context.Canceled", err)
	}
	if _, err := s.Get(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("get: got %v, want context.Canceled", err)
	}
}

func testStoreConcurrent(t *testing.T, s topic.Store) {
	var wg sync.WaitGroup
	for w := range 4 {
		key := fmt.Sprint("positions/", w)
		wg.Go(func() {
			for i := range 25 {
				want := fmt.Sprint(i)
				if err := s.Put(t.Context(), key, []byte(want)); err != nil {
					t.Errorf("put: %v", err)
				}
				if got, err := s.Get(t.Context(), key); err != nil || string(got) != want {
					t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// MustPut puts, or ends the test.
func MustPut(tb testing.TB, s topic.Store, key string, value []byte) {
	tb.Helper()
	if err := s.Put(tb.Context(), key, value); err != nil {
		tb.Fatalf("put %s: %v", key, err)
	}
}

// MustGet checks a value; want is nil for an absent key.
func MustGet(tb testing.TB, s topic.Store, key string, want []byte) {
	tb.Helper()
	got, err := s.Get(tb.Context(), key)
	if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		tb.Fatalf("get %s: got %q (nil: %v), %v, want %q", key, got, got == nil, err, want)
	}
}
