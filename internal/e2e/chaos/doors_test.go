package chaos

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// TestBothDoors: 200,000 posts, half of them from a Kafka topic and half over HTTP, through two splits and four workers on
// three brokers give the events of detect.
func TestBothDoors(t *testing.T) {
	if !*e2e.Full {
		t.Skip("minutes: runs with -full")
	}
	from := devservers.StartKafka3(t)
	nats := devservers.StartNATS3(t)
	t.Run("kafka", func(t *testing.T) {
		throughBothDoors(t, broker{kind: "kafka", addrs: from.Addrs(), direct: from.Addrs()}, from.Addrs())
	})
	t.Run("nats", func(t *testing.T) {
		throughBothDoors(t, broker{kind: "nats", addrs: nats.Addrs(), direct: nats.Addrs()}, from.Addrs())
	})
}

func throughBothDoors(t *testing.T, b broker, from []string) {
	const n, topicPartitions = 200_000, 4
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	want := oracle.Sorted(e2e.Detect(t, posts, e2e.DefaultSettings(), nil))
	topic := devservers.Name(t)
	devservers.CreateTopic(t, from[0], topic, topicPartitions)
	d := newDeployment(t, b, scaled, partitions, "")
	d.yaml += fmt.Sprintf("ingest:\n  kafka:\n  - {brokers: [%s], topics: [%s], group: %[2]s}\n", from[0], topic)
	front := d.addAll(2, 4)
	d.awaitReady()
	f := newFeeder(d, 1, 0)
	lines := e2e.SplitLines(posts)
	byHTTP, byTopic := everySecond(lines, 0), everySecond(lines, 1)
	begin := time.Now()
	// Each split has a clock of its own for HTTP from its first post on.
	f.feed(t.Context(), byHTTP[:200], 0)
	var feeding sync.WaitGroup
	feeding.Go(func() { f.feed(t.Context(), byHTTP[200:], 0) })
	feeding.Go(func() { produce(t, from, topic, topicPartitions, byTopic) })
	feeding.Wait()
	accepted := time.Since(begin)
	front.Await(10*time.Minute, "posts of the topic", func() bool { return committed(t, from, topic, topicPartitions) >= len(byTopic) })
	got := front.Events()
	t.Logf("%d posts accepted in %v, looked up after %v, %d events", n, accepted, time.Since(begin), len(want))
	if missing, extra := oracle.Diff(slices.Compact(got), want); len(missing)+len(extra) > 0 {
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
}

func everySecond(lines [][]byte, from int) (some [][]byte) {
	for i := from; i < len(lines); i += 2 {
		some = append(some, lines[i])
	}
	return some
}

// produce writes posts in their order into the partitions of a topic.
func produce(t *testing.T, brokers []string, topic string, partitions int, lines [][]byte) {
	w := &kafka.Writer{Addr: kafka.TCP(brokers...), Topic: topic, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
		BatchSize: 1000, Balancer: kafka.BalancerFunc(func(m kafka.Message, all ...int) int { return all[int(m.Offset)%len(all)] })}
	defer w.Close()
	for i := 0; i < len(lines); i += 1000 {
		var batch []kafka.Message
		for j, line := range lines[i:min(i+1000, len(lines))] {
			batch = append(batch, kafka.Message{Value: line, Offset: int64((i + j) % partitions)})
		}
		if err := w.WriteMessages(t.Context(), batch...); err != nil {
			t.Error(err)
			return
		}
	}
}

// committed is how many records the group has done.
func committed(t *testing.T, brokers []string, topic string, partitions int) (sum int) {
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Timeout: 5 * time.Second}
	ask := &kafka.OffsetFetchRequest{GroupID: topic, Topics: map[string][]int{topic: nil}}
	for p := range partitions {
		ask.Topics[topic] = append(ask.Topics[topic], p)
	}
	got, err := client.OffsetFetch(t.Context(), ask)
	if err != nil {
		return 0
	}
	for _, p := range got.Topics[topic] {
		sum += int(max(0, p.CommittedOffset))
	}
	return sum
}
