package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"refrain/internal/problem"
	"refrain/lookup"
)

// maxBody is the most bytes that are read of a request whose answer is JSON of ours.
const maxBody = 2 << 20

// answering answers with the JSON of what ask returns. T is what a client gets: openapi.yaml describes the same.
type answering[T any] struct {
	*handlers
	query  func(*http.Request) (T, error)
	tagged bool // with an entity tag
}

// answerWith returns a handler that answers with what ask returns.
func answerWith[T any](a *handlers, ask func(*http.Request) (T, error)) http.Handler {
	return answering[T]{a, ask, false}
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
	if h.tagged {
		sendTagged(w, r, append(b, '\n'))
		return
	}
	_, _ = w.Write(append(b, '\n')) // a client that is gone has nobody to be told
}

// sendTagged sends an answer with its entity tag, or 304 to a client that has it already (RFC 9110, section 13.1.2). It may
// be kept by the client alone, which asks each time whether it still holds.
func sendTagged(w http.ResponseWriter, r *http.Request, b []byte) {
	tag := fmt.Sprintf(`"%x"`, xxh3.Hash128(b).Bytes())
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	if hasTag(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(b) // a client that is gone has nobody to be told
}

// hasTag compares weakly, as the section wants: a proxy that compresses answers makes tags weak.
func hasTag(values []string, tag string) bool {
	for item := range strings.SplitSeq(strings.Join(values, ","), ",") {
		item = strings.TrimSpace(item)
		if item == "*" || strings.TrimPrefix(item, "W/") == tag {
			return true
		}
	}
	return false
}

var (
	errNoIndex = errors.New("there is no index")
	errNoText  = errors.New("the text is not known")
)

// storeRetry is when a client may ask again while the store is away.
const storeRetry = 5 * time.Second

// fail answers with what an error means to the client; what it means to the operator is logged.
func (a *handlers) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errBusy):
		a.refuse(w, r, "", "busy", busy)
		return
	case errors.Is(err, errHeld):
		a.refuse(w, r, "", "held", held(a.Limits.MatchTimeout))
		return
	}
	p := cmp.Or(a.bodyProblem(r, err), indexProblem(err), webhookProblem(r, err))
	switch {
	case p == nil:
		p = &internalError
		a.Logger.Error("request", "method", r.Method, "path", r.URL.Path, "error", err)
	case p.Type == problem.IndexUnavailable:
		a.Logger.Warn("lookup: the store is unavailable", "path", r.URL.Path, "error", err)
	}
	problem.Write(w, r, *p)
}

var internalError = problem.Problem{
	Type: problem.Internal, Status: http.StatusInternalServerError, Detail: "The cause is in the server's log.",
}

// bodyProblem is what an error of reading or understanding a request means; nil: it is another error.
func (a *handlers) bodyProblem(r *http.Request, err error) *problem.Problem {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &problem.Problem{
			Type: problem.BodyTimeout, Status: http.StatusRequestTimeout,
			Detail: fmt.Sprintf("The body did not arrive within %v (limits.read_timeout).", a.Limits.ReadTimeout),
		}
	case r.Context().Err() != nil:
		return &problem.Problem{
			Type: problem.GivenUp, Status: http.StatusServiceUnavailable,
			Detail: "The request was given up: " + r.Context().Err().Error(),
		}
	case errors.As(err, &tooLarge):
		return &problem.Problem{
			Type: problem.TooLarge, Status: http.StatusRequestEntityTooLarge,
			Detail: fmt.Sprintf("The limit is %d bytes.", tooLarge.Limit),
		}
	case errors.Is(err, errBody):
		return &problem.Problem{Type: problem.BadBody, Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, ErrInput), errors.Is(err, lookup.ErrInput):
		return &problem.Problem{Type: problem.BadParameter, Status: http.StatusBadRequest, Detail: err.Error()}
	}
	return nil
}

// indexProblem is what an error of the index of reuse means; nil: it is another error.
func indexProblem(err error) *problem.Problem {
	switch {
	case errors.Is(err, errNoIndex):
		return &problem.Problem{Type: problem.NoIndex, Status: http.StatusNotFound,
			Detail: "This server keeps no index: lookup.store is none."}
	case errors.Is(err, errNoText):
		return &problem.Problem{Type: problem.UnknownText, Status: http.StatusNotFound,
			Detail: "No repetition of this text is known: there was none, or it is longer ago than lookup.retention."}
	case errors.Is(err, lookup.ErrDeleted):
		return &problem.Problem{Type: problem.Deleted, Status: http.StatusNotFound,
			Detail: "The post was deleted, or its author was."}
	case errors.Is(err, lookup.ErrIncomplete):
		return &problem.Problem{Type: problem.IndexIncomplete, Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The lookup index has lost what it held, and is being made again from the events."}
	case errors.Is(err, lookup.ErrUnavailable):
		return &problem.Problem{Type: problem.IndexUnavailable, Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The store of the lookup index cannot be asked now. Nothing is lost: it goes on with the events from " +
				"where it stopped."}
	}
	return nil
}
