package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"refrain/internal/problem"
	"refrain/publish/webhook"
)

// Webhooks are the endpoints that events are delivered to.
type Webhooks interface {
	// Status is what is known of each.
	Status() []webhook.Status
	// Enable lets deliveries to an endpoint begin again that was disabled. The error wraps ErrUnknown where there is
	// no such endpoint.
	Enable(ctx context.Context, name string) error
}

// ErrUnknown says that there is nothing of the name that was asked for.
var ErrUnknown = errors.New("not known here")

// webhooksAnswer is the answer of GET /v1/webhooks.
type webhooksAnswer struct {
	Webhooks []webhook.Status `json:"webhooks"`
}

func (a *handlers) webhooks(*http.Request) (webhooksAnswer, error) {
	return webhooksAnswer{a.Webhooks.Status()}, nil
}

func (a *handlers) enableWebhook(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	err := a.Webhooks.Enable(r.Context(), name)
	switch {
	case errors.Is(err, ErrUnknown):
		problem.Write(w, r, problem.Problem{
			Type: problem.NoSuchWebhook, Status: http.StatusNotFound, Detail: fmt.Sprintf("There is no webhook %q.", name),
		})
	case err != nil:
		a.fail(w, r, err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
