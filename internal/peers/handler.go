package peers

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"refrain/internal/problem"
)

// Local looks a text up in the rows of this process.
type Local func(ctx context.Context, q Query) (*Answer, error)

// Deleted waits until the rows of this process show nothing that was deleted before a position of the control topic, or ctx
// ends, and returns the partitions of which that is so.
type Deleted func(ctx context.Context, before int64) []int

// Handler answers POST MatchPath and DeletionPath for processes that show the token; "": for all. MaxText bounds the bytes of a
// text. BadInput tells the errors of Look that the text is to blame for.
type Handler struct {
	Token    string
	MaxText  int64
	Look     Local
	BadInput error
	Deleted  Deleted

	once sync.Once
	room *semaphore.Weighted // of the bytes of questions that are read and answered
}

const (
	// maxQuestions bounds the bytes of all questions at a time: who asks stops waiting, and says that the partitions here are missing.
	maxQuestions = 32 << 20
	// readTimeout is how long a question may take to arrive: longer than anybody waits for its answer.
	readTimeout = 5 * time.Second
)

// Answers reports whether a path is one of those.
func Answers(path string) bool { return path == MatchPath || path == DeletionPath }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		problem.MethodNotAllowed(w, r, http.MethodPost)
	case !h.knows(r):
		problem.Write(w, r, problem.Problem{Type: problem.NeedsToken, Status: http.StatusUnauthorized,
			Detail: "want the token of the cluster: cluster.token is another one here, or there"})
	case r.URL.Path == DeletionPath:
		h.answerDeleted(w, r)
	default:
		h.admit(w, r)
	}
}

// admit answers once there is room for the question.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() { h.room = semaphore.NewWeighted(max(maxQuestions, h.maxQuestion())) })
	size := h.maxQuestion()
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	if err := h.room.Acquire(ctx, size); err != nil {
		problem.Write(w, r, problem.Problem{Type: problem.Matches, Status: http.StatusServiceUnavailable,
			Detail: "as many questions are being answered as there is room for", RetryAfter: time.Second})
		return
	}
	defer h.room.Release(size)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)) // a recorder of tests has none
	h.answer(w, r)
}

// maxQuestion bounds the bytes of one question.
func (h *Handler) maxQuestion() int64 {
	const escaped = 6 // bytes that one may take in JSON
	return escaped*h.MaxText + maxRest
}

func (h *Handler) knows(r *http.Request) bool {
	shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return h.Token == "" || subtle.ConstantTimeCompare([]byte(shown), []byte(h.Token)) == 1
}

// maxRest bounds the bytes of a question without its text.
const maxRest = 4096

// read reads a question; what cannot be understood is answered.
func read(w http.ResponseWriter, r *http.Request, maxBytes int64, q any, of *int) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(q); err != nil {
		problem.Write(w, r, problem.Problem{Type: problem.BadBody, Status: http.StatusBadRequest, Detail: "question: " + err.Error()})
		return false
	}
	if *of != version {
		problem.Write(w, r, problem.Problem{Type: problem.OtherVersion, Status: http.StatusNotImplemented, Detail: errVersion.Error()})
		return false
	}
	return true
}

// maxWait bounds how long a question about deletions waits, whatever it says.
const maxWait = 10 * time.Second

func (h *Handler) answerDeleted(w http.ResponseWriter, r *http.Request) {
	var q deletionQuery
	if !read(w, r, maxRest, &q, &q.Version) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), min(maxWait, time.Duration(max(0, q.WaitMS))*time.Millisecond))
	defer cancel()
	write(w, r, &Answer{Partitions: h.Deleted(ctx, q.Before)})
}

// write answers with what was found.
func write(w http.ResponseWriter, r *http.Request, found *Answer) {
	body, err := encode(found)
	if err != nil {
		problem.Write(w, r, problem.Problem{Type: problem.Internal, Status: http.StatusInternalServerError, Detail: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// Who asks makes room for it.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // who asked has gone, else
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	var q query
	if !read(w, r, h.maxQuestion(), &q, &q.Version) {
		return
	}
	found, err := h.Look(r.Context(), Query{q.Text, q.Lang, q.Threshold, q.Limit})
	if err == nil {
		write(w, r, found)
		return
	}
	kind, status := problem.Internal, http.StatusInternalServerError
	if errors.Is(err, h.BadInput) {
		kind, status = problem.BadParameter, http.StatusBadRequest
	}
	problem.Write(w, r, problem.Problem{Type: kind, Status: status, Detail: err.Error()})
}
