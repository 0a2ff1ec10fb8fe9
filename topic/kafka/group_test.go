package kafka_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

const groupParts = 16

// groupConfig is a group over a topic of its own on the broker at addr.
func groupConfig(t *testing.T, addr string) kafka.GroupConfig {
	cfg := kafka.DefaultGroup()
	cfg.Group, cfg.Topic, cfg.Parts, cfg.Member = devservers.Name(t), devservers.Name(t), groupParts, "a"
	cfg.Session, cfg.Heartbeat, cfg.Rebalance = 1500*time.Millisecond, 200*time.Millisecond, 2*time.Second
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg.Conn = mustGroupConn(t, kafkaconn.Config{Brokers: []string{addr}})
	devservers.CreateTopic(t, addr, cfg.Topic, cfg.Parts)
	return cfg
}

func mustGroupConn(t *testing.T, cfg kafkaconn.Config) *kafkaconn.Conn {
	t.Helper()
	conn, err := kafkaconn.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func mustJoin(t *testing.T, cfg kafka.GroupConfig) *kafka.Group {
	t.Helper()
	g, err := kafka.JoinGroup(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func TestGroup(t *testing.T) {
	addr := devservers.Kafka(t)
	conformance.RunMembership(t, func(t *testing.T) conformance.Group {
		cfg := groupConfig(t, addr)
		return conformance.Group{
			Parts: cfg.Parts, Settle: 3 * cfg.Session,
			Join: func(t *testing.T, member string) topic.Membership {
				cfg := cfg
				cfg.Member = member
				return mustJoin(t, cfg)
			},
			Kill: func(m topic.Membership) { m.(*kafka.Group).Kill() },
		}
	})
}

// mustNext returns what the member has next, or ends the test.
func mustNext(t *testing.T, m topic.Membership) []int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	parts, err := m.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestGroupOutage: while the broker is away parts stay, and when it is back the group goes on.
func TestGroupOutage(t *testing.T) {
	broker := devservers.StartKafka(t)
	cfg := groupConfig(t, broker.Addr())
	a := mustJoin(t, cfg)
	if got := mustNext(t, a); len(got) != groupParts {
		t.Fatalf("alone: got %v", got)
	}
	broker.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*cfg.Session)
	defer cancel()
	if parts, err := a.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("without a broker: got %v, %v, want to wait", parts, err)
	}
	broker.Start()
	cfg.Member = "b"
	b := mustJoin(t, cfg)
	want := topic.Deal(groupParts, []string{"a", "b"})
	for got := mustNext(t, b); len(got) != len(want["b"]); got = mustNext(t, b) {
	}
	if got := mustNext(t, a); len(got) != len(want["a"]) {
		t.Errorf("got %v, want %v", got, want["a"])
	}
}

// TestGroupSASL joins over TLS, as a user.
func TestGroupSASL(t *testing.T) {
	addr, ca, user, password := devservers.KafkaSASL(t)
	cfg := groupConfig(t, devservers.Kafka(t))
	cfg.Conn = mustGroupConn(t, kafkaconn.Config{Brokers: []string{addr}, TLS: &kafkaconn.TLS{CA: ca},
		SASL: &kafkaconn.SASL{Mechanism: "scram-sha-256", User: user, Password: password}})
	if got := mustNext(t, mustJoin(t, cfg)); len(got) != groupParts {
		t.Errorf("got %v", got)
	}
}

func TestGroupErrors(t *testing.T) {
	addr := devservers.Kafka(t)
	t.Run("no topic", func(t *testing.T) {
		cfg := groupConfig(t, addr)
		cfg.Topic = devservers.Name(t)
		_, err := kafka.JoinGroup(t.Context(), cfg)
		var missing *kafkaconn.NoTopic
		if !errors.As(err, &missing) {
			t.Errorf("got %v, want a *NoTopic", err)
		}
	})
	t.Run("other number of partitions", func(t *testing.T) {
		cfg := groupConfig(t, addr)
		cfg.Parts++
		wantGroupError(t, cfg, "16 partitions")
	})
	t.Run("somebody else's group", func(t *testing.T) {
		cfg := groupConfig(t, addr)
		other := mustStranger(t, addr, cfg)
		if _, err := other.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantGroupError(t, cfg, "members of another kind")
	})
	t.Run("session too long", func(t *testing.T) {
		cfg := groupConfig(t, addr)
		cfg.Session = 24 * time.Hour
		wantGroupError(t, cfg, "group.max.session.timeout.ms")
	})
	t.Run("configuration", func(t *testing.T) {
		wantGroupError(t, kafka.GroupConfig{Heartbeat: time.Second}, "heartbeat")
	})
}

// wantGroupError joins and wants JoinGroup or the first Next to say so.
func wantGroupError(t *testing.T, cfg kafka.GroupConfig, want string) {
	t.Helper()
	g, err := kafka.JoinGroup(t.Context(), cfg)
	if err == nil {
		_, err = g.Next(t.Context())
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// mustStranger joins the group as a consumer that is not ours.
func mustStranger(t *testing.T, addr string, cfg kafka.GroupConfig) *kafkago.ConsumerGroup {
	t.Helper()
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{ID: cfg.Group, Brokers: []string{addr},
		Topics: []string{cfg.Topic}, JoinGroupBackoff: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	return group
}
