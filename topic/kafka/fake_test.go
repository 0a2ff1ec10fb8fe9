package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
	"refrain/split"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

// fake is a cluster in this process, which does wrong what it is told to. That it works is no proof for Kafka.
func fake(t *testing.T, brokers int, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	f, err := kfake.NewCluster(append(opts, kfake.NumBrokers(brokers))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestConformanceOnAFake(t *testing.T) {
	c := MustOpen(t, fake(t, 3).ListenAddrs())
	conformance.RunTopic(t, func(t *testing.T) topic.Topic { return MustOpenTopic(t, c) })
	conformance.RunStore(t, func(t *testing.T) topic.Store { return MustOpenStore(t, c) })
}

// TestLostAcknowledgement: what was written and not acknowledged is an error, and split makes it again with a new stamp.
func TestLostAcknowledgement(t *testing.T) {
	f := fake(t, 3)
	x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()), onePartition)
	f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: x.Name(), Err: kerr.NotEnoughReplicasAfterAppend})
	cfg := split.Default()
	cfg.Sentences, cfg.Logger = x, slog.New(slog.DiscardHandler)
	s, err := split.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	post := feed.Post{ID: "1", Text: "one two three four five", Time: feed.FromTime(time.Now()), Timed: true}
	if err := s.Write(t.Context(), []feed.Post{post}, "s"); err != nil {
		t.Fatal(err)
	}
	var stamps []time.Time
	for _, r := range conformance.MustFetch(t, conformance.MustOpen(t, x, 0), 2) {
		if b, err := topic.DecodeBatch(r.Data); err != nil || len(b.Sentences) != 1 {
			t.Errorf("%+v, %v: not the sentence", b, err)
		}
		stamps = append(stamps, r.Time)
	}
	if !stamps[1].After(stamps[0]) {
		t.Errorf("stamps %v: the second is not a new one", stamps)
	}
}

// TestCompression: lz4 makes room for megabytes at both ends, so it is for batches that get smaller by it.
func TestCompression(t *testing.T) {
	f := fake(t, 1)
	x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()), onePartition)
	coded := make(chan int16, 1)
	f.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		var b kmsg.RecordBatch
		if err := b.ReadFrom(r.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records); err != nil {
			t.Errorf("batch: %v", err)
		}
		coded <- b.Attributes & 7
		return nil, nil, false
	})
	for size, want := range map[int]int16{100: 0, 100_000: 3} {
		conformance.MustAppend(t, x, topic.Record{Data: make([]byte, size)})
		if got := <-coded; got != want {
			t.Errorf("%d bytes: coding %d, want %d", size, got, want)
		}
	}
}

func onePartition(c *kafka.TopicConfig) { c.Partitions = 1 }

// TestPartlyRefusedAppend: where one partition has certainly not been written, and of another nobody knows, the append is the
// caller's to repeat.
func TestPartlyRefusedAppend(t *testing.T) {
	f := fake(t, 1)
	x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()))
	for p, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.RequestTimedOut} {
		f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: x.Name(), Partitions: []int32{int32(p)}, Err: err})
	}
	err := x.Append(t.Context(), []topic.Record{{Partition: 0, Data: []byte("a")}, {Partition: 1, Data: []byte("b")}})
	if err == nil {
		t.Error("it was sent again with the stamps of before")
	}
}

// TestRefusedAppend: what brokers have not written is sent again, and is there once.
func TestRefusedAppend(t *testing.T) {
	for _, refusal := range []*kerr.Error{kerr.NotEnoughReplicas, kerr.NotLeaderForPartition} {
		t.Run(refusal.Message, func(t *testing.T) {
			f := fake(t, 3)
			x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()))
			f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: x.Name(), Partitions: []int32{1}, Err: refusal, Count: 2})
			var want []topic.Record
			for p := range 3 {
				want = append(want, topic.Record{Partition: p, Data: []byte("a")}, topic.Record{Partition: p, Data: []byte("b")})
			}
			conformance.MustAppend(t, x, want...)
			conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), len(want))
			if _, end := conformance.MustBounds(t, x); end[0]+end[1]+end[2] != int64(len(want)) {
				t.Errorf("ends %v: something is there twice", end)
			}
		})
	}
}

// TestNotAcknowledged: brokers that take nothing for too long are an error, which Check repeats until they do again.
func TestNotAcknowledged(t *testing.T) {
	f := fake(t, 3)
	c := MustOpen(t, f.ListenAddrs(), func(c *kafka.Config) { c.Delta = time.Second })
	x := MustOpenTopic(t, c)
	h := f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: x.Name(), Err: kerr.NotEnoughReplicas, Count: -1})
	began := time.Now()
	err := x.Append(t.Context(), []topic.Record{{Data: []byte("a")}})
	if took := time.Since(began); !errors.Is(err, kafka.ErrNotAcknowledged) || took > 3*time.Second {
		t.Errorf("got %v after %v, want ErrNotAcknowledged after a second", err, took)
	}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), x.Name()) {
		t.Errorf("check: %v, want one that names the topic", err)
	}
	h.Remove()
	conformance.MustAppend(t, x, topic.Record{Data: []byte("b")})
	if err := c.Check(); err != nil {
		t.Errorf("check afterwards: %v", err)
	}
}

// TestLeaderMoves: appends and readers follow, and nothing is lost, twice or out of order.
func TestLeaderMoves(t *testing.T) {
	f := fake(t, 3)
	x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()))
	r := conformance.MustOpen(t, x, 0, 0, 0)
	const n = 30
	for i := range n {
		if i%10 == 5 {
			for p := range int32(3) {
				if err := f.MoveTopicPartition(x.Name(), p, (f.LeaderFor(x.Name(), p)+1)%3); err != nil {
					t.Fatal(err)
				}
			}
		}
		conformance.MustAppend(t, x, topic.Record{Partition: i % 3, Data: fmt.Append(nil, i)})
	}
	next := []int{0, 1, 2}
	for _, got := range conformance.MustFetch(t, r, n) {
		if want := fmt.Sprint(next[got.Partition]); string(got.Data) != want {
			t.Fatalf("partition %d: got %s, want %s", got.Partition, got.Data, want)
		}
		next[got.Partition] += 3
	}
}

// TestFailures: errors of the brokers have names, and say what to do.
func TestFailures(t *testing.T) {
	for _, test := range []struct {
		broker *kerr.Error
		want   error
		says   string
	}{
		{kerr.MessageTooLarge, topic.ErrTooLarge, "max.message.bytes"},
		{kerr.KafkaStorageError, topic.ErrFull, "disks"},
		{kerr.TopicAuthorizationFailed, nil, "--operation Write"},
		{kerr.InvalidTimestamp, nil, "compare the clocks"},
		{kerr.NotEnoughReplicasAfterAppend, nil, "start the brokers that are down"},
	} {
		t.Run(test.broker.Message, func(t *testing.T) {
			f := fake(t, 3)
			x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()))
			f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: x.Name(), Err: test.broker, Count: -1})
			err := x.Append(t.Context(), []topic.Record{{Data: []byte("a")}})
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) ||
				!strings.Contains(err.Error(), x.Name()) {
				t.Errorf("got %v, want %v that says %q and names the topic", err, test.want, test.says)
			}
		})
	}
}

// TestNobodyAnswers: Check says since when.
func TestNobodyAnswers(t *testing.T) {
	f := fake(t, 1)
	now := make(chan time.Duration, 1)
	now <- 0
	clock := func() time.Time {
		d := <-now
		now <- d
		return time.Now().Add(d)
	}
	c := MustOpen(t, f.ListenAddrs(), func(c *kafka.Config) { c.Now = clock })
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	<-now
	now <- time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		err := c.Check()
		if errors.Is(err, kafkaconn.ErrUnreachable) && strings.Contains(err.Error(), "no broker has answered since") {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("check: %v, want ErrUnreachable", err)
		}
	}
}

// TestPassingFailures: what a cluster that is choosing leaders, or lacks a broker, answers to the making of a topic is worth
// waiting for; a right that is missing is not.
func TestPassingFailures(t *testing.T) {
	for _, test := range []struct {
		broker *kerr.Error
		want   bool
	}{
		{kerr.RequestTimedOut, true},
		{kerr.NotController, true},
		{kerr.InvalidReplicationFactor, true},
		{kerr.UnknownServerError, true},
		{kerr.TopicAuthorizationFailed, false},
		{kerr.PolicyViolation, false},
	} {
		t.Run(test.broker.Message, func(t *testing.T) {
			f := fake(t, 3)
			c := MustOpen(t, f.ListenAddrs())
			f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: "made", Err: test.broker})
			cfg := kafka.DefaultTopic()
			cfg.Name, cfg.Logger = "made", slog.New(slog.DiscardHandler)
			if _, err := c.OpenTopic(t.Context(), cfg); err == nil || kafka.IsTemporary(err) != test.want {
				t.Errorf("%v: temporary %v, want %v", err, !test.want, test.want)
			}
		})
	}
}

// staleBroker lets all brokers answer about a topic as if it ended at end, as one does that stood still while others took over from
// it, until the function it returns is called.
func staleBroker(f *kfake.Cluster, name string, end int64) (heals func()) {
	var healed atomic.Bool
	fetches := f.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: name, Err: kerr.OffsetOutOfRange, Count: -1})
	f.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		asked := r.(*kmsg.ListOffsetsRequest)
		if healed.Load() || asked.Topics[0].Topic != name || asked.Topics[0].Partitions[0].Timestamp != -1 {
			return nil, nil, false
		}
		answer := asked.ResponseKind().(*kmsg.ListOffsetsResponse)
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = name
		for _, p := range asked.Topics[0].Partitions {
			one := kmsg.NewListOffsetsResponseTopicPartition()
			one.Partition, one.Offset = p.Partition, end
			t.Partitions = append(t.Partitions, one)
		}
		answer.Topics = append(answer.Topics, t)
		return answer, nil, true
	})
	return func() { healed.Store(true); fetches.Remove() }
}

// TestStaleBroker: one that has stood still, and knows less than those that lead now, has lost nothing.
func TestStaleBroker(t *testing.T) {
	f := fake(t, 3)
	c := MustOpen(t, f.ListenAddrs())
	name := devservers.Name(t) + "-state"
	x := MustOpenTopic(t, c, onePartition)
	s, err := c.OpenStore(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	conformance.MustAppend(t, x, topic.Record{Data: []byte("a")}, topic.Record{Data: []byte("b")})
	r := conformance.MustOpen(t, x, 0)
	conformance.MustFetch(t, r, 2)
	if err := s.Put(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	conformance.MustGet(t, s, "k", []byte("v"))
	heals := []func(){staleBroker(f, x.Name(), 1), staleBroker(f, name, 0)}
	mustWait(t, r)
	if _, err := s.Get(t.Context(), "k"); err == nil {
		t.Error("a value of a store that ends before it")
	}
	for _, heal := range heals {
		heal()
	}
	conformance.MustAppend(t, x, topic.Record{Data: []byte("c")})
	if got := conformance.MustFetch(t, r, 1); string(got[0].Data) != "c" {
		t.Errorf("got %q", got[0].Data)
	}
	conformance.MustGet(t, s, "k", []byte("v"))
	if err := c.Lost(); err != nil {
		t.Errorf("lost: %v", err)
	}
}

// TestLossLasts: what stays lost is.
func TestLossLasts(t *testing.T) {
	f := fake(t, 3)
	c := MustOpen(t, f.ListenAddrs())
	x := MustOpenTopic(t, c, onePartition)
	conformance.MustAppend(t, x, topic.Record{Data: []byte("a")}, topic.Record{Data: []byte("b")})
	r := conformance.MustOpen(t, x, 0)
	conformance.MustFetch(t, r, 2)
	staleBroker(f, x.Name(), 1)
	if _, err := r.Fetch(t.Context()); !errors.Is(err, topic.ErrBeyondEnd) {
		t.Errorf("got %v, want ErrBeyondEnd", err)
	}
}

// TestTopicIsClosed: it takes nothing, and is not missed; the cluster's others go on.
func TestTopicIsClosed(t *testing.T) {
	f := fake(t, 1)
	c := MustOpen(t, f.ListenAddrs())
	other := MustOpenTopic(t, c, onePartition)
	for range 3 {
		x := MustOpenTopic(t, c, onePartition)
		conformance.MustAppend(t, x, topic.Record{Data: []byte("a")})
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if err := x.Append(t.Context(), []topic.Record{{Data: []byte("b")}}); !errors.Is(err, topic.ErrClosed) {
			t.Fatalf("append: %v, want ErrClosed", err)
		}
	}
	conformance.MustAppend(t, other, topic.Record{Data: []byte("a")})
}
