package kafka

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"refrain/ingest"
	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 40 * time.Second

// cluster is a broker and a client of it that is not the one under test.
type cluster struct {
	tb     testing.TB
	addr   string
	client *kafka.Client
}

func newCluster(tb testing.TB, addr string) *cluster {
	transport := &kafka.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return &cluster{
		tb: tb, addr: addr, client: &kafka.Client{Addr: kafka.TCP(addr), Transport: transport, Timeout: 20 * time.Second},
	}
}

// shared is the shared broker with a new topic.
func shared(tb testing.TB, partitions int) (c *cluster, topic string) {
	c = newCluster(tb, devservers.Kafka(tb))
	topic = devservers.Name(tb)
	devservers.CreateTopic(tb, c.addr, topic, partitions)
	return c, topic
}

// write appends records to a partition, and returns the offset of the first.
func (c *cluster) write(topic string, partition int, records ...kafka.Record) int64 {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), patience)
	defer cancel()
	values := make([][]byte, len(records))
	for i := range records {
		values[i] = must(kafka.ReadAll(records[i].Value))
	}
	for {
		for i := range records { // each try reads them
			records[i].Value = kafka.NewBytes(values[i])
		}
		res, err := c.client.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
		})
		if err == nil && res.Error == nil {
			return res.BaseOffset
		}
		if err == nil && !res.Error.(kafka.Error).Temporary() || ctx.Err() != nil {
			c.tb.Fatalf("write to %s/%d: %v %v", topic, partition, err, res)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// post is a record that holds a post.
func post(id string) kafka.Record {
	return value(fmt.Sprintf(`{"id":%q,"text":"the text of %s"}`, id, id))
}

func posts_(prefix string, from, to int) []kafka.Record {
	var out []kafka.Record
	for i := from; i < to; i++ {
		out = append(out, post(fmt.Sprintf("%s%d", prefix, i)))
	}
	return out
}

func value(s string) kafka.Record { return kafka.Record{Value: kafka.NewBytes([]byte(s))} }

// config is that of a member of the topic's group, quick enough for tests.
func (c *cluster) config(topics ...string) Config {
	cfg := Default()
	cfg.Conn, cfg.Topics, cfg.Group = kafkaconn.Config{Brokers: []string{c.addr}}, topics, "group-"+topics[0]
	cfg.CommitEvery, cfg.Session, cfg.Logger = 50*time.Millisecond, 3*time.Second, testLog(c.tb)
	return cfg
}

func mustOpen(tb testing.TB, cfg Config) *Source {
	tb.Helper()
	s, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// next takes one batch, which must come.
func next(tb testing.TB, s *Source) ingest.Batch {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	b, err := s.Next(ctx)
	if err != nil {
		tb.Fatalf("next: %v", err)
	}
	return b
}

// consume reads batches until they hold n posts and rejections, and acknowledges them.
func consume(tb testing.TB, s *Source, n int) (all ingest.Batch) {
	tb.Helper()
	for len(all.Posts)+len(all.Rejected) < n {
		b := next(tb, s)
		b.Done(nil)
		all.Posts = append(all.Posts, b.Posts...)
		all.Rejected = append(all.Rejected, b.Rejected...)
		all.Notes = append(all.Notes, b.Notes...)
		all.Partition, all.Trace = b.Partition, b.Trace
	}
	return all
}

// silent reports whether nothing comes for a while in which it would have.
func silent(tb testing.TB, s *Source) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 700*time.Millisecond)
	defer cancel()
	if b, err := s.Next(ctx); err == nil {
		tb.Errorf("got %d posts and %d rejections, want nothing more", len(b.Posts), len(b.Rejected))
	}
}

// ids counts how often each post came.
type ids map[string]int

func (n ids) add(b ingest.Batch) {
	for _, p := range b.Posts {
		n[p.ID]++
	}
}

// committed is what the group has committed for a partition, -1 without.
func (c *cluster) committed(group, topic string, partition int) (at int64) {
	c.tb.Helper()
	until(c.tb, "the offset of the group", func() bool {
		res, err := c.client.OffsetFetch(c.tb.Context(), &kafka.OffsetFetchRequest{
			GroupID: group, Topics: map[string][]int{topic: {partition}},
		})
		if err != nil || res.Error != nil {
			return false // a connection from before a restart
		}
		at = res.Topics[topic][0].CommittedOffset
		return true
	})
	return at
}

// until asks until something is so.
func until(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	deadline := time.After(patience)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-deadline:
			tb.Fatalf("waited in vain: %s", what)
		}
	}
}

// logged is a log that a test can look into.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// testLog shows the log of a test that fails.
func testLog(tb testing.TB) *slog.Logger {
	l := &logged{}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(l.String())
		}
	})
	return slog.New(slog.NewTextHandler(l, nil))
}
