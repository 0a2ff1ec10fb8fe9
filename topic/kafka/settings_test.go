package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

// MustCreate creates a topic as an operator would, with settings of his own.
func MustCreate(tb testing.TB, addr, name string, partitions int, settings ...string) {
	tb.Helper()
	transport := &segmentio.Transport{MetadataTopics: []string{name}}
	defer transport.CloseIdleConnections()
	cfg := segmentio.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		cfg.ConfigEntries = append(cfg.ConfigEntries, segmentio.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	client := &segmentio.Client{Addr: segmentio.TCP(addr), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.CreateTopics(tb.Context(), &segmentio.CreateTopicsRequest{Topics: []segmentio.TopicConfig{cfg}})
	if err == nil {
		err = res.Errors[name]
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func topicConfig(tb testing.TB) kafka.TopicConfig {
	cfg := kafka.DefaultTopic()
	cfg.Name, cfg.Partitions, cfg.Logger = devservers.Name(tb), 2, slog.New(slog.DiscardHandler)
	cfg.MaxAge = 48 * time.Hour
	return cfg
}

// TestSettingsRefused: a topic with which records could get lost is refused, and the command that mends it is named.
func TestSettingsRefused(t *testing.T) {
	addr := devservers.Kafka(t)
	c := MustOpen(t, []string{addr})
	for setting, says := range map[string]string{
		"cleanup.policy=compact":               "cleanup.policy is compact, want delete",
		"message.timestamp.type=LogAppendTime": "message.timestamp.type is LogAppendTime, want CreateTime",
		"unclean.leader.election.enable=true":  "unclean.leader.election.enable is true, want false",
	} {
		t.Run(setting, func(t *testing.T) {
			cfg := topicConfig(t)
			MustCreate(t, addr, cfg.Name, 2, setting)
			_, err := c.OpenTopic(t.Context(), cfg)
			var refused *kafka.SettingsError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(),
				"kafka-configs.sh --bootstrap-server "+addr+" --alter --entity-type topics --entity-name "+cfg.Name+" --add-config ") {
				t.Errorf("got %v, want one that says %q and the command", err, says)
			}
		})
	}
}

// TestSettingsRaised: what drops nothing that anybody counts on we set ourselves.
func TestSettingsRaised(t *testing.T) {
	addr := devservers.Kafka(t)
	c := MustOpen(t, []string{addr})
	cfg := topicConfig(t)
	MustCreate(t, addr, cfg.Name, 2, "retention.ms=1000", "max.message.bytes=1000000", "retention.bytes=1000000000")
	for range 2 {
		x, err := c.OpenTopic(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		conformance.MustAppend(t, x, topic.Record{Data: make([]byte, 4<<20)})
	}
}

// TestFixed: partitions and what else the content depends on cannot change.
func TestFixed(t *testing.T) {
	c := MustOpen(t, []string{devservers.Kafka(t)})
	cfg := topicConfig(t)
	cfg.Fixed = map[string]string{"min_tokens": "4"}
	if _, err := c.OpenTopic(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	again := MustOpen(t, []string{devservers.Kafka(t)}, func(k *kafka.Config) { k.Name = c.Name() })
	for name, change := range map[string]func(*kafka.TopicConfig){
		"min_tokens": func(c *kafka.TopicConfig) { c.Fixed = map[string]string{"min_tokens": "5"} },
		"text":       func(c *kafka.TopicConfig) { c.Fixed = map[string]string{"text": "1"} },
		"partitions": func(c *kafka.TopicConfig) { c.Partitions = 3 },
	} {
		other := cfg
		change(&other)
		var fixed *topic.FixedError
		if _, err := again.OpenTopic(t.Context(), other); !errors.As(err, &fixed) || fixed.Setting != name || fixed.Topic != cfg.Name {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := again.OpenTopic(t.Context(), cfg); err != nil {
		t.Errorf("as it was made: %v", err)
	}
}

// TestLineageIsKept: a topic has one name for its life, whoever opens it; one that is created again has another.
func TestLineageIsKept(t *testing.T) {
	addr := devservers.Kafka(t)
	c := MustOpen(t, []string{addr})
	cfg := topicConfig(t)
	id := func(c *kafka.Cluster) string {
		x, err := c.OpenTopic(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return x.Lineage().Current()
	}
	first := id(c)
	if again := id(MustOpen(t, []string{addr}, func(k *kafka.Config) { k.Name = c.Name() })); again != first {
		t.Errorf("opened again: %s, was %s", again, first)
	}
	MustDelete(t, addr, cfg.Name)
	if anew := id(MustOpen(t, []string{addr}, func(k *kafka.Config) { k.Name = c.Name() })); anew == first {
		t.Errorf("created again: still %s", anew)
	}
}

// TestOpenedAtOnce: processes that open a new topic together agree on its name.
func TestOpenedAtOnce(t *testing.T) {
	addr := devservers.Kafka(t)
	name, cfg := devservers.Name(t), topicConfig(t)
	ids := make(chan string)
	for range 4 {
		c := MustOpen(t, []string{addr}, func(k *kafka.Config) { k.Name = name })
		go func() {
			x, err := c.OpenTopic(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				ids <- ""
				return
			}
			ids <- x.Lineage().Current()
		}()
	}
	first := <-ids
	for range 3 {
		if id := <-ids; id != first {
			t.Errorf("%s and %s", id, first)
		}
	}
}

// MustDelete deletes a topic, and waits until it is gone.
func MustDelete(tb testing.TB, addr, name string) {
	tb.Helper()
	transport := &segmentio.Transport{MetadataTopics: []string{name}}
	defer transport.CloseIdleConnections()
	client := &segmentio.Client{Addr: segmentio.TCP(addr), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.DeleteTopics(tb.Context(), &segmentio.DeleteTopicsRequest{Topics: []string{name}})
	if err == nil {
		err = res.Errors[name]
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// TestLostEnd: a reader whose topic ends below its position says so, and goes no further.
func TestLostEnd(t *testing.T) {
	addr := devservers.Kafka(t)
	x := MustOpenTopic(t, MustOpen(t, []string{addr}), onePartition)
	conformance.MustAppend(t, x, topic.Record{Data: []byte("a")}, topic.Record{Data: []byte("b")})
	r := conformance.MustOpen(t, x, 0)
	conformance.MustFetch(t, r, 2)
	MustDelete(t, addr, x.Name())
	MustCreate(t, addr, x.Name(), 1)
	for range 2 {
		if _, err := r.Fetch(t.Context()); !errors.Is(err, topic.ErrBeyondEnd) || !strings.Contains(err.Error(), "have lost records") {
			t.Errorf("got %v, want ErrBeyondEnd", err)
		}
	}
}

// TestMadeAnew: a topic that somebody has made anew, and that has grown past where a reader stands, is another one: for the
// reader, and for what is stored of its positions.
func TestMadeAnew(t *testing.T) {
	addr := devservers.Kafka(t)
	c := MustOpen(t, []string{addr})
	x := MustOpenTopic(t, c, onePartition)
	conformance.MustAppend(t, x, topic.Record{Data: []byte("a")}, topic.Record{Data: []byte("b")})
	readers := []topic.Reader{conformance.MustOpen(t, x, 0), conformance.MustOpen(t, x, 2)} // one has read, the other has not
	conformance.MustFetch(t, readers[0], 2)
	mustWait(t, readers[1])
	MustDelete(t, addr, x.Name())
	MustCreate(t, addr, x.Name(), 1, "retention.ms=-1", "max.message.bytes=10000000")
	other := MustOpenTopic(t, MustOpen(t, []string{addr}), onePartition, func(c *kafka.TopicConfig) { c.Name = x.Name() })
	for i := range 5 {
		conformance.MustAppend(t, other, topic.Record{Data: fmt.Append(nil, i)})
	}
	for i, r := range readers {
		if records, err := r.Fetch(t.Context()); !errors.Is(err, topic.ErrBeyondEnd) {
			t.Errorf("reader %d: got %v, %v, want ErrBeyondEnd", i, records, err)
		}
	}
	if err := c.Lost(); !errors.Is(err, topic.ErrBeyondEnd) {
		t.Errorf("lost: %v", err)
	}
	again := MustOpenTopic(t, MustOpen(t, []string{addr}, func(k *kafka.Config) { k.Name = c.Name() }), onePartition,
		func(c *kafka.TopicConfig) { c.Name = x.Name() })
	if valid, known := topic.ValidEnds(again, x.Lineage().Current(), []int64{5}); !known || valid[0] != 0 {
		t.Errorf("positions of before are valid up to %v, %v; want 0", valid, known)
	}
}

// mustWait lets a reader look, which has nothing to read.
func mustWait(t *testing.T, r topic.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if records, err := r.Fetch(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, %v", records, err)
	}
}

// TestPartitionsAdded: those that somebody adds stay empty, also for whoever opens the topic later.
func TestPartitionsAdded(t *testing.T) {
	addr := devservers.Kafka(t)
	c := MustOpen(t, []string{addr})
	x := MustOpenTopic(t, c)
	conformance.MustAppend(t, x, topic.Record{Partition: 2, Data: []byte("a")})
	transport := &segmentio.Transport{MetadataTopics: []string{x.Name()}}
	defer transport.CloseIdleConnections()
	client := &segmentio.Client{Addr: segmentio.TCP(addr), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.CreatePartitions(t.Context(), &segmentio.CreatePartitionsRequest{
		Topics: []segmentio.TopicPartitionsConfig{{Name: x.Name(), Count: 5}}})
	if err != nil || res.Errors[x.Name()] != nil {
		t.Fatal(err, res)
	}
	again := MustOpenTopic(t, MustOpen(t, []string{addr}, func(k *kafka.Config) { k.Name = c.Name() }),
		func(c *kafka.TopicConfig) { c.Name = x.Name() })
	for i, x := range []topic.Topic{x, again} {
		conformance.MustAppend(t, x, topic.Record{Partition: 2, Data: []byte("b")})
		conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 2+i)
	}
}

// TestClocks: a stamp that is far from the broker's clock is refused where stamps matter, and a Put measures our clock.
func TestClocks(t *testing.T) {
	behind := func() time.Time { return time.Now().Add(-time.Minute) }
	c := MustOpen(t, []string{devservers.Kafka(t)}, func(c *kafka.Config) { c.Now = behind })
	x := MustOpenTopic(t, c, func(c *kafka.TopicConfig) { c.Now, c.Prompt = behind, true })
	if err := x.Append(t.Context(), []topic.Record{{Data: []byte("a")}}); err == nil || !strings.Contains(err.Error(), "compare the clocks") {
		t.Errorf("append: %v, want a refusal", err)
	}
	conformance.MustPut(t, MustOpenStore(t, c), "a", []byte("b"))
	if skew, ok := c.Skew(); !ok || skew > -59*time.Second || skew < -61*time.Second {
		t.Errorf("skew %v, want a minute behind", skew)
	}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), " behind the broker's") {
		t.Errorf("check: %v, want the clock", err)
	}
}

// TestMissingRights: the right that is missing is named, with the topic.
func TestMissingRights(t *testing.T) {
	allow := func(r kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: r, Name: name, Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: op, Allow: true}
	}
	f := fake(t, 1, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "root"),
		kfake.User("PLAIN", "poor", "poor", allow(kmsg.ACLResourceTypeTopic, "ours", kmsg.ACLOperationAll)))
	open := func(user string) *kafka.Cluster {
		conn, err := kafkaconn.New(kafkaconn.Config{Brokers: f.ListenAddrs(),
			SASL: &kafkaconn.SASL{Mechanism: "plain", User: user, Password: user}})
		if err != nil {
			t.Fatal(err)
		}
		return MustOpen(t, nil, func(c *kafka.Config) { c.Conn, c.Name = conn, "ours" })
	}
	open("root")
	cfg := topicConfig(t)
	cfg.Name = "theirs"
	_, err := open("poor").OpenTopic(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "the right to") || !strings.Contains(err.Error(), "--topic theirs") {
		t.Errorf("got %v, want the right that is missing", err)
	}
}
