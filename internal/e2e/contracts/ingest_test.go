package contracts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// readsTopic is a server that reads a new topic, with tombstones.
func readsTopic(t *testing.T) (p *e2e.Process, broker, topic string) {
	broker, topic = devservers.Kafka(t), devservers.Name(t)
	devservers.CreateTopic(t, broker, topic, 1)
	p = e2e.New(t, e2e.WithYAML(t, fmt.Sprintf("ingest: {kafka: [{brokers: [%q], topics: [%q], group: %[2]q, tombstones: delete}]}", broker, topic)))
	p.Start()
	return p, broker, topic
}

// texts are posts of which the last repeats the two before.
var texts = []string{
	`{"id":"1","text":"The quick brown fox jumps over the lazy dog beside the river bank."}`,
	`{"id":"2","text":"The quick brown fox jumps over the lazy dog beside the river bank."}`,
	`{"id":"3","text":"The quick brown fox jumps over the lazy dog beside the river bank!"}`,
}

// TestPostsInCloudEvents: posts that the official SDK sends as the data of events, in both modes, are posts, and have the times
// of their events.
func TestPostsInCloudEvents(t *testing.T) {
	p, broker, topic := readsTopic(t)
	c := goClients(t)
	const at = "2026-01-02T03:04:05Z"
	c.give(t, []byte(texts[0]), "produce", broker, topic, "structured", at)
	c.give(t, []byte(texts[1]), "produce", broker, topic, "binary", at)
	var found string
	p.Await(20*time.Second, "an event", func() bool {
		_, found = p.Get("/v1/events?from=start&until=now&format=ndjson")
		return strings.Count(found, reuse) == 1
	})
	if n := strings.Count(found, `"time":"`+at); n < 2 {
		t.Errorf("the times of the events are not those of the posts: %s", found)
	}
	if got := deadLetters(t, p); got != "" {
		t.Errorf("dead letters: %s", got)
	}
}

// TestFramesAndTombstones: what Confluent's serializer writes of JSON is a post, of Avro a dead letter that says so; a record
// without a value deletes.
func TestFramesAndTombstones(t *testing.T) {
	p, broker, topic := readsTopic(t)
	frame := "\x00\x00\x00\x00\x07"
	w := kafka.Writer{Addr: kafka.TCP(broker), Topic: topic, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond}
	defer w.Close()
	err := w.WriteMessages(t.Context(), kafka.Message{Key: []byte("1"), Value: []byte(frame + texts[0])},
		kafka.Message{Key: []byte("2"), Value: []byte(frame + texts[1])}, kafka.Message{Key: []byte("3"), Value: []byte(frame + "\x02a\x06one")},
		kafka.Message{Key: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	wantFramesAndTombstone(t, p)
}

// TestConfluentSerializers: the same from Confluent's own client, whose registry is one in its memory.
func TestConfluentSerializers(t *testing.T) {
	c := python(t, "confluent-kafka[avro,json,schemaregistry]==2.15.0")
	p, broker, topic := readsTopic(t)
	c.give(t, []byte(strings.Join(texts, "\n")), "produce", broker, topic)
	wantFramesAndTombstone(t, p)
}

func wantFramesAndTombstone(t *testing.T, p *e2e.Process) {
	t.Helper()
	p.Await(20*time.Second, "a retraction", func() bool { return p.Retractions() == 1 })
	p.Await(20*time.Second, "a dead letter", func() bool { return deadLetters(t, p) != "" })
	if got := deadLetters(t, p); strings.Count(got, "\n") != 1 || !strings.Contains(got, "Avro and Protobuf are not read") {
		t.Errorf("dead letters: %s", got)
	}
}

func deadLetters(t *testing.T, p *e2e.Process) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, "dead-letters.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}
