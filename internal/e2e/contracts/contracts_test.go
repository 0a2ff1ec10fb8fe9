// Package contracts holds all that a server sends to what it says of it: openapi.yaml, asyncapi.yaml and the JSON Schemas, as
// it serves them.
package contracts

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"refrain/feed"
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

// started is a server whose schemas are elsewhere, with more settings.
func started(t *testing.T, settings string) *e2e.Process {
	p := e2e.New(t, e2e.WithYAML(t, `
name: https://example.org/refrain?x=a%20b
schemas: https://example.org/schemas
ingest: {http: {keep: [n], link: "https://x.com/{id}"}}
`+settings))
	p.Start()
	return p
}

// start starts a server, sends it the posts, and returns how many events they make.
func start(t *testing.T, settings string) (p *e2e.Process, events int) {
	p = started(t, settings)
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
	for _, kind := range []string{feed.ReuseType, feed.RetractedType, webhook.BatchType, webhook.TestType} {
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
		webhook.TestType: "TestEvent",
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
}

// testEvent has a webhook sent one.
func testEvent(t *testing.T, p *e2e.Process, name string) {
	t.Helper()
	resp, err := http.Post(p.URL("/v1/webhooks/"+name+"/test"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a test of %s: %s", name, resp.Status)
	}
}

func TestWebhooks(t *testing.T) {
	single, batch, array := newReceiver(t), newReceiver(t), newReceiver(t)
	p, events := start(t, "\npublish:"+webhooks(single, batch, array))
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
	for _, name := range []string{"single", "batch", "array"} {
		testEvent(t, p, name)
	}
	await(webhook.TestType, 1)
	for _, r := range all {
		for _, m := range r.messages() {
			hold(t, files, string(m.header(t)), async+"schemas/WebhookHeaders")
			if m.Headers["content-type"] == structured {
				holdEvent(t, files, m.Body)
				continue
			}
			hold(t, files, m.Body, async+"messages/arraySigned/payload", api+"Events")
		}
	}
	if batch.count(`"type":"`+webhook.BatchType+`"`) == 0 || array.messages()[0].Headers["content-type"] != "application/cloudevents-batch+json" {
		t.Errorf("no batches: %q, %q", batch.messages(), array.messages())
	}
}

func TestKafka(t *testing.T) {
	topics := newTopics(t)
	p, events := start(t, "\npublish:"+topics.settings)
	p.Delete("1")
	files := described(t, p)
	for mode := range modes {
		for _, m := range topics.read(t, mode, events+1) {
			if mode == "structured" {
				holdEvent(t, files, m.Body)
				continue
			}
			hold(t, files, string(m.header(t)), async+"schemas/KafkaHeaders")
			hold(t, files, m.Body, "schemas/"+feed.SchemaFile(m.Headers["ce_type"]))
		}
	}
}

func TestNATS(t *testing.T) {
	subject := newSubject(t)
	p, n := start(t, "\npublish:"+subject.settings)
	p.Delete("1")
	files := described(t, p)
	for _, m := range subject.read(t, n+1) {
		holdEvent(t, files, m.Body)
		if got := m.Headers["content-type"]; got != structured {
			t.Errorf("content-type %q", got)
		}
	}
}
