package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/devservers"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

func leaseConfig(t *testing.T, client js.JetStream) jetstream.LeaseConfig {
	cfg := jetstream.DefaultLeases()
	cfg.JetStream, cfg.Bucket, cfg.Group, cfg.Parts, cfg.Member = client, devservers.Name(t), "sentences", 16, "a"
	cfg.TTL, cfg.Renew = time.Second, 200*time.Millisecond
	if _, err := client.CreateKeyValue(t.Context(), js.KeyValueConfig{Bucket: cfg.Bucket}); err != nil {
		t.Fatal(err)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	return cfg
}

func mustJoinLeases(t *testing.T, cfg jetstream.LeaseConfig) *jetstream.Leases {
	t.Helper()
	l, err := jetstream.JoinLeases(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// mustClient connects as a process of its own does.
func mustClient(t *testing.T, url string) js.JetStream {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	client, err := jetstream.NewJetStream(conn)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func runLeases(t *testing.T, client func(t *testing.T) js.JetStream) {
	conformance.RunMembership(t, func(t *testing.T) conformance.Group {
		cfg := leaseConfig(t, client(t))
		return conformance.Group{
			Parts: cfg.Parts, Settle: 3 * cfg.TTL,
			Join: func(t *testing.T, member string) topic.Membership {
				cfg := cfg
				cfg.Member = member
				return mustJoinLeases(t, cfg)
			},
			Kill: func(m topic.Membership) { m.(*jetstream.Leases).Kill() },
		}
	})
}

func TestLeases(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		runLeases(t, func(t *testing.T) js.JetStream { return MustStart(t).JetStream() })
	})
	t.Run("external", func(t *testing.T) {
		url := devservers.NATS(t)
		runLeases(t, func(t *testing.T) js.JetStream { return mustClient(t, url) })
	})
}

func mustNextParts(t *testing.T, m topic.Membership, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	parts, err := m.Next(ctx)
	for ; err == nil && len(parts) != n; parts, err = m.Next(ctx) {
	}
	if err != nil {
		t.Fatalf("waiting for %d parts: %v", n, err)
	}
}

// TestLeasesOutage: while the server is away nobody is dead, however long, and when it is back all goes on.
func TestLeasesOutage(t *testing.T) {
	server := devservers.StartNATS(t)
	cfg := leaseConfig(t, mustClient(t, server.Addr()))
	a := mustJoinLeases(t, cfg)
	cfg.JetStream, cfg.Member = mustClient(t, server.Addr()), "b"
	b := mustJoinLeases(t, cfg)
	want := topic.Deal(cfg.Parts, []string{"a", "b"})
	mustNextParts(t, a, len(want["a"]))
	mustNextParts(t, b, len(want["b"]))
	server.Kill()
	mustWait(t, a, 3*cfg.TTL)
	server.Start()
	mustWait(t, a, 3*cfg.TTL)
	mustWait(t, b, cfg.TTL)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	mustNextParts(t, a, cfg.Parts)
}

// mustWait checks that nothing changes for a while.
func mustWait(t *testing.T, m topic.Membership, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if parts, err := m.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, %v, want to wait", parts, err)
	}
}

func TestLeasesErrors(t *testing.T) {
	_, err := jetstream.JoinLeases(t.Context(), jetstream.LeaseConfig{Renew: time.Second})
	for _, want := range []string{"jetstream", "member", "parts", "renew: 1s, want a third"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestLeasesOtherParts: who was told another number of parts hears of it, and those who were there first go on.
func TestLeasesOtherParts(t *testing.T) {
	cfg := leaseConfig(t, MustStart(t).JetStream())
	a := mustJoinLeases(t, cfg)
	mustNextParts(t, a, cfg.Parts)
	cfg.Member, cfg.Parts = "b", cfg.Parts+1
	b := mustJoinLeases(t, cfg)
	parts, err := b.Next(t.Context())
	for ; err == nil && len(parts) == 0; parts, err = b.Next(t.Context()) {
	}
	if err == nil || !strings.Contains(err.Error(), "worker a deals out 16 parts") {
		t.Errorf("got %v, %v", parts, err)
	}
	mustWait(t, a, cfg.TTL)
}
