package record_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"refrain/lookup"
	"refrain/lookup/boltstore"
	"refrain/lookup/record"
	"refrain/lookup/redisstore"
	"refrain/lookup/storetest"
)

// TestPages runs the suite where nearly every post has more facts than one page takes.
func TestPages(t *testing.T) {
	record.SetMaxFacts(1)
	t.Cleanup(func() { record.SetMaxFacts(32) })
	quiet := slog.New(slog.DiscardHandler)
	var n atomic.Int64
	stores := map[string]storetest.Open{
		"bolt": func(tb testing.TB, now func() time.Time, retention time.Duration) lookup.Store {
			path := filepath.Join(t.TempDir(), fmt.Sprint(n.Add(1)))
			return must(boltstore.Open(boltstore.Config{Path: path, Retention: retention, Now: now, Logger: quiet}))(tb)
		},
	}
	server := "redis://" + miniredis.RunT(t).Addr()
	stores["redis"] = func(tb testing.TB, now func() time.Time, retention time.Duration) lookup.Store {
		cfg := redisstore.Default()
		cfg.URL, cfg.Prefix, cfg.Retention, cfg.Now, cfg.Logger = server, fmt.Sprint(n.Add(1), ":"), retention, now, quiet
		return must(redisstore.Open(cfg))(tb)
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { storetest.Run(t, open) })
	}
}

func must[S any](s S, err error) func(testing.TB) S {
	return func(tb testing.TB) S {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
}
