package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
)

func TestPostsComeInOrderFromSeveralTopics(t *testing.T) {
	c, a := shared(t, 2)
	b := a + "-b"
	devservers.CreateTopic(t, c.addr, b, 1)
	c.write(a, 0, posts_("a0-", 0, 1200)...)
	c.write(a, 1, posts_("a1-", 0, 300)...)
	c.write(b, 0, posts_("b0-", 0, 300)...)

	s := mustOpen(t, c.config(a, b))
	got := map[string][]string{}
	for n := 0; n < 1800; {
		batch := next(t, s)
		if len(batch.Posts) > 500 {
			t.Errorf("a batch of %d posts", len(batch.Posts))
		}
		for _, p := range batch.Posts {
			got[batch.Partition] = append(got[batch.Partition], p.ID)
		}
		n += len(batch.Posts)
		batch.Done(nil)
	}
	for partition, prefix := range map[string]string{a + "/0": "a0-", a + "/1": "a1-", b + "/0": "b0-"} {
		for i, id := range got["kafka/group-"+a+"/"+partition] {
			if id != fmt.Sprintf("%s%d", prefix, i) {
				t.Fatalf("%s: post %d is %s", partition, i, id)
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("partitions %v", got)
	}
	silent(t, s)
	until(t, "all is read", func() bool { return len(s.Waiting()) == 0 })
	s.Close()
	if at := c.committed("group-"+a, a, 0); at != 1200 {
		t.Errorf("committed %d after Close, want 1200", at)
	}
	if _, err := s.Next(t.Context()); err != io.EOF {
		t.Errorf("Next after Close: %v, want io.EOF", err)
	}
}

func TestFieldsSourceAndTime(t *testing.T) {
	c, topic := shared(t, 1)
	// not of last year: retention goes by it, and takes such records at once
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	c.write(topic, 0,
		kafka.Record{Time: at, Value: kafka.NewBytes([]byte(`{"uri":"1","body":"without a time"}`))},
		kafka.Record{
			Time:  at,
			Value: kafka.NewBytes([]byte(`{"uri":"2","body":"with one","created_at":"2019-01-01T00:00:00Z","source":"its own"}`)),
		})
	cfg := c.config(topic)
	cfg.SourceName = "ours"
	cfg.Fields, _ = feed.ParseFields("text=body,id=uri")
	got := consume(t, mustOpen(t, cfg), 2).Posts
	if p := got[0]; p.ID != "1" || p.Source != "ours" || p.Timed || p.Time != feed.FromTime(at) {
		t.Errorf("got %+v, want the time of the record and the source of the configuration", p)
	}
	if p := got[1]; p.Source != "its own" || !p.Timed || p.Time == feed.FromTime(at) {
		t.Errorf("got %+v, want its own time and source", p)
	}
}

// TestPoison: what is no post is rejected with its location and the reason, and what stands behind it goes on.
func TestPoison(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(`{"id":"wide","text":"sixteen bits"}`)) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	huge := `{"id":"huge","text":"` + strings.Repeat("x", 20_000_000) + `"}`
	c.write(topic, 0, post("first"))
	c.write(topic, 0, value("not json"))
	c.write(topic, 0, value(string(utf16le)))
	c.write(topic, 0, value("{\"id\":\"\xff\",\"text\":\"id in no encoding\"}"))
	c.write(topic, 0, value(huge))
	c.write(topic, 0, kafka.Record{Key: kafka.NewBytes([]byte("k"))})
	c.write(topic, 0, value(""))
	c.write(topic, 0, value(`{"id":"no text"}`))
	c.write(topic, 0, post("last"))

	got := consume(t, mustOpen(t, c.config(topic)), 9)
	if len(got.Posts) != 2 || got.Posts[0].ID != "first" || got.Posts[1].ID != "last" {
		t.Errorf("posts %+v", got.Posts)
	}
	want := []string{"want a JSON object", "UTF-16", "id: not valid Unicode", "20000023 bytes, and the limit is 8388608",
		`tombstone: no value (key "k")`, "empty", "text: missing"}
	for i, r := range got.Rejected {
		if place := fmt.Sprintf("kafka %s/0@%d", topic, i+1); r.Location != place || !strings.Contains(r.Reason, want[i]) {
			t.Errorf("rejected %q at %s, want %q at %s", r.Reason, r.Location, want[i], place)
		}
	}
	if big := got.Rejected[3]; len(big.Raw) != ingest.MaxRaw || !big.Truncated ||
		!strings.HasPrefix(string(big.Raw), `{"id":"huge"`) {
		t.Errorf("kept %d bytes of the huge one, truncated %v", len(big.Raw), big.Truncated)
	}
}

// TestLargeRecord: a record of 20 MB is read whole where the limit allows it, though a fetch asks for 1 MiB.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	c.write(topic, 0, value(`{"id":"huge","text":"short","extra":"`+strings.Repeat("x", 20_000_000)+`"}`))
	c.write(topic, 0, post("behind"))
	cfg := c.config(topic)
	cfg.MaxRecord = 32 << 20
	cfg.Memory = 1 << 20 // more than it may hold: it comes alone
	got := consume(t, mustOpen(t, cfg), 2).Posts
	if got[0].ID != "huge" || got[0].Text != "short" || got[1].ID != "behind" {
		t.Errorf("got %+v", got)
	}
}

func TestCompressedBatches(t *testing.T) {
	for _, codec := range []kafka.Compression{kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			c, topic := shared(t, 1)
			_, err := c.client.Produce(t.Context(), &kafka.ProduceRequest{Topic: topic, Compression: codec,
				RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(posts_("", 0, 700)...)})
			if err != nil {
				t.Fatal(err)
			}
			cfg := c.config(topic)
			cfg.BatchPosts = 100 // a batch ends in the middle of the producer's
			got := ids{}
			got.add(consume(t, mustOpen(t, cfg), 700))
			if len(got) != 700 {
				t.Errorf("got %d posts", len(got))
			}
		})
	}
}

// TestBomb: a batch that unpacks to more than is accepted is rejected as a whole, and what stands behind it goes on.
func TestBomb(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	c.write(topic, 0, post("before"))
	zeros := strings.Repeat("\x00", 40<<20)
	res, err := c.client.Produce(t.Context(), &kafka.ProduceRequest{Topic: topic, Compression: kafka.Gzip,
		RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(value(zeros), value(zeros))})
	if err != nil || res.Error != nil {
		t.Fatal(err, res)
	}
	c.write(topic, 0, post("behind"))
	got := consume(t, mustOpen(t, c.config(topic)), 3)
	if len(got.Posts) != 2 || got.Posts[0].ID != "before" || got.Posts[1].ID != "behind" {
		t.Errorf("posts %+v", got.Posts)
	}
	if len(got.Rejected) != 1 || got.Rejected[0].Location != fmt.Sprintf("kafka %s/0@2", topic) ||
		!strings.Contains(got.Rejected[0].Reason,
			"a whole batch of records, this offset its last: gzip: a batch that unpacks to more than 67108864 bytes") {
		t.Errorf("rejected %+v", got.Rejected)
	}
}

func TestUnknownTopic(t *testing.T) {
	c, topic := shared(t, 1)
	_, err := Open(t.Context(), c.config(topic, topic+"-2"))
	var missing *kafkaconn.NoTopic
	if !errors.As(err, &missing) || missing.Topic != topic+"-2" || !strings.Contains(err.Error(), "kafka-topics.sh") {
		t.Errorf("got %v, want that the second topic does not exist and how to create it", err)
	}
}

func TestWrongConfiguration(t *testing.T) {
	_, err := Open(t.Context(), Config{Conn: kafkaconn.Config{Brokers: []string{"127.0.0.1:1"}}, Start: "middle"})
	for _, want := range []string{"topics", "group", `start "middle"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s too", err, want)
		}
	}
}

// TestLatest: a new group begins with what is written after it was opened, whoever is assigned what and when; one
// that has begun goes on where it was.
func TestLatest(t *testing.T) {
	c, topic := shared(t, 2)
	c.write(topic, 0, posts_("old", 0, 10)...)
	cfg := c.config(topic)
	cfg.Start = Latest
	s := mustOpen(t, cfg)
	c.write(topic, 0, post("new")) // perhaps before the first generation
	if got := consume(t, s, 1); got.Posts[0].ID != "new" {
		t.Errorf("began with %s", got.Posts[0].ID)
	}
	until(t, "begun in the other partition too", func() bool { return c.committed(cfg.Group, topic, 1) == 0 })
	s.Close()
	c.write(topic, 1, post("meanwhile"))
	if got := consume(t, mustOpen(t, cfg), 1); got.Posts[0].ID != "meanwhile" {
		t.Errorf("went on with %s", got.Posts[0].ID)
	}
}

// TestNewPartition: posts in a partition that is added later are all read, whatever Start is.
func TestNewPartition(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	cfg := c.config(topic)
	cfg.Start = Latest
	s := mustOpen(t, cfg)
	c.write(topic, 0, post("begun"))
	consume(t, s, 1)
	_, err := c.client.CreatePartitions(t.Context(), &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.client.Transport.(*kafka.Transport).CloseIdleConnections() // forget the old metadata
	c.write(topic, 1, post("new"))
	if got := consume(t, s, 1); got.Posts[0].ID != "new" {
		t.Errorf("got %s", got.Posts[0].ID)
	}
}

// TestTrace: a batch goes on with the trace that its records share.
func TestTrace(t *testing.T) {
	c, topic := shared(t, 1)
	parent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	r := post("1")
	r.Headers = []kafka.Header{{Key: "other"}, {Key: "traceparent", Value: []byte(parent)},
		{Key: "tracestate", Value: []byte("congo=t61rcWkgMzE")}}
	c.write(topic, 0, r)
	if got := consume(t, mustOpen(t, c.config(topic)), 1); got.Trace != parent+" congo=t61rcWkgMzE" {
		t.Errorf("trace %q, want %q and its state", got.Trace, parent) // no tracer is set up here, so no span of its own
	}
}

// TestAssigned: the partitions are announced before their first post, and until it worked.
func TestAssigned(t *testing.T) {
	c, topic := shared(t, 2)
	c.write(topic, 0, post("1"))
	var calls [][]string
	cfg := c.config(topic)
	cfg.Assigned = func(_ context.Context, partitions []string) error {
		if calls = append(calls, partitions); len(calls) == 1 {
			return errors.New("not now")
		}
		return nil
	}
	s := mustOpen(t, cfg)
	consume(t, s, 1)
	want := []string{"kafka/" + cfg.Group + "/" + topic + "/0", "kafka/" + cfg.Group + "/" + topic + "/1"}
	if len(calls) != 2 || !slices.Equal(calls[1], want) {
		t.Errorf("announced %v, want twice %v", calls, want)
	}
}

// TestInFlight: who does not acknowledge gets so many batches of a partition, and no more.
func TestInFlight(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	c.write(topic, 0, posts_("", 0, 100)...)
	cfg := c.config(topic)
	cfg.BatchPosts, cfg.InFlight = 10, 2
	s := mustOpen(t, cfg)
	first, second := next(t, s), next(t, s)
	silent(t, s)
	if w := s.Waiting(); len(w) != 1 {
		t.Errorf("waiting %v, want the partition: it has records left", w)
	}
	second.Done(nil) // out of order
	third := next(t, s)
	silent(t, s)
	first.Done(nil)
	third.Done(nil)
	consume(t, s, 70)
	until(t, "all committed", func() bool { return c.committed(cfg.Group, topic, 0) == 100 })
}

// TestSASL: the ways to be let in, and those not to be: an error that says what to change.
func TestSASL(t *testing.T) {
	addr, ca, user, password := devservers.KafkaSASL(t)
	c, topic := shared(t, 1)
	c.write(topic, 0, post("1"))
	with := func(change func(*kafkaconn.Config)) Config {
		cfg := c.config(topic)
		cfg.Conn = kafkaconn.Config{Brokers: []string{addr}, TLS: &kafkaconn.TLS{CA: ca},
			SASL: &kafkaconn.SASL{Mechanism: "plain", User: user, Password: password}}
		change(&cfg.Conn)
		cfg.Group = devservers.Name(t)
		return cfg
	}
	for _, m := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(m, func(t *testing.T) {
			if got := consume(t, mustOpen(t, with(func(c *kafkaconn.Config) { c.SASL.Mechanism = m })), 1); got.Posts[0].ID != "1" {
				t.Errorf("got %v", got)
			}
		})
		t.Run(m+" with a wrong password", func(t *testing.T) {
			wantError(t, with(func(c *kafkaconn.Config) { c.SASL.Mechanism, c.SASL.Password = m, "guess" }),
				"refuses this user or password")
		})
	}
	for want, change := range map[string]func(*kafkaconn.Config){
		"wants a login":             func(c *kafkaconn.Config) { c.SASL = nil },
		"wants TLS":                 func(c *kafkaconn.Config) { c.TLS = nil },
		"tls.ca":                    func(c *kafkaconn.Config) { c.TLS.CA = "" },
		"tls.server_name":           func(c *kafkaconn.Config) { c.TLS.ServerName = "kafka.example.org" },
		"is it running":             func(c *kafkaconn.Config) { c.Brokers = []string{"127.0.0.1:1"} },
		"does not speak TLS":        func(kc *kafkaconn.Config) { kc.Brokers = []string{c.addr} },
		"leave sasl.mechanism empt": func(kc *kafkaconn.Config) { kc.Brokers, kc.TLS = []string{c.addr}, nil },
		"no such file":              func(c *kafkaconn.Config) { c.TLS.CA = "/nowhere.pem" },
		"want HOST:PORT":            func(c *kafkaconn.Config) { c.Brokers = []string{"localhost"} },
	} {
		t.Run(want, func(t *testing.T) { wantError(t, with(change), want) })
	}
}

func wantError(t *testing.T, cfg Config, want string) {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want something about %q", err, want)
	}
	if temporary := errors.Is(err, kafkaconn.ErrUnreachable); temporary != (want == "is it running") {
		t.Errorf("%v: said to be temporary: %v", err, temporary)
	}
}

// TestTombstonesKeepTheirPlace: a batch is written before what it deletes, so a post that is written again begins another.
func TestTombstonesKeepTheirPlace(t *testing.T) {
	c, topic := shared(t, 1)
	c.write(topic, 0, post("a"), kafka.Record{Key: kafka.NewBytes([]byte("a"))}, post("b"), post("a"))
	cfg := c.config(topic)
	cfg.Tombstones = DeletePost
	s := mustOpen(t, cfg)
	var got []string
	for posts := 0; posts < 3; {
		b, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		posts += len(b.Posts)
		for _, p := range b.Posts {
			got = append(got, "+"+p.ID)
		}
		for _, d := range b.Deleted {
			got = append(got, "-"+d.Post)
		}
		b.Done(nil)
	}
	if diff := cmp.Diff([]string{"+a", "+b", "-a", "+a"}, got); diff != "" {
		t.Errorf("written in this order (-want +got):\n%s", diff)
	}
}
