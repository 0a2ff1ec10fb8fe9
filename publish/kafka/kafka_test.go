package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
	"refrain/publish"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(n int) publish.Event {
	post := fmt.Sprint("p", n)
	return publish.Event{
		ID: fmt.Sprintf("e%d", n), Type: feed.ReuseType, Key: post, Offset: fmt.Sprintf("events/0@%d", n),
		Data: fmt.Appendf(nil, `{"specversion":"1.0","id":"e%d","data":{"later":{"post":%q}}}`, n, post),
	}
}

func events(from, to int) []publish.Event {
	var out []publish.Event
	for i := from; i < to; i++ {
		out = append(out, event(i))
	}
	return out
}

func config(addr, topic string) Config {
	return Config{Conn: kafkaconn.Config{Brokers: []string{addr}}, Topic: topic, Name: "reuse", Logger: slog.Default()}
}

func mustOpen(tb testing.TB, cfg Config) *Sink {
	tb.Helper()
	s, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// read returns what is in a topic, by partition.
func read(tb testing.TB, addr, topic string, partitions int) [][]kafka.Message {
	tb.Helper()
	out := make([][]kafka.Message, partitions)
	for p := range partitions {
		conn, err := kafka.DialLeader(tb.Context(), "tcp", addr, topic, p)
		if err != nil {
			tb.Fatal(err)
		}
		defer conn.Close()
		_, end, err := conn.ReadOffsets()
		if err != nil {
			tb.Fatal(err)
		}
		r := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{addr}, Topic: topic, Partition: p, MaxWait: 100 * time.Millisecond,
		})
		defer r.Close()
		for len(out[p]) < int(end) {
			m, err := r.ReadMessage(tb.Context())
			if err != nil {
				tb.Fatal(err)
			}
			out[p] = append(out[p], m)
		}
	}
	return out
}

func TestEventsAreBoundAsCloudEvents(t *testing.T) {
	addr, topic := devservers.Kafka(t), devservers.Name(t)
	devservers.CreateTopic(t, addr, topic, 4)
	s := mustOpen(t, config(addr, topic))
	sent := events(0, 1000)
	const parent, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "congo=t61rcWkgMzE"
	sent[7].Trace = parent + " " + state
	if err := s.Publish(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(t.Context(), []publish.Event{event(5)}); err != nil { // the post has more to say
		t.Fatal(err)
	}
	n := 0
	for p, messages := range read(t, addr, topic, 4) {
		last := -1
		for _, m := range messages {
			var id int
			if _, err := fmt.Sscanf(string(m.Key), "p%d", &id); err != nil {
				t.Fatal(err)
			}
			if want := event(id); string(m.Value) != string(want.Data) {
				t.Errorf("key %s: value %s", m.Key, m.Value)
			}
			if got := valueOf(m, "content-type"); got != "application/cloudevents+json; charset=UTF-8" {
				t.Errorf("content-type %q", got)
			}
			if got := strings.TrimSpace(valueOf(m, "traceparent") + " " + valueOf(m, "tracestate")); got != sent[id].Trace {
				t.Errorf("trace of %s: %q", m.Key, got)
			}
			if id <= last && id != 5 {
				t.Errorf("partition %d: %d after %d", p, id, last)
			}
			last = max(last, id)
			n++
		}
	}
	if n != 1001 {
		t.Errorf("%d records, want 1001", n)
	}
}

// javas are what Java's client 4.3.1 computes for 8 partitions: toPositive(murmur2(key)) % 8.
var javas = map[string]int{
	"": 1, "p1": 2, "p2": 2, "post 42": 6, "1234567890123456789": 0, "ünïcödé": 3, "at://did:plc:abc/app.bsky.feed.post/3k": 3,
}

func TestKeysLandWhereJavaPutsThem(t *testing.T) {
	for key, want := range javas {
		if got := partitionOf(key, 8); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

// TestBinaryMode has what sections 3.1 and 3.2 of the binding want.
func TestBinaryMode(t *testing.T) {
	addr, topic := devservers.Kafka(t), devservers.Name(t)
	devservers.CreateTopic(t, addr, topic, 1)
	cfg := config(addr, topic)
	cfg.Binary = true
	m := feed.Match{Later: feed.Occurrence{Post: "p\n1"}}
	sent := []publish.Event{{
		Key: "p%0A1", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Data: m.AppendEventOf(nil, &feed.Deployment{Name: "dep", Schemas: "https://x/"}),
	}, {Key: "p2", Data: []byte(`{"not":["an event"]}`)}}
	if err := mustOpen(t, cfg).Publish(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	got := read(t, addr, topic, 1)[0]
	for name, want := range map[string]string{
		"content-type": "application/json", "ce_specversion": "1.0", "ce_type": feed.ReuseType, "ce_source": "dep",
		"ce_id": m.ID.String(), "ce_time": "1970-01-01T00:00:00Z", "ce_subject": "p%0A1", "ce_partitionkey": "p%0A1",
		"ce_dataschema": "https://x/dev.refrain.reuse.v1.json", "traceparent": sent[0].Trace, "ce_datacontenttype": "",
	} {
		if value := valueOf(got[0], name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	var whole struct{ Data json.RawMessage }
	if err := json.Unmarshal(sent[0].Data, &whole); err != nil || string(got[0].Value) != string(whole.Data) {
		t.Errorf("value %s, want %s (%v)", got[0].Value, whole.Data, err)
	}
	if valueOf(got[1], "content-type") != "application/cloudevents+json; charset=UTF-8" || string(got[1].Value) != string(sent[1].Data) {
		t.Errorf("what is no event: %s", got[1].Value)
	}
}

func valueOf(m kafka.Message, name string) string {
	for _, h := range m.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

type letters struct {
	mu  sync.Mutex
	all []string
	err error
}

func (l *letters) Write(place, reason string, event []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf("%s: %s: %d", place, reason, len(event)))
	return l.err
}

// TestTooLarge: an event that no broker takes is a dead letter, and those around it are written, once.
func TestTooLarge(t *testing.T) {
	addr, topic := devservers.Kafka(t), devservers.Name(t)
	devservers.CreateTopic(t, addr, topic, 1)
	limit(t, addr, topic, "2000")
	dead := &letters{}
	cfg := config(addr, topic)
	cfg.Name, cfg.DeadLetters = "alerts", dead
	s := mustOpen(t, cfg)
	all := events(0, 100)
	all[42].Data = noise(1, 5000)
	if err := s.Publish(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range read(t, addr, topic, 1)[0] {
		seen[string(m.Key)]++
	}
	for i := range 100 {
		want := 1
		if i == 42 {
			want = 0
		}
		if got := seen[fmt.Sprint("p", i)]; got != want {
			t.Errorf("event %d is there %d times, want %d", i, got, want)
		}
	}
	if len(dead.all) != 1 || !strings.HasPrefix(dead.all[0], "kafka alerts events/0@42: 5000 bytes") {
		t.Errorf("dead letters %q", dead.all)
	}
	dead.err = errors.New("disk full")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Publish(ctx, all[42:43]); err == nil {
		t.Error("an event is gone that is not in the dead letters")
	}
}

// noise does not compress.
func noise(x uint32, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		out[i] = byte(x)
	}
	return out
}

func limit(tb testing.TB, addr, topic, bytes string) {
	tb.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	c := kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	_, err := c.IncrementalAlterConfigs(tb.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "max.message.bytes", Value: bytes,
				ConfigOperation: kafka.ConfigOperationSet}}}}})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestMissingTopic(t *testing.T) {
	addr, topic := devservers.Kafka(t), devservers.Name(t)
	_, err := Open(t.Context(), config(addr, topic))
	var missing *kafkaconn.NoTopic
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "--create --topic "+topic) {
		t.Errorf("got %v, want how to create the topic", err)
	}
}

// TestBrokerRestart: events published while the broker goes away and comes back are all there in the end.
func TestBrokerRestart(t *testing.T) {
	broker := devservers.StartKafka(t)
	topic := devservers.Name(t)
	devservers.CreateTopic(t, broker.Addr(), topic, 2)
	s := mustOpen(t, config(broker.Addr(), topic))
	if err := s.Publish(t.Context(), events(0, 10)); err != nil {
		t.Fatal(err)
	}
	broker.Stop()
	var published sync.WaitGroup
	published.Go(func() { // as Follow does
		for s.Publish(t.Context(), events(10, 500)) != nil && t.Context().Err() == nil {
		}
	})
	broker.Start()
	published.Wait()
	seen := map[string]bool{}
	for _, messages := range read(t, broker.Addr(), topic, 2) {
		for _, m := range messages {
			seen[string(m.Key)] = true
		}
	}
	if len(seen) != 500 {
		t.Errorf("%d of 500 events are there", len(seen))
	}
}

// TestPublishEndsWithItsContext while no broker answers.
func TestPublishEndsWithItsContext(t *testing.T) {
	addr, topic := devservers.Kafka(t), devservers.Name(t)
	devservers.CreateTopic(t, addr, topic, 1)
	s := mustOpen(t, config(addr, topic))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Publish(ctx, events(0, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoTopicGiven(t *testing.T) {
	if _, err := Open(t.Context(), config("127.0.0.1:1", "")); err == nil {
		t.Error("opened")
	}
}

// BenchmarkPublish is the rate of one sink that gets batches as Follow's are.
func BenchmarkPublish(b *testing.B) {
	addr, topic := devservers.Kafka(b), devservers.Name(b)
	devservers.CreateTopic(b, addr, topic, 4)
	s := mustOpen(b, config(addr, topic))
	batch := events(0, 300)
	for i := range batch {
		batch[i].Data = append(batch[i].Data, noise(uint32(i+1), 600)...)
	}
	b.ResetTimer()
	for range b.N {
		if err := s.Publish(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(batch)*b.N)/b.Elapsed().Seconds(), "events/s")
}
