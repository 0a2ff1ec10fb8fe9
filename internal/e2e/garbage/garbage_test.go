// Package garbage tests a server whose brokers and store are something else for a while.
package garbage

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// maxGrowth is how much the server's own memory may grow while its peers speak garbage, in bytes.
const maxGrowth = 300 << 20

// rig is a server between three peers.
type rig struct {
	*e2e.Process
	redis, nats, kafka *peer
	kafkaAddr, natsURL string
	topic, stream      string
}

// TestPeersThatAnswerGarbage: the server lives, its memory does not grow, its log says which peer sent what, and when
// the peers are right again posts come in from both brokers and the index answers.
func TestPeersThatAnswerGarbage(t *testing.T) {
	r := newRig(t)
	r.Start()
	r.post(t, "before")
	r.awaitPosts(t, 2)
	before := e2e.RSSAnon(r.Cmd.Process.Pid)
	if before == 0 {
		t.Log("memory is not looked at: there is no /proc")
	}
	peers := map[string]*peer{"Redis": r.redis, "NATS": r.nats, "Kafka": r.kafka}
	for _, p := range peers {
		p.turnBad()
	}
	for name, p := range peers {
		r.Await(3*time.Minute, fmt.Sprint("end of all garbage of ", name), func() bool {
			r.queryIndex()
			return p.spoken.Load() >= int64(len(p.kinds))
		})
	}
	if after := e2e.RSSAnon(r.Cmd.Process.Pid); before > 0 && (after == 0 || after > before+maxGrowth) {
		t.Errorf("the memory grew from %d to %d bytes", before, after)
	}
	for _, p := range peers {
		p.turnGood()
	}
	r.post(t, "after")
	r.awaitPosts(t, 4)
	r.Await(time.Minute, "answer of the index", r.queryIndex)
	r.wantLog(t, peers)
}

// wantLog wants each protocol's garbage named once at least, and no line that is as long as the garbage.
func (r *rig) wantLog(t *testing.T, peers map[string]*peer) {
	t.Helper()
	log := r.Log.String()
	for name, p := range peers {
		if want := fmt.Sprintf("%s sends what is not %s", p.addr(), name); !strings.Contains(log, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	for line := range strings.Lines(log) {
		if len(line) > 4096 {
			t.Errorf("a line of %d bytes in the log: %.200s", len(line), line)
		}
	}
	if faults := r.Counters()["refrain_wirecheck_faults_total"]; faults < 20 {
		t.Errorf("%v faults counted", faults)
	}
}

func newRig(t *testing.T) *rig {
	r := &rig{
		kafkaAddr: devservers.Kafka(t), natsURL: devservers.NATS(t), topic: devservers.Name(t), stream: devservers.Name(t),
	}
	r.redis = newPeer(t, devservers.Redis(t), redisKinds())
	r.nats = newPeer(t, strings.TrimPrefix(r.natsURL, "nats://"), natsKinds())
	r.kafka = newPeer(t, r.kafkaAddr, kafkaKinds())
	devservers.CreateTopic(t, r.kafkaAddr, r.topic, 1)
	js := r.jetStream(t)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: r.stream,
		Subjects: []string{r.stream}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = js.DeleteStream(context.Background(), r.stream) })
	r.Process = e2e.New(t, e2e.WithYAML(t, r.config()))
	return r
}

func (r *rig) config() string {
	return fmt.Sprintf(`
ingest:
  kafka: [{brokers: [%q], topics: [%q], group: %[2]q}]
  nats: [{servers: ["nats://%[3]s"], stream: %[4]q}]
lookup:
  store: redis
  retention: 1000h
  redis: {url: "redis://%[5]s/0", prefix: "%[2]s:"}
`, r.kafka.addr(), r.topic, r.nats.addr(), r.stream, r.redis.addr())
}

func (r *rig) jetStream(t *testing.T) jetstream.JetStream {
	conn, err := nats.Connect(r.natsURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// post gives both brokers a post, past the peers.
func (r *rig) post(t *testing.T, id string) {
	t.Helper()
	post := func(from string) []byte {
		return fmt.Appendf(nil, `{"id":"%s-%s","text":"the very same words come by both ways, %s"}`, from, id, id)
	}
	if _, err := r.jetStream(t).Publish(t.Context(), r.stream, post("nats")); err != nil {
		t.Fatal(err)
	}
	w := &kafka.Writer{
		Addr: kafka.TCP(r.kafkaAddr), Topic: r.topic, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
	}
	defer w.Close()
	if err := w.WriteMessages(t.Context(), kafka.Message{Value: post("kafka")}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) awaitPosts(t *testing.T, n float64) {
	t.Helper()
	r.Await(2*time.Minute, fmt.Sprint(n, " posts"), func() bool {
		c, err := r.TryCounters()
		return err == nil && c["refrain_ingest_posts_total/accepted"] >= n
	})
}

// queryIndex has the server ask Redis, and reports whether that answered.
func (r *rig) queryIndex() bool {
	resp, err := http.Get(r.URL("/v1/posts/nats-before/reuse"))
	if err != nil {
		r.TB.Fatalf("the server does not answer: %v; log:\n%.20000s", err, r.Log.String())
	}
	defer resp.Body.Close()
	return resp.StatusCode < http.StatusInternalServerError
}
