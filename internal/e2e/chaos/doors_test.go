package chaos

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// TestBothDoors: posts, half of them from a Kafka topic and half over HTTP, through two splits and some workers give the events of
// detect: 200,000 on three brokers in a full run.
func TestBothDoors(t *testing.T) {
	if !*e2e.Full {
		from := strings.Split(devservers.Kafka(t), ",")
		t.Run("kafka", func(t *testing.T) { throughBothDoors(t, sharedKafka(t), from, 2000, 2) })
		t.Run("nats", func(t *testing.T) { throughBothDoors(t, sharedNATS(t), from, 2000, 2) })
		return
	}
	from, nats := devservers.StartKafka3(t).Addrs(), devservers.StartNATS3(t).Addrs()
	t.Run("kafka", func(t *testing.T) {
		throughBothDoors(t, broker{kind: "kafka", addrs: from, direct: from}, from, 200_000, 4)
	})
	t.Run("nats", func(t *testing.T) {
		throughBothDoors(t, broker{kind: "nats", addrs: nats, direct: nats}, from, 200_000, 4)
	})
}

func throughBothDoors(t *testing.T, b broker, from []string, n, workers int) {
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	want := oracle.Sorted(e2e.Detect(t, posts, e2e.DefaultSettings(), nil))
	source := devservers.NewSourceTopic(t, from...)
	d := newDeployment(t, b, scaled, partitions, "")
	d.yaml += source.YAML()
	front := d.addAll(2, workers)
	d.awaitReady()
	f := newFeeder(d, 1, 0)
	lines := e2e.SplitLines(posts)
	byHTTP, byTopic := everySecond(lines, 0), everySecond(lines, 1)
	begin := time.Now()
	// Each split has a clock of its own for HTTP from its first post on.
	f.feed(t.Context(), byHTTP[:200], 0)
	var feeding sync.WaitGroup
	feeding.Go(func() { f.feed(t.Context(), byHTTP[200:], 0) })
	feeding.Go(func() { source.Write(t.Context(), byTopic, 1000, func(int) {}) })
	feeding.Wait()
	if t.Failed() {
		return // the topic does not have all
	}
	accepted := time.Since(begin)
	front.Await(10*time.Minute, "posts of the topic", func() bool { return source.Committed() >= len(byTopic) })
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
