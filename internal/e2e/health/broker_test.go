package health

import (
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

// broker is one that a test stops and starts, with a stream of posts on it.
type broker struct {
	*devservers.Server
	config string            // of ingest
	post   func(line string) // until it is acknowledged
}

func newKafka(t *testing.T) broker {
	s, name := devservers.StartKafka(t), devservers.Name(t)
	devservers.CreateTopic(t, s.Addr(), name, 2)
	w := &kafka.Writer{Addr: kafka.TCP(s.Addr()), Topic: name, BatchTimeout: time.Millisecond, MaxAttempts: 30,
		RequiredAcks: kafka.RequireAll}
	t.Cleanup(func() { _ = w.Close() })
	return broker{s, fmt.Sprintf("ingest: {kafka: [{brokers: [%q], topics: [%q], group: %[2]q}]}\n", s.Addr(), name),
		func(line string) {
			t.Helper()
			if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte(line)}); err != nil {
				t.Fatal(err)
			}
		}}
}

func newNATS(t *testing.T) broker {
	s, name := devservers.StartNATS(t), devservers.Name(t)
	conn, err := nats.Connect(s.Addr(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}}); err != nil {
		t.Fatal(err)
	}
	return broker{s, fmt.Sprintf("ingest: {nats: [{servers: [%q], stream: %s}]}\n", s.Addr(), name), func(line string) {
		t.Helper()
		for begin := time.Now(); ; { // the connection may still be on its way back
			_, err := js.Publish(t.Context(), name+".all", []byte(line))
			if err == nil {
				return
			}
			if time.Since(begin) > time.Minute {
				t.Fatal(err)
			}
		}
	}}
}

// TestBrokerAwayAndBack: a source that is away is a warning and a metric, and the server stays ready, for all others;
// when it is back so are its posts, and nothing is left of the warning.
func TestBrokerAwayAndBack(t *testing.T) {
	for name, start := range map[string]func(*testing.T) broker{"kafka": newKafka, "nats": newNATS} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			p := e2e.New(t, e2e.WithYAML(t, b.config), "REFRAIN_CANARY_EVERY=100ms")
			p.Start()
			b.mustBring(p, 1)
			b.Kill()
			b.mustMiss(p)
			awaitCanaries(p, 8) // the route does not mind
			b.Start()
			b.mustBring(p, 2)
		})
	}
}

// mustBring posts the nth post, which comes in by a source that is up. One that was not acknowledged in time may come twice.
func (b *broker) mustBring(p *e2e.Process, n float64) {
	p.TB.Helper()
	b.post(fmt.Sprintf(`{"id":"%v","text":"These are the words of a post that a broker has"}`, n))
	p.Await(2*time.Minute, "post of a source that is up", func() bool {
		c := p.Counters()
		_, ready := p.Get("/readyz")
		return c["refrain_ingest_posts_total/accepted"] >= n && c["refrain_ingest_up"] == 1 &&
			c["refrain_ingest_up#"] == 1 && ready == "ok\n"
	})
	if age := p.Counters()["refrain_ingest_last_fetch_age_seconds#"]; age != 1 {
		p.TB.Errorf("%v ages of the last fetch, want 1", age)
	}
}

// mustMiss waits until all that tells of it says that the broker is away.
func (b *broker) mustMiss(p *e2e.Process) {
	p.TB.Helper()
	before := p.Counters()
	p.Await(2*time.Minute, "source that is down", func() bool {
		c := p.Counters()
		status, body := p.Get("/readyz")
		if status != http.StatusOK {
			p.TB.Fatalf("not ready: %s", body)
		}
		return c["refrain_ingest_up"] == 0 && c["refrain_ingest_up#"] == 1 &&
			c["refrain_ingest_failures_total"] > before["refrain_ingest_failures_total"] &&
			c["refrain_ingest_last_fetch_age_seconds"] > 1 && strings.Contains(body, "warning: source_down:")
	})
}

// TestLivesWithoutItsBroker: a process whose topics are on a broker that is away wants no posts, and is not to be restarted
// for it: that would cost it its windows.
func TestLivesWithoutItsBroker(t *testing.T) {
	s := devservers.StartNATS(t)
	p := e2e.New(t, e2e.WithYAML(t, fmt.Sprintf("topics: {nats: {servers: [%q]}}\ncluster: {token: %s}\n", s.Addr(), strings.Repeat("0f", 16))),
		"REFRAIN_CLUSTER_HANDOVER_GRACE=1s")
	p.Start()
	// Ready means that the windows are whole: an upgrade goes on to the next process then.
	if c := p.Counters(); c["refrain_shard_partition_caught_up"] != 4 || c["refrain_shard_partitions_gained_total"] < 4 {
		t.Errorf("of 4 partitions %v have caught up, %v were gained", c["refrain_shard_partition_caught_up"], c["refrain_shard_partitions_gained_total"])
	}
	s.Kill()
	p.Await(time.Minute, "a broker that is away", func() bool {
		status, _ := p.Get("/readyz")
		return status == http.StatusServiceUnavailable
	})
	if status, body := p.Get("/livez"); status != http.StatusOK {
		t.Errorf("GET /livez: %d %s", status, body)
	}
	s.Start()
	p.AwaitReady(time.Minute)
}
