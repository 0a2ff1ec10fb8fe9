package api

import (
	"io"
	"net/http"
	"strings"
	"time"

	"refrain/internal/problem"
)

// Condition is something that holds now, and that a client may want to know before it sends posts.
type Condition struct {
	Name   string `json:"name"`
	Means  string `json:"means"`            // for everybody: without paths, addresses or names of posts
	Detail string `json:"detail,omitempty"` // for whoever may do everything
	// Warning: the service is ready all the same.
	Warning bool `json:"warning"`
}

// live answers "ok", or 503 and, to whoever may do everything, why not.
func (a *handlers) live(w http.ResponseWriter, r *http.Request) {
	err := a.Live(r.Context())
	if err == nil {
		ok(w, nil)
		return
	}
	detail := "The process cannot go on; its log says why, and this address to a token with the scope admin."
	if a.mayAll(r) {
		detail = err.Error()
	}
	problem.Write(w, r, problem.Problem{
		Type: problem.NotLive, Status: http.StatusServiceUnavailable, Detail: detail, RetryAfter: time.Second,
	})
}

// ready answers "ok" with the warnings below it, or 503 with all that holds.
func (a *handlers) ready(w http.ResponseWriter, r *http.Request) {
	conditions := a.Ready(r.Context())
	if !a.mayAll(r) {
		for i := range conditions {
			conditions[i].Detail = ""
		}
	}
	var reasons []string
	for _, c := range conditions {
		if !c.Warning {
			reasons = append(reasons, c.Means)
		}
	}
	if len(reasons) == 0 {
		ok(w, conditions)
		return
	}
	problem.Write(w, r, problem.Problem{
		Type: problem.NotReady, Status: http.StatusServiceUnavailable, Detail: strings.Join(reasons, " "), RetryAfter: time.Second,
		Extra: map[string]any{"conditions": conditions},
	})
}

// ok answers in plain text; each warning is a line.
func ok(w http.ResponseWriter, warnings []Condition) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := "ok\n"
	for _, c := range warnings {
		text += strings.TrimSuffix("warning: "+c.Name+": "+c.Means+" "+oneLine(c.Detail), " ") + "\n"
	}
	_, _ = io.WriteString(w, text) // a client that is gone has nobody to be told
}

// oneLine keeps an error that has several lines from looking like several warnings.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// mayAll reports whether a request of a route that is open to all comes from somebody who may do everything.
func (a *handlers) mayAll(r *http.Request) bool {
	if a.Access == nil {
		return true
	}
	_, refused := a.Access(r, Admin)
	return refused == nil
}
