package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/internal/devservers"
)

// TestBrokerRestart: while the broker is away nothing ends, and when it is back nothing is lost or skipped. Its
// partitions count as waiting meanwhile.
func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	broker := devservers.StartKafka(t)
	c := newCluster(t, broker.Addr())
	topic := devservers.Name(t)
	devservers.CreateTopic(t, c.addr, topic, 2)
	s := mustOpen(t, c.config(topic))
	for p := range 2 {
		c.write(topic, p, posts_(fmt.Sprintf("%d-", p), 0, 2000)...)
	}
	got := ids{}
	got.add(consume(t, s, 900)) // and more is on its way
	broker.Kill()
	until(t, "both partitions wait", func() bool { return len(s.Waiting()) == 2 })
	broker.Start()
	for len(got) < 4000 {
		got.add(consume(t, s, 1))
	}
	until(t, "no partition waits", func() bool { return len(s.Waiting()) == 0 })
	for p := range 2 {
		until(t, "all is committed", func() bool { return c.committed(s.cfg.Group, topic, p) == 2000 })
	}
}

// TestRetentionOvertakesUs: what is deleted before it was read is told and counted, and reading goes on behind it.
func TestRetentionOvertakesUs(t *testing.T) {
	reader := sdk.NewManualReader()
	otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
	c, topic := shared(t, 1)
	c.write(topic, 0, posts_("", 0, 100)...)
	cfg := c.config(topic)
	cfg.BatchPosts = 10
	log := &logged{}
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := mustOpen(t, cfg)
	consume(t, s, 10)
	s.Close()
	c.deleteBefore(topic, 60)

	s = mustOpen(t, cfg)
	if got := next(t, s); got.Posts[0].ID != "60" {
		t.Errorf("went on with %s, want 60", got.Posts[0].ID)
	}
	if !strings.Contains(log.String(), "topic="+topic+" partition=0 from=10 to=59 records=50") {
		t.Errorf("log does not name the range:\n%s", log.String())
	}
	if n := measured(t, reader, "refrain_ingest_kafka_lost_records"); n != 50 {
		t.Errorf("counted %d records as lost, want 50", n)
	}
	if n := measured(t, reader, "refrain_ingest_kafka_lag"); n != 40 {
		t.Errorf("lag %d, want 40: nothing is acknowledged", n)
	}
}

// TestTopicMadeAnew: an offset beyond the end of the log is of another log; this one is read from its beginning.
func TestTopicMadeAnew(t *testing.T) {
	c, topic := shared(t, 1)
	c.write(topic, 0, posts_("old", 0, 100)...)
	cfg := c.config(topic)
	s := mustOpen(t, cfg)
	consume(t, s, 100)
	s.Close()
	if _, err := c.client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{topic}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the topic is made again", func() bool {
		res, err := c.client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
			Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 1, ReplicationFactor: 1}}})
		return err == nil && res.Errors[topic] == nil
	})
	c = newCluster(t, c.addr)
	c.write(topic, 0, posts_("new", 0, 5)...)
	// Where the brokers have kept the offsets of the old topic, they are beyond the end of the new one.
	if _, err := c.client.OffsetCommit(t.Context(), &kafka.OffsetCommitRequest{GroupID: cfg.Group, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: 0, Offset: 100}}}}); err != nil {
		t.Fatal(err)
	}
	got := consume(t, mustOpen(t, cfg), 5)
	if got.Posts[0].ID != "new0" {
		t.Errorf("began with %s", got.Posts[0].ID)
	}
	until(t, "the new offset is committed", func() bool { return c.committed(cfg.Group, topic, 0) == 5 })
}

// TestTransactions: posts of committed transactions come, those of aborted ones do not, and neither do the markers.
func TestTransactions(t *testing.T) {
	reader := sdk.NewManualReader()
	otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
	c, topic := shared(t, 1)
	a, b := c.transactional(topic, "a"), c.transactional(topic, "b")
	a.write(posts_("kept", 0, 3)...)
	a.commit()
	a.write(posts_("taken back", 0, 3)...)
	b.write(posts_("other", 0, 2)...) // between the records of an aborted one
	c.write(topic, 0, post("plain"))
	a.write(posts_("taken back too", 0, 1)...)
	a.abort()
	a.write(post("kept again"))
	a.commit()
	b.commit()

	cfg := c.config(topic)
	s := mustOpen(t, cfg)
	var got []string
	for _, p := range consume(t, s, 7).Posts {
		got = append(got, p.ID)
	}
	if want := "kept0 kept1 kept2 other0 other1 plain kept again"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	silent(t, s)
	until(t, "the last marker is passed", func() bool { return c.committed(cfg.Group, topic, 0) == 15 })
	for _, name := range []string{"refrain_ingest_kafka_control_records", "refrain_ingest_kafka_aborted_records"} {
		until(t, "4 of "+name, func() bool { return measured(t, reader, name) == 4 }) // counted behind the commit, perhaps
	}
}

// TestCompaction: what compaction has taken is no loss, not even a whole batch. Of that one an empty shell is kept, for
// its producer's sake; TestWhereAFetchEnds has such in other places. A broker has one thread for it, which goes where there is
// most to take: on a shared one this topic may wait for as long as the other tests run.
func TestCompaction(t *testing.T) {
	t.Parallel()
	c := newCluster(t, devservers.StartKafka(t).Addr())
	c.alter(kafka.ResourceTypeBroker, "1", "log.cleaner.backoff.ms", "100")
	topic := devservers.Name(t)
	devservers.CreateTopic(t, c.addr, topic, 1)
	for name, v := range map[string]string{"cleanup.policy": "compact", "segment.ms": "100",
		"min.cleanable.dirty.ratio": "0.001",
		"delete.retention.ms":       "0", "min.compaction.lag.ms": "0"} {
		c.alter(kafka.ResourceTypeTopic, topic, name, v)
	}
	c = newCluster(t, c.addr)
	p := c.transactional(topic, "") // idempotent: brokers keep its last batch, even an empty one
	keyed := func(key string, r kafka.Record) kafka.Record {
		r.Key = kafka.NewBytes([]byte(key))
		return r
	}
	var old []kafka.Record
	for i := range 50 {
		old = append(old, keyed(fmt.Sprint("k", i), post(fmt.Sprintf("old%d", i))))
	}
	p.write(old...)
	c.awaitSegmentEnd()
	var newer []kafka.Record
	for i := range 50 {
		newer = append(newer, keyed(fmt.Sprint("k", i), post(fmt.Sprintf("new%d", i))))
	}
	c.write(topic, 0, newer...) // by another producer
	c.awaitSegmentEnd()
	c.write(topic, 0, keyed("last", post("last"))) // the active segment is never compacted
	until(t, "compacted, to an empty batch and what follows", func() bool { return c.first(topic) == "" })

	log := &logged{}
	cfg := c.config(topic)
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := mustOpen(t, cfg)
	if got := consume(t, s, 51).Posts; got[0].ID != "new0" || got[50].ID != "last" {
		t.Errorf("got %s to %s", got[0].ID, got[50].ID)
	}
	if strings.Contains(log.String(), "lost") {
		t.Errorf("false alarm:\n%s", log.String())
	}
}

// alter changes a setting of a topic or broker.
func (c *cluster) alter(kind kafka.ResourceType, name, key, value string) {
	c.tb.Helper()
	res, err := c.client.IncrementalAlterConfigs(c.tb.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kind, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: key, Value: value,
				ConfigOperation: kafka.ConfigOperationSet}}}}})
	if err != nil || res.Resources[0].Error != nil {
		c.tb.Fatalf("alter %s: %v %v", key, err, res)
	}
}

// awaitSegmentEnd lets the clock pass the length of a segment: brokers take the time of records for it.
func (c *cluster) awaitSegmentEnd() { <-time.After(150 * time.Millisecond) }

// first is the value of the first record in the first batch of a partition, "" when that batch is empty.
func (c *cluster) first(topic string) string {
	c.tb.Helper()
	res, err := c.client.Fetch(c.tb.Context(), &kafka.FetchRequest{
		Topic: topic, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Second,
	})
	if err != nil || res.Error != nil {
		c.tb.Fatal(err, res)
	}
	r, err := res.Records.(*protocol.RecordStream).Records[0].ReadRecord()
	if err != nil {
		return ""
	}
	return string(must(kafka.ReadAll(r.Value)))
}

// measured adds up the points of an instrument.
func measured(tb testing.TB, reader *sdk.ManualReader, name string) (sum int64) {
	tb.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(tb.Context(), &all); err != nil {
		tb.Fatal(err)
	}
	found := false
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			found = true
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					sum += p.Value
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					sum += p.Value
				}
			}
		}
	}
	if !found {
		tb.Errorf("no metric %s", name)
	}
	return sum
}

// transactional is a producer with an id, which the library has none of: its batches are made by hand.
type transactional struct {
	*cluster
	topic, name string // name "": idempotent only
	session     *kafka.ProducerSession
	sequence    int32
	open        bool
}

func (c *cluster) transactional(topic, name string) *transactional {
	c.tb.Helper()
	if name != "" {
		name = topic + "-" + name
	}
	var session *kafka.ProducerSession
	until(c.tb, "a producer id", func() bool {
		res, err := c.client.InitProducerID(c.tb.Context(), &kafka.InitProducerIDRequest{
			TransactionalID: name, TransactionTimeoutMs: 60_000,
		})
		if err != nil || res.Error != nil {
			return false
		}
		session = res.Producer
		return true
	})
	return &transactional{cluster: c, topic: topic, name: name, session: session}
}

func (p *transactional) write(records ...kafka.Record) {
	p.tb.Helper()
	if p.name != "" && !p.open {
		p.begin()
	}
	res, err := p.client.RawProduce(p.tb.Context(), &kafka.RawProduceRequest{Topic: p.topic, RequiredAcks: kafka.RequireAll,
		TransactionalID: p.name, RawRecords: protocol.RawRecordSet{Reader: p.batch(records)}})
	if err != nil || res.Error != nil {
		p.tb.Fatalf("raw produce: %v %v", err, res)
	}
	p.sequence += int32(len(records))
}

// begin adds the partition to the transaction; the end of the one before may still be under way.
func (p *transactional) begin() {
	p.tb.Helper()
	until(p.tb, "a transaction begins", func() bool {
		res, err := p.client.AddPartitionsToTxn(p.tb.Context(), &kafka.AddPartitionsToTxnRequest{TransactionalID: p.name,
			ProducerID: p.session.ProducerID, ProducerEpoch: p.session.ProducerEpoch,
			Topics: map[string][]kafka.AddPartitionToTxn{p.topic: {{Partition: 0}}}})
		return err == nil && res.Topics[p.topic][0].Error == nil
	})
	p.open = true
}

func (p *transactional) commit() { p.end(true) }

func (p *transactional) abort() { p.end(false) }

func (p *transactional) end(commit bool) {
	p.tb.Helper()
	res, err := p.client.EndTxn(p.tb.Context(), &kafka.EndTxnRequest{TransactionalID: p.name, ProducerID: p.session.ProducerID,
		ProducerEpoch: p.session.ProducerEpoch, Committed: commit})
	if err != nil || res.Error != nil {
		p.tb.Fatalf("end transaction: %v %v", err, res)
	}
	p.open = false
}

// batch is a record batch of this producer: the library's, with its fields for producers filled in.
func (p *transactional) batch(records []kafka.Record) io.Reader {
	var out bytes.Buffer
	set := protocol.RecordSet{Version: 2, Records: protocol.NewRecordReader(records...)}
	if p.name != "" {
		set.Attributes = protocol.Transactional
	}
	if _, err := set.WriteTo(&out); err != nil {
		p.tb.Fatal(err)
	}
	b := out.Bytes()[4:] // behind the length
	binary.BigEndian.PutUint64(b[43:], uint64(p.session.ProducerID))
	binary.BigEndian.PutUint16(b[51:], uint16(p.session.ProducerEpoch))
	binary.BigEndian.PutUint32(b[53:], uint32(p.sequence))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return &out
}

// deleteBefore deletes the records of the first partition below an offset, as retention does.
func (c *cluster) deleteBefore(topic string, offset int64) {
	c.tb.Helper()
	m, err := c.client.Transport.RoundTrip(c.tb.Context(), c.client.Addr, &deleteRequest{TimeoutMs: 10_000,
		Topics: []deleteTopic{{Name: topic, Partitions: []deletePartition{{Offset: offset}}}}})
	if err != nil {
		c.tb.Fatal(err)
	}
	if code := m.(*deleteResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		c.tb.Fatalf("delete records: %v", kafka.Error(code))
	}
}

func init() { protocol.Register(&deleteRequest{}, &deleteResponse{}) } // the library has none for DeleteRecords

type deleteRequest struct {
	Topics    []deleteTopic `kafka:"min=v0,max=v1"`
	TimeoutMs int32         `kafka:"min=v0,max=v1"`
}

func (*deleteRequest) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

type deleteTopic struct {
	Name       string            `kafka:"min=v0,max=v1"`
	Partitions []deletePartition `kafka:"min=v0,max=v1"`
}

type deletePartition struct {
	Partition int32 `kafka:"min=v0,max=v1"`
	Offset    int64 `kafka:"min=v0,max=v1"`
}

type deleteResponse struct {
	ThrottleTimeMs int32                 `kafka:"min=v0,max=v1"`
	Topics         []deleteResponseTopic `kafka:"min=v0,max=v1"`
}

func (*deleteResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

type deleteResponseTopic struct {
	Name       string                    `kafka:"min=v0,max=v1"`
	Partitions []deleteResponsePartition `kafka:"min=v0,max=v1"`
}

type deleteResponsePartition struct {
	Partition    int32 `kafka:"min=v0,max=v1"`
	LowWatermark int64 `kafka:"min=v0,max=v1"`
	ErrorCode    int16 `kafka:"min=v0,max=v1"`
}
