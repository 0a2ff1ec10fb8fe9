package boltstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/lookup"
	"refrain/lookup/record"
	"refrain/lookup/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(tb testing.TB, path string, now func() time.Time) *Store {
	tb.Helper()
	s, err := Open(Config{Path: path, Retention: storetest.Retention, Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	var n atomic.Int64
	dir := t.TempDir()
	storetest.Run(t, func(tb testing.TB, now func() time.Time, _ time.Duration) lookup.Store {
		s := mustOpen(tb, filepath.Join(dir, fmt.Sprint(n.Add(1))), now)
		s.file.db.NoSync = true // no power is cut here
		return s
	})
}

func event(i int) lookup.Change {
	o := feed.Occurrence{Post: fmt.Sprint(i), Time: feed.Time(10 + i), Author: "a", Text: strings.Repeat("words ", 20)}
	return lookup.Change{Match: storetest.Match(o, feed.Occurrence{Post: fmt.Sprint("origin", i/3), Time: 1},
		feed.GroupHash([]uint64{uint64(i / 3)}), 1)}
}

func TestTheFileKeepsDataAndCursor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "lookup.db")
	s := mustOpen(t, path, time.Now)
	if _, err := Open(Config{Path: path, Retention: storetest.Retention, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one: %v", err)
	}
	if err := s.Apply(t.Context(), []lookup.Change{event(1)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "c", []byte("7")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reuse(t.Context(), "", "1", lookup.Page{}); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("a closed store: %v", err)
	}
	s = mustOpen(t, path, time.Now)
	defer s.Close()
	r, err := s.Reuse(t.Context(), "", "1", lookup.Page{})
	if v, errGet := s.Get(t.Context(), "c"); err != nil || errGet != nil || len(r.RepeatOf) != 1 || string(v) != "7" {
		t.Errorf("%+v, %v; cursor %q, %v", r, err, v, errGet)
	}
}

// TestACopyGoesBackWithItsCursor: a file copied while it is used holds a cursor that stands for what is in the copy.
func TestACopyGoesBackWithItsCursor(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "lookup.db"), time.Now)
	defer s.Close()
	for i := range 10 {
		if err := s.Apply(t.Context(), []lookup.Change{event(i)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "c", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := s.file.db.View(func(tx *bbolt.Tx) error { return tx.CopyFile(path, 0o600) }); err != nil {
			t.Fatal(err)
		}
		older := mustOpen(t, path, time.Now)
		cursor, err := older.Get(t.Context(), "c")
		if err != nil || i > 0 && string(cursor) != fmt.Sprint(i-1) {
			t.Errorf("copy %d: cursor %q, %v", i, cursor, err)
		}
		for j := range i + 1 {
			r, err := older.Reuse(t.Context(), "", fmt.Sprint(j), lookup.Page{})
			if err != nil || len(r.RepeatOf) != 1 {
				t.Errorf("copy %d lacks event %d: %v", i, j, err)
			}
		}
		older.Close()
	}
}

// TestWhatIsOverIsSwept: the file does not grow with time.
func TestWhatIsOverIsSwept(t *testing.T) {
	clock := storetest.NewClock()
	s := mustOpen(t, filepath.Join(t.TempDir(), "lookup.db"), clock.Now)
	defer s.Close()
	s.file.db.NoSync = true // no power is cut here
	sizes := make([]int, 0, 60)
	for round := range 60 {
		var batch []lookup.Change
		for i := range 200 {
			batch = append(batch, event(round*200+i))
		}
		if err := s.Apply(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		clock.Advance(storetest.Retention / 8)
		sizes = append(sizes, s.buckets(t))
	}
	if got := sizes[len(sizes)-1]; got > record.Slices+2 {
		t.Errorf("%d slices in the file: %v", got, sizes)
	}
}

func (s *Store) buckets(t *testing.T) (n int) {
	t.Helper()
	err := s.file.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if _, ok := sliceOf(name); ok {
				n++
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
