package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"refrain/feed"
	"refrain/ingest"
)

// servePosts is POST /v1/posts.
func (h *Source) servePosts(w http.ResponseWriter, r *http.Request) {
	all, err := wantsAll(r)
	if err != nil {
		writeBadQuery(w, r, err)
		return
	}
	b, err := h.openBody(w, r)
	if err != nil {
		h.writeFailure(w, r, &answer{}, err)
		return
	}
	ctx, span := startSpan(r, "POST /v1/posts")
	defer span.End()
	// net/http cancels the request's context when reading the body fails; what was read before is finished even so.
	ctx = context.WithoutCancel(ctx)
	u := &upload{h: h, ctx: ctx, answer: answer{all: all, limit: h.cfg.MaxResults}}
	err = errors.Join(u.read(b), u.settle())
	if r.Context().Err() != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return // nobody is left to be answered
	}
	if err != nil {
		u.answer.next = cmp.Or(u.answer.next, u.last+1)
		h.writeFailure(w, r, &u.answer, err)
		return
	}
	h.writeAnswer(w, r, &u.answer, b)
}

// serveDelete is DELETE /v1/posts/{id}: it answers when the deletion is durable. Whether there is such a post is
// not asked: it may be on its way still.
func (h *Source) serveDelete(w http.ResponseWriter, r *http.Request) {
	h.delete(w, r, feed.Tombstone{Source: h.sourceOf(r), Post: r.PathValue("id")})
}

// serveDeleteAuthor is DELETE /v1/authors/{author}, in the same way.
func (h *Source) serveDeleteAuthor(w http.ResponseWriter, r *http.Request) {
	h.delete(w, r, feed.Tombstone{Source: h.sourceOf(r), Author: r.PathValue("author")})
}

func (h *Source) sourceOf(r *http.Request) string {
	if q := r.URL.Query(); q.Has("source") {
		return q.Get("source")
	}
	return h.cfg.Source
}

// delete refuses names that no post can have: nothing behind it takes them.
func (h *Source) delete(w http.ResponseWriter, r *http.Request, t feed.Tombstone) {
	for _, n := range []struct{ field, value string }{{"source", t.Source}, {"id", t.Post}, {"author", t.Author}} {
		if len(n.value) > feed.MaxName {
			writeBadQuery(w, r, fmt.Errorf("%s: %d bytes, and the limit is %d", n.field, len(n.value), feed.MaxName))
			return
		}
	}
	ctx, span := startSpan(r, r.Pattern)
	defer span.End()
	u := &upload{h: h, ctx: ctx, open: part{
		batch:   ingest.Batch{Deleted: []feed.Tombstone{t}},
		results: make([]result, 1),
	}}
	err := errors.Join(u.flush(), u.settle())
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		h.writeFailure(w, r, nil, err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
