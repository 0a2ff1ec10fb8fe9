package contracts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/publish/webhook"
)

// binding is what came by one of the bindings of CloudEvents.
type binding struct {
	name     string // http, kafka or nats
	messages []message
}

// TestSDKs: the official SDKs of CloudEvents read all that a run sends, in every mode of every way out, as the events that
// the server streams; the official libraries of Standard Webhooks verify what webhooks are sent, and nothing else.
func TestSDKs(t *testing.T) {
	all, want := everything(t)
	cloudEvents := map[string]string{"JavaScript": "cloudevents@10.0.0", "Python": "cloudevents==2.2.0"}
	standardWebhooks := map[string]string{"JavaScript": "standardwebhooks@1.1.1", "Python": "standardwebhooks==1.1.0"}
	for language, make := range languages {
		t.Run(language, func(t *testing.T) {
			c := make(t, cloudEvents[language], standardWebhooks[language])
			for _, b := range all {
				got := c.give(t, lines(t, b.messages), "events", b.name)
				compare(t, b, strings.Split(got, "\n"), want)
			}
			if language != "Java" {
				verify(t, c, all[0].messages)
			}
		})
	}
}

// everything is what a run sends every way out, what webhooks got first, and the events by their ids.
func everything(t *testing.T) (all []binding, events map[string]string) {
	single, batch, array := newReceiver(t), newReceiver(t), newReceiver(t)
	kafka, nats := newTopics(t), newSubject(t)
	p, n := start(t, "\npublish:"+webhooks(single, batch, array)+kafka.settings+nats.settings)
	_, stream := p.Get("/v1/events?from=start&until=now&format=ndjson")
	var sent []message
	for _, r := range []*receiver{single, batch, array} { // nothing is sent of a post that was deleted
		p.Await(20*time.Second, "matches", func() bool { return r.count(reuse) >= n })
	}
	p.Delete("1")
	for _, r := range []*receiver{single, batch, array} {
		p.Await(20*time.Second, "the retraction", func() bool { return r.count(retracted) >= 1 })
		sent = append(sent, r.messages()...)
	}
	_, after := p.Get("/v1/events?from=start&until=now&format=ndjson")
	all = []binding{{"http", sent}, {"nats", nats.read(t, n+1)}}
	for mode := range modes {
		all = append(all, binding{"kafka", kafka.read(t, mode, n+1)})
	}
	return append(all, binding{"http", batched(t, sent)}), byID(t, strings.Split(strings.TrimSpace(stream+after), "\n"))
}

// batched are the events that batches hold as events, each as a message of its own.
func batched(t *testing.T, sent []message) (all []message) {
	for _, m := range sent {
		var e struct {
			Type string
			Data struct{ Events []json.RawMessage }
		}
		if json.Unmarshal([]byte(m.Body), &e); e.Type != webhook.BatchType {
			continue
		}
		for _, one := range e.Data.Events {
			all = append(all, message{Headers: map[string]string{"content-type": structured}, Body: string(one)})
		}
	}
	if len(all) == 0 {
		t.Error("there are no batches")
	}
	return all
}

func byID(t *testing.T, events []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, event := range events {
		all[fmt.Sprint(decoded(t, event)["id"])] = event
	}
	return all
}

// compare holds what an SDK has read to the events as they are streamed; those of batches are known to nobody else.
func compare(t *testing.T, b binding, got []string, want map[string]string) {
	t.Helper()
	seen := map[string]bool{}
	for _, event := range got {
		e := decoded(t, event)
		id := fmt.Sprint(e["id"])
		if e["type"] == webhook.BatchType {
			continue
		}
		seen[id] = true
		if diff := cmp.Diff(decoded(t, want[id]), e); diff != "" {
			t.Errorf("%s %s: (-streamed +read)\n%s", b.name, id, diff)
		}
	}
	if len(seen) < len(want)-1 { // the retraction is in no batch of events
		t.Errorf("%s: %d of %d events", b.name, len(seen), len(want))
	}
}

// decoded is an event with its time as such: an SDK may write it with another precision.
func decoded(t *testing.T, event string) (e map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(event), &e); err != nil {
		t.Fatalf("%v: %.300s", err, event)
	}
	if at, ok := e["time"].(string); ok {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		e["time"] = when.UTC()
	}
	return e
}

// verify: each message is verified, and none that somebody has changed or sends again much later.
func verify(t *testing.T, c *clients, sent []message) {
	t.Helper()
	if got, want := c.give(t, lines(t, sent), "webhooks", secret), fmt.Sprint(len(sent)); got != want {
		t.Errorf("%s of %s messages are verified", got, want)
	}
	wrong := []message{}
	for _, m := range sent {
		changed, late := m, m
		changed.Body = strings.Replace(m.Body, feed.ReuseType[:3], "ved", 1)
		late.Headers = map[string]string{}
		for name, value := range m.Headers {
			late.Headers[name] = value
		}
		late.Headers["webhook-timestamp"] = fmt.Sprint(time.Now().Add(-time.Hour).Unix())
		wrong = append(wrong, changed, late)
	}
	if got := c.give(t, lines(t, wrong), "webhooks", secret); got != "0" {
		t.Errorf("%s of %d wrong messages are verified", got, len(wrong))
	}
}
