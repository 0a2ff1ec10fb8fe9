package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"refrain/internal/problem"
	"refrain/lookup"
)

// maxBody is the most bytes that are read of a request whose answer is JSON of ours.
const maxBody = 2 << 20

// answering answers with the JSON of what ask returns. T is what a client gets: openapi.yaml describes the same.
type answering[T any] struct {
	*handlers
	query func(*http.Request) (T, error)
}

// answerWith returns a handler that answers with what ask returns.
func answerWith[T any](a *handlers, ask func(*http.Request) (T, error)) http.Handler {
	return answering[T]{a, ask}
}

// ServeHTTP implements http.Handler. It sends nothing before it is sure that the answer is JSON.
func (h answering[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	v, err := h.query(r)
	var b []byte
	if err == nil {
		b, err = json.Marshal(v)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // a client that is gone has nobody to be told
}

var (
	errNoIndex = errors.New("there is no index")
	errNoText  = errors.New("the text is not known")
)

// storeRetry is when a client may ask again while the store is away.
const storeRetry = 5 * time.Second

// fail answers with what an error means to the client; what it means to the operator is logged.
func (a *handlers) fail(w http.ResponseWriter, r *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	p := problem.Problem{Status: http.StatusInternalServerError, Detail: "The cause is in the server's log."}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p = problem.Problem{
			Status: http.StatusRequestTimeout, Detail: fmt.Sprintf("The body did not arrive within %v (limits.read_timeout).",
				a.Limits.ReadTimeout),
		}
	case r.Context().Err() != nil:
		p = problem.Problem{
			Status: http.StatusServiceUnavailable, Detail: "The request was given up: " + r.Context().Err().Error(),
		}
	case errors.As(err, &tooLarge):
		p = problem.Problem{
			Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The limit is %d bytes.", tooLarge.Limit),
		}
	case errors.Is(err, ErrInput), errors.Is(err, lookup.ErrInput):
		p = problem.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, errBusy):
		a.refuse(w, r, "", "busy", busy)
		return
	case errors.Is(err, errHeld):
		a.refuse(w, r, "", "held", held(a.Limits.MatchTimeout))
		return
	case errors.Is(err, errNoIndex):
		p = problem.Problem{Status: http.StatusNotFound, Detail: "This server keeps no index: lookup.store is none."}
	case errors.Is(err, errNoText):
		p = problem.Problem{Status: http.StatusNotFound,
			Detail: "No repetition of this text is known: there was none, or it is longer ago than lookup.retention."}
	case errors.Is(err, lookup.ErrDeleted):
		p = problem.Problem{Status: http.StatusNotFound, Detail: "The post was deleted, or its author was."}
	case errors.Is(err, lookup.ErrIncomplete):
		p = problem.Problem{Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The lookup index has lost what it held, and is being made again from the events."}
	case errors.Is(err, lookup.ErrUnavailable):
		a.Logger.Warn("lookup: the store is unavailable", "path", r.URL.Path, "error", err)
		p = problem.Problem{Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The store of the lookup index cannot be asked now. Nothing is lost: it goes on with the events from " +
				"where it stopped."}
	default:
		a.Logger.Error("request", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	problem.Write(w, r, p)
}
