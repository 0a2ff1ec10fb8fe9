package http

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/places"
)

// servePosts is POST /v1/posts.
func (h *Source) servePosts(w http.ResponseWriter, r *http.Request) {
	all, err := wantsAll(r)
	fields, errFields := h.fields(r)
	if err := errors.Join(err, errFields); err != nil {
		writeBadQuery(w, r, err)
		return
	}
	u := h.newUpload(r)
	u.answer.all, u.fields = all, fields
	defer func() { u.answer.memory.remove(u.answer.held) }()
	if u.slot = h.slots.acquire(r.Context(), places.Client(r, u.sender), h.cfg.Patience); u.slot == nil {
		h.writeFailure(w, r, &answer{next: 1}, errCrowded)
		return
	}
	array, err := h.upload(w, r, u)
	if r.Context().Err() != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, errEvicted) {
		return // nobody is left to be answered
	}
	if err != nil {
		h.writeFailure(w, r, &u.answer, err)
		return
	}
	h.writeAnswer(w, r, &u.answer, array)
}

// fields are those of the posts of a request.
func (h *Source) fields(r *http.Request) (*feed.Fields, error) {
	if h.cfg.FieldsOf == nil || r.URL.RawQuery == "" {
		return h.cfg.Fields, nil
	}
	return h.cfg.FieldsOf(r.URL.Query())
}

func (h *Source) newUpload(r *http.Request) *upload {
	u := &upload{h: h, ctx: r.Context(), sender: h.cfg.Sender(r), memory: newReservation(h.bodies, freeBytes)}
	u.answer = answer{limit: h.cfg.MaxResults, memory: newReservation(h.answers, answerBytes)}
	return u
}

// upload reads a body to its end and waits until its posts are durable; then its slot is free. array says that they are
// one JSON array.
func (h *Source) upload(w http.ResponseWriter, r *http.Request, u *upload) (array bool, err error) {
	defer h.slots.release(u.slot)
	defer u.end()
	b, err := u.openBody(w, r)
	if err != nil {
		return false, err
	}
	// net/http cancels the request's context when reading the body fails; what was read before is finished even so.
	u.ctx = context.WithoutCancel(r.Context())
	if err = errors.Join(u.read(b), u.finish()); err != nil {
		u.answer.next = cmp.Or(u.answer.next, u.last+1)
	}
	u.recount(err)
	return b.array, err
}

// serveDelete is DELETE /v1/posts/{id}: it answers when the deletion is durable, and known to all who keep posts. Whether there
// is such a post is not asked: it may be on its way still.
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
	if err := t.Check(); err != nil {
		writeBadQuery(w, r, err)
		return
	}
	u := h.newUpload(r)
	u.open = part{batch: ingest.Batch{Deleted: []feed.Tombstone{t}}, results: make([]result, 1)}
	err := errors.Join(u.flush(), u.finish())
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		h.writeFailure(w, r, nil, err)
	default:
		h.answerDeleted(w, r)
	}
}

// Behind is a worker that has not said in time that it knows of a deletion. Its partitions learn of it before anything else, when
// the worker goes on, or another one takes them over.
type Behind struct {
	Worker     string `json:"worker,omitempty"` // "": nobody serves these partitions
	Partitions []int  `json:"partitions"`
}

// answerDeleted answers 204, or 202 where some worker may still show what is deleted.
func (h *Source) answerDeleted(w http.ResponseWriter, r *http.Request) {
	behind := h.cfg.Spread(r.Context())
	if len(behind) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := json.Marshal(struct {
		Behind []Behind `json:"behind"`
	}{behind})
	if err != nil {
		panic(fmt.Sprintf("names and numbers that are no JSON: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(append(body, '\n')) // a client that is gone has nobody to be told
}
