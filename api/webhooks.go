package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"refrain/internal/problem"
	"refrain/internal/rotated"
	"refrain/publish"
	"refrain/publish/webhook"
)

// Webhooks are the endpoints that events are delivered to.
type Webhooks interface {
	// Status is what is known of each. Other processes are asked in the name of the client that r is of.
	Status(r *http.Request) []webhook.Status
	// Find returns the endpoint of a name; nil: there is none.
	Find(name string) Webhook
	// Remote answers a request about an endpoint that another process runs; nil: none does.
	Remote(r *http.Request, name string) http.Handler
}

// Webhook is an endpoint; see webhook.Endpoint for what its methods do.
type Webhook interface {
	Enable(ctx context.Context) error
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Test(ctx context.Context) (webhook.Answer, error)
	Replay(ctx context.Context, r webhook.Replay) (webhook.Replay, error)
	Deliveries(p webhook.Page) (attempts []webhook.Attempt, next string, err error)
}

var _ Webhook = (*webhook.Endpoint)(nil)

// ErrUnknown says that there is nothing of the name that was asked for.
var ErrUnknown = errors.New("not known here")

// webhooksAnswer is the answer of GET /v1/webhooks.
type webhooksAnswer struct {
	Webhooks []webhook.Status `json:"webhooks"`
}

func (a *handlers) webhooks(r *http.Request) (webhooksAnswer, error) {
	return webhooksAnswer{a.Webhooks.Status(r)}, nil
}

// webhook finds the endpoint that a request names.
func (a *handlers) webhook(r *http.Request) (Webhook, error) {
	name := r.PathValue("name")
	if e := a.Webhooks.Find(name); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("webhook %q: %w", name, ErrUnknown)
}

// forwarding answers a request about an endpoint by h, or in the process that runs it.
func (a *handlers) forwarding(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if there := a.Webhooks.Remote(r, r.PathValue("name")); there != nil {
			there.ServeHTTP(w, r)
			return
		}
		h(w, r)
	})
}

// switchWebhook answers a request that changes how an endpoint is: that holds when the answer comes.
func (a *handlers) switchWebhook(change func(Webhook, context.Context) error) http.Handler {
	return a.forwarding(func(w http.ResponseWriter, r *http.Request) {
		e, err := a.webhook(r)
		if err == nil {
			err = change(e, r.Context())
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func (a *handlers) testWebhook(r *http.Request) (answer webhook.Answer, err error) {
	e, err := a.webhook(r)
	if err != nil {
		return answer, err
	}
	return e.Test(r.Context())
}

// deliveriesAnswer is a page of the delivery log.
type deliveriesAnswer struct {
	Deliveries []webhook.Attempt `json:"deliveries"`
	Next       string            `json:"next,omitempty"` // "": there is no further page
}

func (a *handlers) deliveries(r *http.Request) (answer deliveriesAnswer, err error) {
	e, err := a.webhook(r)
	if err != nil {
		return answer, err
	}
	p := webhook.Page{After: r.URL.Query().Get("after"), Outcome: r.URL.Query().Get("outcome")}
	if p.Limit, err = limitOf(r, maxLimit); err != nil {
		return answer, err
	}
	if p.Outcome != "" && !slices.Contains(webhook.Outcomes, p.Outcome) {
		return answer, fmt.Errorf("%w: outcome %q: want %s", ErrInput, truncate(p.Outcome), strings.Join(webhook.Outcomes, ", "))
	}
	answer.Deliveries, answer.Next, err = e.Deliveries(p)
	if errors.Is(err, rotated.ErrPlace) {
		err = fmt.Errorf("%w: after: want the next of the page before", ErrInput)
	}
	return answer, err
}

// replayRequest is the body of POST /v1/webhooks/{name}/replay.
type replayRequest struct {
	From        *time.Time `json:"from"`
	To          *time.Time `json:"to"`
	DeadLetters bool       `json:"deadLetters"`
}

func (a *handlers) replayWebhook(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	begun, err := a.beginReplay(r)
	var b []byte
	if err == nil {
		b, err = json.Marshal(begun)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(append(b, '\n')) // a client that is gone has nobody to be told
}

func (a *handlers) beginReplay(r *http.Request) (begun webhook.Replay, err error) {
	e, err := a.webhook(r)
	if err != nil {
		return begun, err
	}
	asked, err := readReplay(r.Body, time.Now())
	if err != nil {
		return begun, err
	}
	return e.Replay(r.Context(), asked)
}

func readReplay(body io.Reader, now time.Time) (webhook.Replay, error) {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	var m replayRequest
	if err := d.Decode(&m); err != nil {
		return webhook.Replay{}, bodyError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return webhook.Replay{}, fmt.Errorf("%w: something follows the JSON object", errBody)
	}
	r := webhook.Replay{To: now.UTC(), DeadLetters: m.DeadLetters}
	if m.To != nil && m.To.Before(now) {
		r.To = m.To.UTC()
	}
	switch {
	case m.From != nil:
		r.From = m.From.UTC()
	case !m.DeadLetters:
		return r, fmt.Errorf("%w: want from, a time, or deadLetters: true", errBody)
	}
	if !r.From.Before(r.To) {
		return r, fmt.Errorf("%w: from %s: want a time before to, and before now", errBody, r.From.Format(time.RFC3339Nano))
	}
	return r, nil
}

// webhookProblem is what an error of an endpoint means; nil: it is another error.
func webhookProblem(r *http.Request, err error) *problem.Problem {
	var gone *publish.ErrNotKept
	switch {
	case errors.Is(err, ErrUnknown):
		return &problem.Problem{
			Type: problem.NoSuchWebhook, Status: http.StatusNotFound,
			Detail: fmt.Sprintf("There is no webhook %q.", truncate(r.PathValue("name"))),
		}
	case errors.Is(err, webhook.ErrReplaying):
		return &problem.Problem{
			Type: problem.WebhookBusy, Status: http.StatusConflict,
			Detail: "This webhook is being sent events again already: GET /v1/webhooks tells which, and that it has ended.",
		}
	case errors.As(err, &gone):
		p := &problem.Problem{Type: problem.EventsGone, Status: http.StatusGone, Detail: "No event is kept any more."}
		if !gone.Oldest.IsZero() {
			from := gone.Oldest.UTC().Format(time.RFC3339Nano)
			p.Detail = "The oldest event that is kept was found at " + from + " (topics.event_age, topics.event_bytes). Ask from then on."
			p.Extra = map[string]any{"keptFrom": from}
		}
		return p
	}
	return nil
}
