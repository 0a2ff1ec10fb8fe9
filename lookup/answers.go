package lookup

import (
	"fmt"
	"net/http"
	"strconv"

	"refrain/feed"
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
func (x *Index) ServeReuse(w http.ResponseWriter, r *http.Request) { x.serve(w, r, x.reuse) }

// ServeText answers GET /v1/texts/{group}[?limit=&after=].
func (x *Index) ServeText(w http.ResponseWriter, r *http.Request) { x.serve(w, r, x.text) }

// ServeAuthor answers GET /v1/authors/{author}/reuse[?source=&limit=].
func (x *Index) ServeAuthor(w http.ResponseWriter, r *http.Request) { x.serve(w, r, x.author) }

// serve answers with what ask returns, unless the index lacks something.
func (x *Index) serve(w http.ResponseWriter, r *http.Request, ask func(*http.Request) (any, error)) {
	var v any
	err := errIncomplete
	if !x.incomplete.Load() {
		v, err = ask(r)
	}
	if err != nil {
		fail(x.Logger, w, r, err)
		return
	}
	answer(x.Logger, w, r, v)
}

func (x *Index) reuse(r *http.Request) (any, error) {
	page, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	reuse, err := x.Store.Reuse(r.Context(), r.URL.Query().Get("source"), r.PathValue("id"), page)
	return reuseJSON{
		Source: reuse.Source, Post: reuse.Post, Repeats: repeatsJSON(reuse.Repeats),
		RepeatedBy: repetitionsJSON(reuse.RepeatedBy), Total: reuse.Total, Next: reuse.Next,
	}, err
}

func (x *Index) text(r *http.Request) (any, error) {
	page, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	group, err := feed.ParseHash(r.PathValue("group"))
	if err != nil {
		return nil, fmt.Errorf("%w: group: %w", ErrInput, err)
	}
	text, known, err := x.Store.Text(r.Context(), group, page)
	if err == nil && !known {
		err = errNoText
	}
	return textAnswer(&text), err
}

func (x *Index) author(r *http.Request) (any, error) {
	n, err := limitOf(r, AuthorCap)
	if err != nil {
		return nil, err
	}
	source, author := r.URL.Query().Get("source"), r.PathValue("author")
	reuse, err := x.Store.Author(r.Context(), source, author, n)
	return authorJSON{Source: source, Author: author, Reuse: repetitionsJSON(reuse)}, err
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
