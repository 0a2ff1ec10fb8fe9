package peers

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"refrain/internal/problem"
)

// Local looks a text up in the rows of this process.
type Local func(ctx context.Context, q Query) (*Answer, error)

// Handler answers POST Path for processes that show the token; "": for all. maxText bounds the bytes of a text. badInput
// tells the errors of look that the text is to blame for.
type Handler struct {
	Token    string
	MaxText  int64
	Look     Local
	BadInput error
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		problem.MethodNotAllowed(w, r, http.MethodPost)
	case !h.knows(r):
		problem.Write(w, r, problem.Problem{Type: problem.NeedsToken, Status: http.StatusUnauthorized,
			Detail: "want the token of the cluster: cluster.token is another one here, or there"})
	default:
		h.answer(w, r)
	}
}

func (h *Handler) knows(r *http.Request) bool {
	shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return h.Token == "" || subtle.ConstantTimeCompare([]byte(shown), []byte(h.Token)) == 1
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	const escaped = 6 // bytes that one may take in JSON
	var q query
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, escaped*h.MaxText+4096)).Decode(&q); err != nil {
		problem.Write(w, r, problem.Problem{Type: problem.BadBody, Status: http.StatusBadRequest, Detail: "question: " + err.Error()})
		return
	}
	if q.Version != version {
		problem.Write(w, r, problem.Problem{Type: problem.OtherVersion, Status: http.StatusNotImplemented, Detail: errVersion.Error()})
		return
	}
	found, err := h.Look(r.Context(), Query{q.Text, q.Lang, q.Threshold, q.Limit})
	if err == nil {
		var body []byte
		if body, err = encode(found); err == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body) // who asked has gone, else
			return
		}
	}
	kind, status := problem.Internal, http.StatusInternalServerError
	if errors.Is(err, h.BadInput) {
		kind, status = problem.BadParameter, http.StatusBadRequest
	}
	problem.Write(w, r, problem.Problem{Type: kind, Status: status, Detail: err.Error()})
}
