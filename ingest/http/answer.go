package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"refrain/ingest"
	"refrain/internal/problem"
	"refrain/internal/quota"
)

// maxFullList is how many lines an answer lists in full without being asked to.
const maxFullList = 1000

// answer says what became of the lines of a request. Every line is counted; listed are all of them while there
// are no more than maxFullList or the client asked for all, else those rejected or changed, and in any case no more
// than limit.
type answer struct {
	Accepted int      `json:"accepted"`
	Rejected int      `json:"rejected"`
	Results  []result `json:"results"`
	Omitted  int      `json:"omitted,omitempty"` // lines counted but not listed

	all       bool // the client asked for all lines
	limit     int
	memory    *reservation
	held      int64 // of memory
	next      int   // the first line that was not taken, 0 when all were
	malformed bool  // the first line is not JSON at all
}

// result is the fate of one line.
type result struct {
	Line   int    `json:"line"`
	ID     string `json:"id,omitempty"`
	Status string `json:"status"` // accepted or rejected
	Note   string `json:"note,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (r result) plain() bool { return r.Status == "accepted" && r.Note == "" }

func (a *answer) add(results []result, accepted int) {
	complete := a.all || a.lines() <= maxFullList // what is listed so far is everything
	a.Accepted += accepted
	a.Rejected += len(results) - accepted
	switch {
	case a.all || a.lines() <= maxFullList:
		a.Results = append(a.Results, results...)
	case complete:
		a.Results = appendNotable(appendNotable(nil, a.Results), results)
	default:
		a.Results = appendNotable(a.Results, results)
	}
	a.Results = a.Results[:min(len(a.Results), a.limit)]
	a.trim()
	a.Omitted = a.lines() - len(a.Results)
}

// trim leaves out what there is no memory for.
func (a *answer) trim() {
	var cost int64
	for i := range a.Results {
		cost += a.Results[i].cost()
		if cost > a.held && !a.memory.tryAdd(cost-a.held) {
			a.Results = a.Results[:i]
			return
		}
		a.held = max(a.held, cost)
	}
}

// cost is what a line takes, in bytes, in the list and as JSON, where a character may become six.
func (r *result) cost() int64 { return 200 + 7*int64(len(r.ID)+len(r.Note)+len(r.Reason)) }

func (a *answer) lines() int { return a.Accepted + a.Rejected }

// appendNotable appends to dst the results that say more than "accepted".
func appendNotable(dst, results []result) []result {
	for _, r := range results {
		if !r.plain() {
			dst = append(dst, r)
		}
	}
	return dst
}

func wantsAll(r *http.Request) (bool, error) {
	q := r.URL.Query()
	switch v := q.Get("results"); {
	case v == "all":
		return true, nil
	case v == "changed", !q.Has("results"):
		return false, nil
	default:
		return false, fmt.Errorf("results=%s: want all or changed", v)
	}
}

func writeBadQuery(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, problem.Problem{Type: problem.BadParameter, Status: http.StatusBadRequest, Detail: err.Error()})
}

// writeAnswer answers a request whose body was read to its end.
func (h *Source) writeAnswer(w http.ResponseWriter, r *http.Request, a *answer, array bool) {
	switch {
	case a.lines() == 0 && !array: // an empty array is a list, if a short one
		problem.Write(w, r, problem.Problem{
			Type: problem.NoPosts, Status: http.StatusBadRequest,
			Detail: "There is no post in the body: want a JSON object, an array of them, or one a line.",
		})
	case a.Accepted == 0 && a.lines() > 0:
		p := problem.Problem{
			Type: problem.NonePosted, Status: http.StatusUnprocessableEntity, Detail: "No post was accepted.", Extra: a.members(),
		}
		if a.Rejected == 1 && !array {
			p.Detail = a.Results[0].Reason
			if a.malformed {
				p.Type, p.Status = problem.BadBody, http.StatusBadRequest
			}
		}
		problem.Write(w, r, p)
	default:
		w.Header().Set("Content-Type", "application/json")
		if a.Results == nil {
			a.Results = []result{}
		}
		_ = json.NewEncoder(w).Encode(a) // a client that is gone has nobody to be told
	}
}

func noRoom(e *ingest.NoRoomError, retryHint string) problem.Problem {
	return problem.Problem{
		Type: problem.TopicFull, Status: http.StatusServiceUnavailable, RetryAfter: min(e.In, maxRetryAfter),
		Detail: fmt.Sprintf("The server keeps posts for as long as others may repeat them, and has no room for more: "+
			"these were not accepted. "+
			"The oldest go in about %v; ask again every hour, for there may be room before.%s", e.In.Round(time.Minute), retryHint),
	}
}

// failure says what an error of the route or of the body means to the client.
func failure(err error, retryHint string) problem.Problem {
	is := func(target error) bool { return errors.Is(err, target) }
	var exceeded *quota.Exceeded
	var full *ingest.NoRoomError
	switch {
	case is(errTooLarge):
		return problem.Problem{Type: problem.TooLarge, Status: http.StatusRequestEntityTooLarge, Detail: err.Error()}
	case is(errEncoding):
		return problem.Problem{Type: problem.ContentEncoding, Status: http.StatusUnsupportedMediaType, Detail: err.Error()}
	case is(errEvicted):
		return problem.Problem{
			Type: problem.Uploads, Status: http.StatusRequestTimeout,
			Detail: "There are as many uploads as limits.uploads allows, and this was the slowest." + retryHint,
		}
	case is(os.ErrDeadlineExceeded):
		return problem.Problem{
			Type: problem.BodyTimeout, Status: http.StatusRequestTimeout,
			Detail: "The body stood still for too long." + retryHint,
		}
	case is(errStopping):
		return stopping
	case is(errCrowded):
		return problem.Problem{
			Type: problem.Uploads, Status: http.StatusTooManyRequests, RetryAfter: time.Second,
			Detail: "There are as many uploads as limits.uploads and limits.upload_bytes allow, of all clients or of this one." + retryHint,
		}
	case is(errBusy):
		return problem.Problem{
			Type: problem.QueueFull, Status: http.StatusTooManyRequests, RetryAfter: time.Second,
			Detail: "Posts arrive faster than they are processed; the queue stayed full." + retryHint,
		}
	case is(ingest.ErrOverdue):
		return problem.Problem{
			Type: problem.QueueFull, Status: http.StatusTooManyRequests, RetryAfter: time.Minute,
			Detail: "Posts wait to be compared with others for so long that further ones might be lost unseen: the workers of this " +
				"service stand still, or are too few." + retryHint,
		}
	case is(ingest.ErrBehind):
		return problem.Problem{
			Type: problem.Pace, Status: http.StatusTooManyRequests, RetryAfter: 5 * time.Second,
			Detail: "Posts arrive faster than they are compared with others, and this sender sends more than its quota " +
				"gives on average." + retryHint,
		}
	case errors.As(err, &exceeded):
		return overQuota(exceeded, retryHint)
	case is(ingest.ErrDeletionsFull):
		return problem.Problem{
			Type: problem.DeletionsFull, Status: http.StatusInsufficientStorage,
			RetryAfter: 10 * time.Minute,
			Detail: "The server keeps as many deletions as it has room for, and forgets none before its time: this one was not " +
				"accepted. There is room again as old ones expire. Cause: " + err.Error(),
		}
	case errors.As(err, &full):
		return noRoom(full, retryHint)
	case is(errDurable), is(errSlowAck):
		return problem.Problem{
			Type: problem.NotDurable, Status: http.StatusServiceUnavailable, RetryAfter: 5 * time.Second,
			Detail: "Posts could not be made durable." + retryHint + " Cause: " + err.Error(),
		}
	}
	return problem.Problem{Type: problem.BadBody, Status: http.StatusBadRequest, Detail: err.Error()}
}

// writeFailure answers a request of which not all was accepted: with what was, and from where on
// to send it again. a is nil where there are no lines.
func (h *Source) writeFailure(w http.ResponseWriter, r *http.Request, a *answer, err error) {
	retryHint := " Send again from the line that next names."
	if a == nil {
		retryHint = " Send it again later."
	}
	p := failure(err, retryHint)
	if p.Status == http.StatusServiceUnavailable && errors.Is(err, errDurable) {
		h.logFailure(r, err)
	}
	if p.Status == http.StatusUnsupportedMediaType {
		w.Header().Set("Accept-Encoding", "gzip")
	}
	if a != nil {
		p.Extra = a.members()
	}
	if exceeded := (*quota.Exceeded)(nil); errors.As(err, &exceeded) && p.Type == problem.Quota {
		p.Extra = withQuota(p.Extra, exceeded)
	}
	problem.Write(w, r, p)
}

// logFailure logs that posts are not durable, a bounded number of times.
func (h *Source) logFailure(r *http.Request, err error) {
	skipped, ok := h.failures.Allow()
	if skipped > 0 {
		h.cfg.Logger.Error("further requests with posts that are not durable", "requests", skipped)
	}
	if ok {
		h.cfg.Logger.Error("posts not durable", "path", r.URL.Path, "error", err)
	}
}

func (a *answer) members() map[string]any {
	m := map[string]any{"accepted": a.Accepted, "rejected": a.Rejected, "results": a.Results}
	if a.Results == nil {
		m["results"] = []result{}
	}
	if a.Omitted > 0 {
		m["omitted"] = a.Omitted
	}
	if a.next > 0 {
		m["next"] = a.next
	}
	return m
}
