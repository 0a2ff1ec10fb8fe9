package boltstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/lookup"
	"refrain/lookup/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(tb testing.TB, path string, now func() time.Time) *Store {
	tb.Helper()
	s, err := Open(Config{Path: path, Retention: storetest.Retention, Now: now})
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
		s.db.NoSync = true // no power is cut here
		return s
	})
}

func event(i int) lookup.Change {
	o := feed.Occurrence{Post: fmt.Sprint(i), Time: feed.Time(10 + i), Author: "a", Text: strings.Repeat("words ", 20)}
	return lookup.Change{Match: storetest.Match(o, feed.Occurrence{Post: fmt.Sprint("origin", i/3), Time: 1}, feed.GroupHash([]uint64{uint64(i / 3)}), 1)}
}

func TestTheFileKeepsDataAndCursor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "lookup.db")
	s := mustOpen(t, path, nil)
	if _, err := Open(Config{Path: path}); err == nil || !strings.Contains(err.Error(), "another process") {
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
	if _, err := s.Get(t.Context(), "c"); err == nil {
		t.Error("a closed store answers")
	}
	s = mustOpen(t, path, nil)
	defer s.Close()
	r, err := s.Reuse(t.Context(), "", "1", lookup.Page{})
	if v, errGet := s.Get(t.Context(), "c"); err != nil || errGet != nil || len(r.Repeats) != 1 || string(v) != "7" {
		t.Errorf("%+v, %v; cursor %q, %v", r, err, v, errGet)
	}
}
