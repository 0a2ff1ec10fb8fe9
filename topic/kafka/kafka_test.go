package kafka_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// MustOpen opens a cluster whose topics have a name of their own.
func MustOpen(tb testing.TB, brokers []string, change ...func(*kafka.Config)) *kafka.Cluster {
	tb.Helper()
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: brokers})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := kafka.Default()
	cfg.Conn, cfg.Name, cfg.Logger = conn, devservers.Name(tb), slog.New(slog.DiscardHandler)
	for _, f := range change {
		f(&cfg)
	}
	c, err := kafka.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

// MustOpenTopic opens a topic of three partitions.
func MustOpenTopic(tb testing.TB, c *kafka.Cluster, change ...func(*kafka.TopicConfig)) *kafka.Topic {
	tb.Helper()
	cfg := kafka.DefaultTopic()
	cfg.Name, cfg.Partitions, cfg.Logger = devservers.Name(tb), 3, slog.New(slog.DiscardHandler)
	for _, f := range change {
		f(&cfg)
	}
	t, err := c.OpenTopic(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// MustOpenStore opens a store of a new name.
func MustOpenStore(tb testing.TB, c *kafka.Cluster) *kafka.Store {
	tb.Helper()
	s, err := c.OpenStore(tb.Context(), devservers.Name(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// clusters are the brokers that the suites run on: one, and three where there are three.
func clusters(t *testing.T, run func(t *testing.T, brokers []string)) {
	t.Run("one broker", func(t *testing.T) { run(t, []string{devservers.Kafka(t)}) })
	t.Run("three brokers", func(t *testing.T) { run(t, three(t)) })
}

func three(tb testing.TB) []string {
	tb.Helper()
	brokers := os.Getenv("REFRAIN_TEST_KAFKA3")
	if brokers == "" {
		tb.Skip("no servers: REFRAIN_TEST_KAFKA3 is not set")
	}
	return strings.Split(brokers, ",")
}

func TestConformance(t *testing.T) {
	clusters(t, func(t *testing.T, brokers []string) {
		c := MustOpen(t, brokers)
		conformance.RunTopic(t, func(t *testing.T) topic.Topic { return MustOpenTopic(t, c) })
	})
}

func TestStoreConformance(t *testing.T) {
	clusters(t, func(t *testing.T, brokers []string) {
		c := MustOpen(t, brokers)
		conformance.RunStore(t, func(t *testing.T) topic.Store { return MustOpenStore(t, c) })
	})
}
