// Package contracts holds all that a server sends to what it says of it: openapi.yaml, asyncapi.yaml and the JSON Schemas, as
// it serves them.
package contracts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/jsonschema"
	"refrain/publish/webhook"
)

const (
	reuse     = `"type":"` + feed.ReuseType + `"`
	retracted = `"type":"` + feed.RetractedType + `"`
)

// posts repeat each other exactly and nearly, with names that no attribute may have, links and fields.
var posts = []string{
	`{"id":"1","author":"ann","text":"The quick brown fox jumps over the lazy dog beside the river bank."}`,
	`{"id":"2","author":"ben","lang":"en","n":7,"text":"The quick brown fox jumps over the lazy dog beside the river bank."}`,
	`{"id":"line\nfeed \u0085 \u001b","author":"cem\n","text":"The quick brown fox jumps over a lazy dog beside the river bank!"}`,
	`{"id":"100% Ünï\u202e","source":"s 1","author":"ann","text":"RT @ann: The quick brown fox jumps over the lazy dog beside the river bank."}`,
}

// start starts a server whose schemas are elsewhere, with more settings, sends it the posts, and returns how many events they
// make.
func start(t *testing.T, settings string) (p *e2e.Process, events int) {
	p = e2e.New(t, e2e.WithYAML(t, `
name: https://example.org/refrain?x=a%20b
schemas: https://example.org/schemas
ingest: {http: {keep: [n], link: "https://x.com/{id}"}}
`+settings))
	p.Start()
	var lines [][]byte
	for _, post := range posts {
		lines = append(lines, []byte(post+"\n"))
	}
	if a, err := p.Post(lines); err != nil || a.Accepted != len(posts) {
		t.Fatalf("%+v, %v", a, err)
	}
	_, stream := p.Get("/v1/events?from=start&until=now&format=ndjson")
	return p, strings.Count(stream, reuse)
}

// described are the documents that a server serves.
func described(t *testing.T, p *e2e.Process) jsonschema.Files {
	t.Helper()
	files := jsonschema.Files{}
	names := []string{"openapi.yaml", "asyncapi.yaml"}
	for _, kind := range []string{feed.ReuseType, feed.RetractedType, webhook.BatchType} {
		names = append(names, "schemas/"+feed.SchemaFile(kind))
	}
	for _, name := range names {
		status, text := p.Get("/" + name)
		if status != 200 {
			t.Fatalf("/%s: %d", name, status)
		}
		if err := files.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// hold holds JSON to schemas.
func hold(t *testing.T, files jsonschema.Files, data string, refs ...string) {
	t.Helper()
	for _, ref := range refs {
		for _, line := range files.Check(ref, []byte(data)) {
			t.Errorf("%s: %s\n%.300s", ref, line, data)
		}
	}
}

const (
	async      = "asyncapi.yaml#/components/"
	api        = "openapi.yaml#/components/schemas/"
	structured = "application/cloudevents+json"
)

// holdEvent holds an event to what both documents and its own schema say.
func holdEvent(t *testing.T, files jsonschema.Files, event string) {
	t.Helper()
	var e struct {
		Type, DataSchema string
		Data             json.RawMessage
	}
	if err := json.Unmarshal([]byte(event), &e); err != nil {
		t.Fatal(err)
	}
	name := map[string]string{
		feed.ReuseType: "ReuseEvent", feed.RetractedType: "RetractedEvent", webhook.BatchType: "BatchEvent",
	}[e.Type]
	hold(t, files, event, api+"Delivered", api+name, async+"schemas/"+name)
	file, ok := strings.CutPrefix(e.DataSchema, "https://example.org/")
	if !ok {
		t.Errorf("dataschema %q", e.DataSchema)
	}
	hold(t, files, string(e.Data), file)
}

func TestStream(t *testing.T) {
	p, events := start(t, "")
	files := described(t, p)
	if events != 4 {
		t.Errorf("%d events", events)
	}
	_, before := p.Get("/v1/events?from=start&until=now&format=ndjson")
	p.Delete("1")
	if err := p.TryDelete("/v1/authors/cem%0A"); err != nil {
		t.Fatal(err)
	}
	p.Await(10*time.Second, "retractions", func() bool { return p.Retractions() == 2 })
	_, after := p.Get("/v1/events?from=start&until=now&format=ndjson")
	lines := strings.Split(strings.TrimSpace(before+after), "\n")
	for _, line := range lines {
		holdEvent(t, files, line)
		hold(t, files, line, api+"Event")
	}
	for _, part := range []string{`"subject":"line%0Afeed %C2%85 %1B"`, `"meta":{"n":7}`, `"link":"https://x.com/2"`} {
		if !strings.Contains(before, part) {
			t.Errorf("%s is in none of the events", part)
		}
	}
	for path, ref := range map[string]string{
		"/v1/posts/2/reuse": "Reuse", "/v1/authors/ben/reuse": "Author", "/v1/webhooks": "Webhooks", "/v1/models": "Models",
		"/v1/explain?a=One+two+three+four&b=.": "Explanation", "/v1/explain?a=%20&b=%20": "Explanation",
		"/v1/events?from=x": "Problem", "/v1/posts/1/reuse": "Problem", "/nothing": "Problem",
	} {
		_, body := p.Get(path)
		hold(t, files, body, api+ref)
	}
	if *e2e.Full {
		sdks(t, lines)
	}
}

func TestWebhooks(t *testing.T) {
	single, batch, array := newReceiver(t), newReceiver(t), newReceiver(t)
	const secret = `secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], allow: [127.0.0.1/32], batch_wait: 50ms`
	p, events := start(t, fmt.Sprintf(`
publish:
  webhooks:
  - {name: single, url: %q, %[4]s}
  - {name: batch, url: %[2]q, batch: 100, %[4]s}
  - {name: array, url: %[3]q, batch: 100, batch_format: array, %[4]s}
`, single.URL, batch.URL, array.URL, secret))
	files := described(t, p)
	all := []*receiver{single, batch, array}
	await := func(word string, n int) {
		for _, r := range all {
			p.Await(20*time.Second, word, func() bool { return r.count(word) >= n })
		}
	}
	await(reuse, events)
	p.Delete("1")
	await(retracted, 1)
	for _, r := range all {
		for _, m := range r.messages() {
			hold(t, files, string(m.header(t)), async+"schemas/WebhookHeaders")
			if m.headers["content-type"] == structured {
				holdEvent(t, files, m.body)
				continue
			}
			hold(t, files, m.body, async+"messages/arraySigned/payload", api+"Events")
		}
	}
	if batch.count(`"type":"`+webhook.BatchType+`"`) == 0 || array.messages()[0].headers["content-type"] != "application/cloudevents-batch+json" {
		t.Errorf("no batches: %q, %q", batch.messages(), array.messages())
	}
}

func TestKafka(t *testing.T) {
	broker := devservers.Kafka(t)
	topics := map[string]string{"structured": devservers.Name(t) + "-s", "binary": devservers.Name(t) + "-b"}
	settings := "\npublish:\n  kafka:\n"
	for mode, topic := range topics {
		devservers.CreateTopic(t, broker, topic, 1)
		settings += fmt.Sprintf("  - {name: %s, brokers: [%q], topic: %q, mode: %[1]s}\n", mode, broker, topic)
	}
	p, events := start(t, settings)
	p.Delete("1")
	files := described(t, p)
	for mode, topic := range topics {
		for _, m := range read(t, broker, topic, events+1) {
			if mode == "structured" {
				holdEvent(t, files, m.body)
				continue
			}
			hold(t, files, string(m.header(t)), async+"schemas/KafkaHeaders")
			hold(t, files, m.body, "schemas/"+feed.SchemaFile(m.headers["ce_type"]))
		}
	}
}

// read reads n records of a topic of one partition.
func read(t *testing.T, broker, topic string, n int) (all []message) {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{broker}, Topic: topic, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	for len(all) < n {
		record, err := r.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := message{map[string]string{}, string(record.Value)}
		for _, h := range record.Headers {
			m.headers[h.Key] = string(h.Value)
		}
		all = append(all, m)
	}
	return all
}

func TestNATS(t *testing.T) {
	server, subject := devservers.NATS(t), devservers.Name(t)
	nc, err := nats.Connect(server)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	stream, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateStream(t.Context(), js.StreamConfig{Name: subject, Subjects: []string{subject}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.DeleteStream(t.Context(), subject) })
	events, err := nc.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	p, n := start(t, fmt.Sprintf("\npublish:\n  nats:\n  - {name: out, servers: [%q], subject: %q}\n", server, subject))
	p.Delete("1")
	files := described(t, p)
	for range n + 1 {
		m, err := events.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		holdEvent(t, files, string(m.Data))
		if got := m.Header.Get("content-type"); got != structured {
			t.Errorf("content-type %q", got)
		}
	}
}

// sdks has the official SDKs of CloudEvents in JavaScript and Python read events.
func sdks(t *testing.T, events []string) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ install, run []string }{
		"JavaScript": {
			[]string{"npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error", "cloudevents@10.0.0"},
			[]string{"node", "testdata/read.cjs"},
		},
		"Python": {
			[]string{"python3", "-m", "pip", "install", "-q", "--target", filepath.Join(dir, "python"), "cloudevents==1.12.0"},
			[]string{"python3", "testdata/read.py"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.Command(c.install[0], c.install[1:]...).CombinedOutput(); err != nil {
				t.Skipf("the SDK cannot be installed: %v: %s", err, out)
			}
			cmd := exec.Command(c.run[0], c.run[1:]...)
			cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"), "PYTHONPATH="+filepath.Join(dir, "python"))
			cmd.Stdin = strings.NewReader(strings.Join(events, "\n"))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if got, want := strings.TrimSpace(string(out)), fmt.Sprint(len(events)); err != nil || got != want {
				t.Errorf("read %q of %s events: %v: %s", got, want, err, stderr.String())
			}
		})
	}
}
