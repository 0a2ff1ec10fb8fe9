package contracts

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
)

// modes are those of the CloudEvents binding for Kafka.
var modes = map[string]bool{"structured": true, "binary": true}

// topics are of one partition, one for each mode.
type topics struct {
	broker, name string
	settings     string // that send events there
}

func newTopics(t *testing.T) *topics {
	o := &topics{broker: devservers.Kafka(t), name: devservers.Name(t), settings: "\n  kafka:"}
	for mode := range modes {
		devservers.CreateTopic(t, o.broker, o.name+mode, 1)
		o.settings += fmt.Sprintf("\n  - {name: %s, brokers: [%q], topic: %q, mode: %[1]s}", mode, o.broker, o.name+mode)
	}
	return o
}

// read reads n records of the topic of a mode.
func (o *topics) read(t *testing.T, mode string, n int) (all []message) {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{o.broker}, Topic: o.name + mode, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	for len(all) < n {
		record, err := r.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := message{Headers: map[string]string{}, Key: string(record.Key), Body: string(record.Value)}
		for _, h := range record.Headers {
			m.Headers[h.Key] = string(h.Value)
		}
		all = append(all, m)
	}
	return all
}

// subject is one of a JetStream stream of its own.
type subject struct {
	messages *nats.Subscription
	settings string // that send events there
}

func newSubject(t *testing.T) *subject {
	server, name := devservers.NATS(t), devservers.Name(t)
	nc, err := nats.Connect(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	stream, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateStream(t.Context(), js.StreamConfig{Name: name, Subjects: []string{name}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.DeleteStream(t.Context(), name) })
	messages, err := nc.SubscribeSync(name)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{messages, fmt.Sprintf("\n  nats:\n  - {name: out, servers: [%q], subject: %q}", server, name)}
}

// read reads n messages.
func (s *subject) read(t *testing.T, n int) (all []message) {
	t.Helper()
	for range n {
		m, err := s.messages.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		headers := map[string]string{}
		for name := range m.Header {
			headers[name] = m.Header.Get(name)
		}
		all = append(all, message{Headers: headers, Body: string(m.Data)})
	}
	return all
}
