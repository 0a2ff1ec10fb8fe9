package webhook

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"refrain/publish"
)

// TestType is the CloudEvents type of an event that says nothing: only Test sends it.
const TestType = "dev.refrain.test.v1"

// Answer is what came of a test event.
type Answer struct {
	ID       string    `json:"webhookId"`
	Time     time.Time `json:"time"`
	Outcome  string    `json:"outcome"`          // delivered or failed
	Status   int       `json:"status,omitempty"` // 0: there was no answer
	Error    string    `json:"error,omitempty"`
	Body     string    `json:"body"` // of the answer, its first kilobyte
	Duration float64   `json:"durationMs"`
}

// Test sends one event, signed as all are, and returns what the endpoint said. It is sent at once, whatever the filter says and
// also while the endpoint is paused, disabled or down, it is not tried again, and changes nothing of that.
func (e *Endpoint) Test(ctx context.Context) (Answer, error) {
	event, err := e.testEvent(time.Now())
	if err != nil {
		return Answer{}, err
	}
	r := e.send(ctx, &delivery{events: []publish.Event{event}})
	r.attempt = 1
	outcome := attemptDelivered
	if r.err != nil {
		outcome = attemptFailed
	}
	e.record.write(e.Name, r, outcome, time.Time{})
	a := Answer{ID: r.id, Time: r.began.UTC(), Outcome: outcome, Status: r.status, Duration: milliseconds(r.elapsed)}
	a.Body = strings.ToValidUTF8(string(r.said), "\uFFFD")
	if r.err != nil {
		a.Error = r.err.Error()
	}
	return a, nil
}

// testEvent makes an event with an id of its own.
func (e *Endpoint) testEvent(now time.Time) (publish.Event, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	event := publish.Event{ID: hex.EncodeToString(id[:]), Type: TestType, Offset: "test"}
	attributes := struct {
		SpecVersion string `json:"specversion"`
		Type        string `json:"type"`
		Source      string `json:"source"`
		ID          string `json:"id"`
		Time        string `json:"time"`
	}{"1.0", TestType, e.deps.Deployment.Name, event.ID, now.UTC().Format(time.RFC3339Nano)}
	head, err := json.Marshal(attributes)
	if err != nil {
		return event, err
	}
	data, err := json.Marshal(map[string]string{"endpoint": e.Name})
	if err != nil {
		return event, err
	}
	event.Data = e.deps.Deployment.AppendContent(head[:len(head)-1], TestType)
	event.Data = append(append(append(event.Data, `,"data":`...), data...), '}')
	return event, nil
}
