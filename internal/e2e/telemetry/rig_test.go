// Package telemetry tests what a server between real brokers tells a collector of traces and Prometheus.
package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// rig is a server with every way in and out that traces go through, and a collector.
type rig struct {
	*e2e.Process
	spans      *e2e.Collector
	kafka      string // the broker
	in, out    string // topics
	events     *nats.Subscription
	deliveries chan delivery
	writer     *kafka.Writer
}

// delivery is an event as it came out.
type delivery struct{ parent, state, body string }

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwAAAAAAAA"

func start(t *testing.T) *rig {
	r := &rig{
		spans: e2e.NewCollector(t), kafka: devservers.Kafka(t), in: devservers.Name(t) + "-in", out: devservers.Name(t) + "-out",
		deliveries: make(chan delivery, 100_000),
	}
	devservers.CreateTopic(t, r.kafka, r.in, 1)
	devservers.CreateTopic(t, r.kafka, r.out, 1)
	transport := &kafka.Transport{} // of its own: another's knows the topics of before
	t.Cleanup(transport.CloseIdleConnections)
	r.writer = &kafka.Writer{
		Addr: kafka.TCP(r.kafka), Topic: r.in, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond, Transport: transport,
	}
	t.Cleanup(func() { _ = r.writer.Close() }) // what it was to write is written
	hook := httptest.NewServer(r)
	t.Cleanup(hook.Close)
	server := devservers.NATS(t)
	r.Process = e2e.New(t, append(r.spans.Settings(), e2e.WithYAML(t, fmt.Sprintf(`
ingest:
  kafka:
  - {brokers: [%[1]q], topics: [%[2]q], group: %[2]q}
publish:
  kafka:
  - {name: kafka, brokers: [%[1]q], topic: %[3]q}
  nats:
  - {name: nats, servers: [%[4]q], subject: %[3]s}
  webhooks:
  - {name: desk, url: %[5]q, secrets: [%[6]q], allow_private: true}
`, r.kafka, r.in, r.out, server, hook.URL, secret)))...)
	r.subscribe(t, server)
	r.Start()
	return r
}

// subscribe makes the stream of the events, and listens.
func (r *rig) subscribe(t *testing.T, server string) {
	t.Helper()
	nc, err := nats.Connect(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: r.out, Subjects: []string{r.out}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = js.DeleteStream(t.Context(), r.out) })
	if r.events, err = nc.SubscribeSync(r.out); err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP is the webhook's endpoint.
func (r *rig) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case r.deliveries <- delivery{req.Header.Get("Traceparent"), req.Header.Get("Tracestate"), string(body)}:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// post sends lines of posts over HTTP, as a client that has begun a trace.
func (r *rig) post(t *testing.T, parent, state string, lines ...[]byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL("/v1/posts"), bytes.NewReader(bytes.Join(lines, []byte("\n"))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("traceparent", parent)
	req.Header.Set("tracestate", state)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

// produce writes posts to Kafka, as a producer that has begun a trace.
func (r *rig) produce(t *testing.T, parent, state string, lines ...[]byte) {
	t.Helper()
	var records []kafka.Message
	for _, line := range lines {
		records = append(records, kafka.Message{Value: line, Headers: []kafka.Header{
			{Key: "traceparent", Value: []byte(parent)}, {Key: "tracestate", Value: []byte(state)},
		}})
	}
	if err := r.writer.WriteMessages(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
}

// fromKafka reads n events.
func (r *rig) fromKafka(t *testing.T, n int) (all []delivery) {
	t.Helper()
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{r.kafka}, Topic: r.out, MaxWait: 100 * time.Millisecond})
	defer reader.Close()
	for range n {
		m, err := reader.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := delivery{body: string(m.Value)}
		for _, h := range m.Headers {
			switch h.Key {
			case "traceparent":
				d.parent = string(h.Value)
			case "tracestate":
				d.state = string(h.Value)
			}
		}
		all = append(all, d)
	}
	return all
}

func (r *rig) fromNATS(t *testing.T, n int) (all []delivery) {
	t.Helper()
	for range n {
		m, err := r.events.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, delivery{m.Header.Get("traceparent"), m.Header.Get("tracestate"), string(m.Data)})
	}
	return all
}

func (r *rig) fromWebhook(t *testing.T, n int) (all []delivery) {
	t.Helper()
	for range n {
		select {
		case d := <-r.deliveries:
			all = append(all, d)
		case <-time.After(20 * time.Second):
			t.Fatal("no delivery within 20 s")
		}
	}
	return all
}
