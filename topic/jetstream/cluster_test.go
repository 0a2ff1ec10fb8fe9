package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/devservers"
	"refrain/internal/natsconn"
	"refrain/internal/natsconn/natstest"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// takesLess is for servers that take messages of a megabyte, as they do without being asked.
func takesLess(c *jetstream.ClusterConfig) { c.MaxPayload = 1 << 20 }

func clusterConfig(tb testing.TB, at natsconn.Config, changes ...func(*jetstream.ClusterConfig)) jetstream.ClusterConfig {
	cfg := jetstream.DefaultCluster()
	cfg.Conn, cfg.Logger = at, slog.New(slog.NewTextHandler(tb.Output(), nil))
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

func mustConnect(tb testing.TB, at natsconn.Config, changes ...func(*jetstream.ClusterConfig)) *jetstream.Cluster {
	tb.Helper()
	c, err := jetstream.Connect(tb.Context(), clusterConfig(tb, at, changes...))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// mustOpenOn opens the topic of topicConfig, changed.
func mustOpenOn(tb testing.TB, c *jetstream.Cluster, changes ...func(*jetstream.TopicConfig)) *jetstream.Topic {
	tb.Helper()
	x, err := c.OpenTopic(tb.Context(), topicConfig(changes...))
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// many are the servers of a cluster as one address.
func many(servers []*natstest.Server) (at natsconn.Config) {
	for _, s := range servers {
		at.Servers = append(at.Servers, s.Config().Servers...)
	}
	return at
}

// payload lets a server take messages as large as ours may be.
func payload(o *server.Options) { o.MaxPayload = 8 << 20 }

// TestClusterConformance runs the suites on servers of others: one, and three that keep everything three times.
func TestClusterConformance(t *testing.T) {
	t.Run("one in process", func(t *testing.T) {
		runSuites(t, natstest.MustServer(t, payload).Config(), 1, false)
	})
	t.Run("three in process", func(t *testing.T) {
		at := many(natstest.MustCluster(t, 3, payload))
		runSuites(t, at, 3)
		testBoundsSeeAppends(t, mustOpenOn(t, mustConnect(t, at)))
	})
	t.Run("one", func(t *testing.T) {
		runSuites(t, natsconn.Config{Servers: []string{devservers.NATS(t)}}, 1, true)
	})
	t.Run("three", func(t *testing.T) {
		runSuites(t, natsconn.Config{Servers: devservers.NATS3(t)}, 3, false, true)
	})
}

func runSuites(t *testing.T, at natsconn.Config, replicas int, packed ...bool) {
	c := mustConnect(t, at)
	for _, packed := range packed {
		t.Run(fmt.Sprintf("topic packed=%v", packed), func(t *testing.T) {
			conformance.RunTopic(t, func(t *testing.T) topic.Topic {
				name := devservers.Name(t)
				x := mustOpenOn(t, c, func(c *jetstream.TopicConfig) { c.Name, c.Packed = name, packed })
				wantReplicas(t, c, name, replicas)
				removeAfter(t, c, name)
				return x
			})
		})
	}
	t.Run("store", func(t *testing.T) {
		conformance.RunStore(t, func(t *testing.T) topic.Store {
			name := devservers.Name(t)
			s, err := c.OpenStore(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			wantReplicas(t, c, "KV_"+name, replicas)
			removeAfter(t, c, "KV_"+name)
			return s
		})
	})
}

// testBoundsSeeAppends asks at once after each append: a server that is not the leader may not have it yet.
func testBoundsSeeAppends(t *testing.T, x topic.Topic) {
	for i := range int64(100) {
		conformance.MustAppend(t, x, topic.Record{Partition: 1, Data: make([]byte, 50_000)})
		if _, end := conformance.MustBounds(t, x); end[1] != i+2 {
			t.Fatalf("the end is %v after %d appends", end, i+1)
		}
	}
}

func wantReplicas(t *testing.T, c *jetstream.Cluster, stream string, want int) {
	t.Helper()
	if got := mustInfo(t, c, stream).Config; got.Replicas != want || got.AllowDirect {
		t.Errorf("stream %s has %d replicas, want %d; read from any of them: %v", stream, got.Replicas, want, got.AllowDirect)
	}
}

func mustInfo(t *testing.T, c *jetstream.Cluster, stream string) *js.StreamInfo {
	t.Helper()
	s, err := c.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo()
}

func removeAfter(tb testing.TB, c *jetstream.Cluster, stream string) {
	tb.Cleanup(func() {
		if err := c.JetStream().DeleteStream(context.WithoutCancel(tb.Context()), stream); err != nil {
			tb.Error(err)
		}
	})
}

// wantError wants an error that says all of what is asked for.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, want := range words {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

// TestClusterThatWillNotDo is refused at once, with what to set.
func TestClusterThatWillNotDo(t *testing.T) {
	for name, test := range map[string]struct {
		server func(*server.Options)
		change func(*jetstream.ClusterConfig)
		want   []string
	}{
		"small messages": {nil, nil, []string{"takes messages of 1048576 bytes, want 8388608", "set max_payload: 8388608"}},
		"no JetStream":   {func(o *server.Options) { o.JetStream = false; payload(o) }, nil, []string{"not enabled", "store_dir"}},
		"wrong password": {func(o *server.Options) { o.Username, o.Password = "a", "b" }, nil, []string{"Authorization"}},
		"wrong settings": {nil, func(c *jetstream.ClusterConfig) { c.Conn.Servers, c.Replicas = nil, 6 }, []string{"no servers", "replicas: 6"}},
		"negative and empty": {nil, func(c *jetstream.ClusterConfig) { c.Logger, c.Replicas, c.MaxPayload = nil, -1, 0 },
			[]string{"logger", "replicas: -1", "max payload: 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := clusterConfig(t, natstest.MustServer(t, test.server).Config())
			if test.change != nil {
				test.change(&cfg)
			}
			_, err := jetstream.Connect(t.Context(), cfg)
			wantError(t, err, test.want...)
		})
	}
}

// TestReplicasThatAServerAloneHasNot: asking for three is refused, leaving it open gives one.
func TestReplicasThatAServerAloneHasNot(t *testing.T) {
	at := natstest.MustServer(t, payload).Config()
	c := mustConnect(t, at, func(c *jetstream.ClusterConfig) { c.Replicas = 3 })
	_, err := c.OpenTopic(t.Context(), topicConfig())
	wantError(t, err, "no cluster: set topics.replicas to 1")
	_, err = c.OpenStore(t.Context(), "state")
	wantError(t, err, "set topics.replicas to 1")
	mustOpenOn(t, mustConnect(t, at))
}

// TestForeignSettings opens a topic whose stream somebody has changed, or made: each on a server of its own, since one may still
// be deleting what the case before has left.
func TestForeignSettings(t *testing.T) {
	mustCluster := func(t *testing.T) *jetstream.Cluster { return mustConnect(t, natstest.MustServer(t, payload).Config()) }
	for name, test := range map[string]struct {
		change func(*js.StreamConfig)
		want   []string
	}{
		"discard": {func(s *js.StreamConfig) { s.Discard = js.DiscardNew },
			[]string{"discard DiscardNew, want DiscardOld", "nats stream edit sentences --discard=old"}},
		"messages":    {func(s *js.StreamConfig) { s.MaxMsgs = 100 }, []string{"max messages 100, want no limit", "nats stream edit sentences --max-msgs=-1"}},
		"per subject": {func(s *js.StreamConfig) { s.MaxMsgsPerSubject = 7 }, []string{"per subject 7", "--max-msgs-per-subject=-1"}},
		"size":        {func(s *js.StreamConfig) { s.MaxMsgSize = 1000 }, []string{"max message size 1000", "--max-msg-size=-1"}},
		"no acks":     {func(s *js.StreamConfig) { s.NoAck = true }, []string{"acknowledgements off", "--ack"}},
		"subjects":    {func(s *js.StreamConfig) { s.Subjects = []string{"sentences.0", "other"} }, []string{"[sentences.0 other], want sentences.*"}},
		"purge":       {func(s *js.StreamConfig) { s.DenyPurge = true }, []string{"deny purge"}},
		"sealed":      {func(s *js.StreamConfig) { s.Sealed = true }, []string{"sealed", "nats stream rm sentences"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, purged := mustCluster(t), func(c *jetstream.TopicConfig) { c.Purged = true }
			mustOpenOn(t, c, purged)
			config := mustInfo(t, c, "sentences").Config
			test.change(&config)
			if _, err := c.JetStream().UpdateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			_, err := c.OpenTopic(t.Context(), topicConfig(purged))
			var setting *jetstream.SettingError
			if wantError(t, err, test.want...); !errors.As(err, &setting) || setting.Stream != "sentences" {
				t.Errorf("got %v, want a SettingError", err)
			}
		})
	}
	for name, test := range map[string]struct {
		made js.StreamConfig
		want []string
	}{
		"not of Refrain": {js.StreamConfig{Name: "sentences", Subjects: []string{"a"}}, []string{"not of Refrain", "topics.name", "nats stream rm sentences"}},
		"its subjects":   {js.StreamConfig{Name: "other", Subjects: []string{"sentences.>"}}, []string{"overlap", "nats stream find --subject='sentences.0'"}},
		"in memory": {js.StreamConfig{Name: "sentences", Subjects: []string{"sentences.*"}, Storage: js.MemoryStorage,
			Retention: js.InterestPolicy, Metadata: map[string]string{"refrain.partitions": "3"}},
			[]string{"storage Memory, want File", "retention Interest, want Limits"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustCluster(t)
			if _, err := c.JetStream().CreateStream(t.Context(), test.made); err != nil {
				t.Fatal(err)
			}
			_, err := c.OpenTopic(t.Context(), topicConfig())
			wantError(t, err, test.want...)
		})
	}
}

// TestLimitsOnlyGrow: a second process with smaller limits, or an operator's hand, takes nothing away.
func TestLimitsOnlyGrow(t *testing.T) {
	c := mustConnect(t, natstest.MustServer(t, payload).Config())
	for _, step := range []struct {
		age, wantAge     time.Duration
		bytes, wantBytes int64
	}{{time.Hour, time.Hour, 1 << 20, 1 << 20}, {2 * time.Hour, 2 * time.Hour, 1 << 21, 1 << 21},
		{time.Hour, 2 * time.Hour, 1 << 20, 1 << 21}, {0, 0, 0, -1}, {time.Hour, 0, 1 << 20, -1}} {
		mustOpenOn(t, c, func(c *jetstream.TopicConfig) { c.MaxAge, c.MaxBytes = step.age, step.bytes })
		if got := mustInfo(t, c, "sentences").Config; got.MaxAge != step.wantAge || got.MaxBytes != step.wantBytes {
			t.Errorf("after %v and %d: %v and %d, want %v and %d", step.age, step.bytes, got.MaxAge, got.MaxBytes, step.wantAge, step.wantBytes)
		}
	}
	_, err := c.OpenTopic(t.Context(), topicConfig(func(c *jetstream.TopicConfig) { c.Partitions = 4 }))
	var fixed *topic.FixedError
	if !errors.As(err, &fixed) || fixed.Is != "3" {
		t.Errorf("got %v, want a FixedError", err)
	}
}

// TestAccountLimits are explained with the account's own words.
func TestAccountLimits(t *testing.T) {
	s := natstest.MustServer(t, payload)
	for _, test := range []struct {
		limits server.JetStreamAccountLimits
		change func(*jetstream.TopicConfig)
		want   []string
	}{
		{server.JetStreamAccountLimits{MaxStore: 1 << 30, MaxStreams: 1, MaxConsumers: -1, MaxMemory: -1}, nil,
			[]string{"maximum number of streams", "nats account info"}},
		{server.JetStreamAccountLimits{MaxStore: 1 << 20, MaxStreams: -1, MaxConsumers: -1, MaxMemory: -1},
			func(c *jetstream.TopicConfig) { c.MaxBytes = 1 << 30 }, []string{"storage", "nats account info"}},
		{server.JetStreamAccountLimits{MaxStore: 1 << 30, MaxStreams: -1, MaxConsumers: -1, MaxMemory: -1, MaxBytesRequired: true}, nil,
			[]string{"max bytes", "topics.max_bytes"}},
	} {
		s.Limit(test.limits)
		c := mustConnect(t, s.Config())
		first, err := c.OpenStore(t.Context(), "first")
		if err == nil {
			conformance.MustPut(t, first, "a", []byte("b"))
		}
		if test.change == nil {
			test.change = func(*jetstream.TopicConfig) {}
		}
		_, err = c.OpenTopic(t.Context(), topicConfig(test.change))
		wantError(t, err, test.want...)
		s.Limit(server.JetStreamAccountLimits{MaxStore: -1, MaxStreams: -1, MaxConsumers: -1, MaxMemory: -1})
	}
}
