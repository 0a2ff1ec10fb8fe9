package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"refrain/lookup/redisstore"
)

func mustOpenAs(t *testing.T, server *miniredis.Miniredis, owner string) *redisstore.Store {
	t.Helper()
	cfg := redisstore.Default()
	cfg.URL, cfg.Owner = "redis://"+server.Addr(), owner
	s, err := redisstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestOnePrefixHasOneOwner: a second server is refused while the first one lives, and does not take its cursor for its
// own afterwards.
func TestOnePrefixHasOneOwner(t *testing.T) {
	server := miniredis.RunT(t)
	first, second := mustOpenAs(t, server, "first"), mustOpenAs(t, server, "second")
	if err := first.Put(t.Context(), "k", []byte("100")); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Get(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("the second one: %v", err)
	}
	if got, err := mustOpenAs(t, server, "first").Get(t.Context(), "k"); err != nil || string(got) != "100" {
		t.Errorf("the first one after a restart: %q, %v", got, err)
	}
	server.FastForward(time.Minute)
	if got, err := second.Get(t.Context(), "k"); err != nil || got != nil {
		t.Errorf("the second one later: %q, %v; want no cursor", got, err)
	}
	if err := second.Put(t.Context(), "k", []byte("7")); err != nil {
		t.Fatal(err)
	}
	if got, err := mustOpenAs(t, server, "second").Get(t.Context(), "k"); err != nil || string(got) != "7" {
		t.Errorf("the second one after a restart: %q, %v", got, err)
	}
}
