package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"refrain/internal/problem"
)

// answer sends v as JSON, not before it is sure that v is.
func answer(log *slog.Logger, w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(log, w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // a client that is gone has nobody to be told
}

var (
	errIncomplete = errors.New("the index is incomplete")
	errNoText     = errors.New("the text is not known")
)

// storeRetry is when a client may ask again while the store is away.
const storeRetry = 5 * time.Second

// fail answers with what an error means to the client; what it means to the operator is logged.
func fail(log *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	p := problem.Problem{Status: http.StatusInternalServerError, Detail: "The cause is in the server's log."}
	switch {
	case r.Context().Err() != nil:
		p = problem.Problem{Status: http.StatusServiceUnavailable, Detail: "The request was given up: " + r.Context().Err().Error()}
	case errors.As(err, &large):
		p = problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The limit is %d bytes.", large.Limit)}
	case errors.Is(err, ErrInput):
		p = problem.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, errNoText):
		p = problem.Problem{Status: http.StatusNotFound,
			Detail: "No repetition of this text is known: there was none, or it is longer ago than lookup.retention."}
	case errors.Is(err, errIncomplete):
		p = problem.Problem{Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The lookup index has lost what it held, and is being made again from the events."}
	case errors.Is(err, ErrUnavailable):
		log.Warn("lookup: the store is unavailable", "path", r.URL.Path, "error", err)
		p = problem.Problem{Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The store of the lookup index cannot be asked now. Nothing is lost: it goes on with the events from where it stopped."}
	default:
		log.Error("request", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	problem.Write(w, r, p)
}
