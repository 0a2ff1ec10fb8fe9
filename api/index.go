package api

import (
	"fmt"
	"net/http"
	"strconv"

	"refrain/feed"
	"refrain/lookup"
)

// answerFromIndex answers with what ask returns, unless there is no index, or it lacks something.
func answerFromIndex[T any](a *handlers, ask func(*http.Request) (T, error)) http.Handler {
	complete := func(r *http.Request) (v T, err error) {
		if a.Index == nil {
			return v, errNoIndex
		}
		if err := a.Index.CheckComplete(); err != nil { // whatever is asked, were it understood or not
			return v, err
		}
		return ask(r)
	}
	return answering[T]{a, complete, true}
}

// reuse answers GET /v1/posts/{id}/reuse[?source=&limit=&after=]. The index knows posts by events alone: a post that
// nothing was reported of has empty lists, like one that does not exist.
func (a *handlers) reuse(r *http.Request) (reuseJSON, error) {
	page, err := pageOf(r)
	if err != nil {
		return reuseJSON{}, err
	}
	post := feed.Tombstone{Source: r.URL.Query().Get("source"), Post: r.PathValue("id")}
	if err := checkNames(post); err != nil {
		return reuseJSON{}, err
	}
	reuse, err := a.Index.Reuse(r.Context(), post.Source, post.Post, page)
	return reuseAnswer(&reuse), err
}

// checkNames refuses names that no post can have, as a deletion of it would be refused.
func checkNames(t feed.Tombstone) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	return nil
}

// text answers GET /v1/texts/{group}[?limit=&after=].
func (a *handlers) text(r *http.Request) (textJSON, error) {
	page, err := pageOf(r)
	if err != nil {
		return textJSON{}, err
	}
	group, err := feed.ParseHash(r.PathValue("group"))
	if err != nil {
		return textJSON{}, fmt.Errorf("%w: group: %w", ErrInput, err)
	}
	text, known, err := a.Index.Text(r.Context(), group, page)
	if err == nil && !known {
		err = errNoText
	}
	return textAnswer(&text), err
}

// author answers GET /v1/authors/{author}/reuse[?source=&limit=].
func (a *handlers) author(r *http.Request) (authorJSON, error) {
	n, err := limitOf(r, lookup.AuthorCap)
	if err != nil {
		return authorJSON{}, err
	}
	source, author := r.URL.Query().Get("source"), r.PathValue("author")
	if err := checkNames(feed.Tombstone{Source: source, Author: author}); err != nil {
		return authorJSON{}, err
	}
	reuse, err := a.Index.Author(r.Context(), source, author, n)
	return authorJSON{Source: source, Author: author, Reuse: repeatedByList(reuse)}, err
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

func pageOf(r *http.Request) (lookup.Page, error) {
	n, err := limitOf(r, maxLimit)
	return lookup.Page{Limit: n, After: r.URL.Query().Get("after")}, err
}

func limitOf(r *http.Request, highest int) (int, error) {
	q := r.URL.Query()
	if !q.Has("limit") {
		return defaultLimit, nil
	}
	written := q.Get("limit")
	n, err := strconv.Atoi(written)
	if err != nil || n < 0 || n > highest {
		return 0, fmt.Errorf("%w: limit %q: want a number from 0 to %d", ErrInput, written, highest)
	}
	return n, nil
}
