package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"refrain/feed"
	"refrain/internal/problem"
)

// The JSON of the index's answers.

type placeJSON struct {
	Source   string    `json:"source"`
	Post     string    `json:"post"`
	Sentence int       `json:"sentence"`
	Time     feed.Time `json:"time"`
}

type reuseJSON struct {
	Source     string           `json:"source"`
	Post       string           `json:"post"`
	Repeats    []repeatJSON     `json:"repeats"`
	RepeatedBy []repetitionJSON `json:"repeatedBy"`
	Total      int              `json:"repeatedByTotal"`
	Next       string           `json:"next,omitempty"`
}

type repeatJSON struct {
	Event     string     `json:"event"`
	Sentence  int        `json:"sentence"`
	Group     string     `json:"group"`
	Jaccard   float64    `json:"jaccard"`
	Identical bool       `json:"identical"`
	Earlier   *placeJSON `json:"earlier,omitempty"`
	Text      string     `json:"text,omitempty"`
}

// repetitionJSON has the sentence twice: where the list is read for its own, and in the place it is of.
type repetitionJSON struct {
	Event    string    `json:"event"`
	Sentence int       `json:"sentence"`
	Group    string    `json:"group"`
	Jaccard  float64   `json:"jaccard"`
	Later    placeJSON `json:"later"`
	Text     string    `json:"text,omitempty"`
}

type textJSON struct {
	Group            string           `json:"group"`
	Text             string           `json:"text,omitempty"`
	First            *firstJSON       `json:"first,omitempty"`
	Last             *feed.Time       `json:"last,omitempty"`
	Occurrences      int              `json:"occurrences"`
	Authors          int              `json:"authors"`
	AuthorsEstimated bool             `json:"authorsEstimated"`
	RepeatedBy       []repetitionJSON `json:"repeatedBy"`
	Total            int              `json:"repeatedByTotal"`
	Next             string           `json:"next,omitempty"`
}

type firstJSON struct {
	Source string    `json:"source"`
	Post   string    `json:"post"`
	Time   feed.Time `json:"time"`
}

type authorJSON struct {
	Source string           `json:"source"`
	Author string           `json:"author"`
	Reuse  []repetitionJSON `json:"reuse"`
}

func repeatsJSON(list []Repeat) []repeatJSON {
	out := make([]repeatJSON, len(list))
	for i := range list {
		r := &list[i]
		out[i] = repeatJSON{
			Event: r.Event.String(), Sentence: r.Sentence, Group: r.Group.String(), Jaccard: r.Jaccard,
			Identical: r.Identical, Earlier: placed(r.Earlier), Text: r.Text,
		}
	}
	return out
}

func placed(p *Place) *placeJSON {
	if p == nil {
		return nil
	}
	return &placeJSON{p.Source, p.Post, p.Sentence, p.Time}
}

func repetitionsJSON(list []Repetition) []repetitionJSON {
	out := make([]repetitionJSON, len(list))
	for i := range list {
		r := &list[i]
		out[i] = repetitionJSON{
			Event: r.Event.String(), Sentence: r.Later.Sentence, Group: r.Group.String(), Jaccard: r.Jaccard,
			Later: *placed(&r.Later), Text: r.Text,
		}
	}
	return out
}

// ServeReuse answers GET /v1/posts/{id}/reuse[?source=&limit=&after=]. The index knows posts by events alone: a post
// that nothing was reported of has empty lists, like one that does not exist.
func (x *Index) ServeReuse(w http.ResponseWriter, r *http.Request) {
	if x.incomplete.Load() {
		x.fail(w, r, errIncomplete)
		return
	}
	q := r.URL.Query()
	page, err := pageOf(r)
	if err != nil {
		x.fail(w, r, err)
		return
	}
	reuse, err := x.Store.Reuse(r.Context(), q.Get("source"), r.PathValue("id"), page)
	if err != nil {
		x.fail(w, r, err)
		return
	}
	x.answer(w, r, reuseJSON{
		Source: reuse.Source, Post: reuse.Post, Repeats: repeatsJSON(reuse.Repeats),
		RepeatedBy: repetitionsJSON(reuse.RepeatedBy), Total: reuse.Total, Next: reuse.Next,
	})
}

// ServeText answers GET /v1/texts/{group}[?limit=&after=].
func (x *Index) ServeText(w http.ResponseWriter, r *http.Request) {
	if x.incomplete.Load() {
		x.fail(w, r, errIncomplete)
		return
	}
	page, err := pageOf(r)
	if err != nil {
		x.fail(w, r, err)
		return
	}
	group, err := feed.ParseHash(r.PathValue("group"))
	if err != nil {
		x.fail(w, r, fmt.Errorf("%w: group: %w", ErrInput, err))
		return
	}
	text, ok, err := x.Store.Text(r.Context(), group, page)
	switch {
	case err != nil:
		x.fail(w, r, err)
	case !ok:
		problem.Write(w, r, problem.Problem{Status: http.StatusNotFound, Detail: "No repetition of this text is known: there was none, or it is longer ago than lookup.retention."})
	default:
		x.answer(w, r, textAnswer(&text))
	}
}

func textAnswer(t *Text) textJSON {
	answer := textJSON{
		Group: t.Group.String(), Text: t.Text, First: (*firstJSON)(t.First), Occurrences: t.Occurrences, Authors: t.Authors,
		AuthorsEstimated: t.AuthorsEstimated, RepeatedBy: repetitionsJSON(t.RepeatedBy), Total: t.Total, Next: t.Next,
	}
	if t.Total > 0 {
		answer.Last = &t.Last
	}
	return answer
}

// ServeAuthor answers GET /v1/authors/{author}/reuse[?source=&limit=].
func (x *Index) ServeAuthor(w http.ResponseWriter, r *http.Request) {
	if x.incomplete.Load() {
		x.fail(w, r, errIncomplete)
		return
	}
	q := r.URL.Query()
	n, err := limitOf(r, AuthorCap)
	if err != nil {
		x.fail(w, r, err)
		return
	}
	reuse, err := x.Store.Author(r.Context(), q.Get("source"), r.PathValue("author"), n)
	if err != nil {
		x.fail(w, r, err)
		return
	}
	x.answer(w, r, authorJSON{Source: q.Get("source"), Author: r.PathValue("author"), Reuse: repetitionsJSON(reuse)})
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

func pageOf(r *http.Request) (Page, error) {
	n, err := limitOf(r, maxLimit)
	return Page{Limit: n, After: r.URL.Query().Get("after")}, err
}

func limitOf(r *http.Request, most int) (int, error) {
	written := r.URL.Query().Get("limit")
	if written == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%w: limit %q: want a number from 0 to %d", ErrInput, written, most)
	}
	return n, nil
}

func (x *Index) answer(w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		x.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // a client that is gone has nobody to be told
}

var errIncomplete = errors.New("the index is incomplete")

// storeRetry is when a client may ask again while the store is away.
const storeRetry = 5 * time.Second

func (x *Index) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Problem{Status: http.StatusInternalServerError, Detail: "The cause is in the server's log."}
	switch {
	case r.Context().Err() != nil:
		p = problem.Problem{Status: http.StatusServiceUnavailable, Detail: "The request was given up: " + r.Context().Err().Error()}
	case errors.Is(err, ErrInput):
		p = problem.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, errIncomplete):
		p = problem.Problem{Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The lookup index has lost what it held, and is being made again from the events."}
	case errors.Is(err, ErrUnavailable):
		x.Logger.Warn("lookup: the store is unavailable", "path", r.URL.Path, "error", err)
		p = problem.Problem{Status: http.StatusServiceUnavailable, RetryAfter: storeRetry,
			Detail: "The store of the lookup index cannot be asked now. Nothing is lost: it goes on with the events from where it stopped."}
	default:
		x.Logger.Error("request", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	problem.Write(w, r, p)
}
