package lookup

import (
	"context"
	"errors"
	"slices"
	"time"

	"refrain/feed"
)

// ErrIncomplete says that the index lacks events that it was given before.
var ErrIncomplete = errors.New("the index is incomplete")

// Incomplete says whether the index lacks events that it was given before, as when its store has come back empty. As long
// as it does, it answers with ErrIncomplete: empty lists would be wrong.
func (x *Index) Incomplete(is bool) { x.incomplete.Store(is) }

// CheckComplete returns ErrIncomplete while that is what the index is.
func (x *Index) CheckComplete() error {
	if x.incomplete.Load() {
		return ErrIncomplete
	}
	return nil
}

// Reuse answers what a post repeats, and who repeats it: see Store.
func (x *Index) Reuse(ctx context.Context, source, post string, page Page) (Reuse, error) {
	if err := x.CheckComplete(); err != nil {
		return Reuse{}, err
	}
	if x.Deleted != nil && x.Deleted(feed.Name{Source: source, Post: post}, time.Time{}) {
		return Reuse{}, ErrDeleted
	}
	r, err := x.Store.Reuse(ctx, source, post, page)
	for i := range r.RepeatOf {
		if e := r.RepeatOf[i].Earlier; e != nil && x.hides(e) {
			r.RepeatOf[i].Earlier = nil
		}
	}
	r.RepeatedBy, r.Total = x.visible(r.RepeatedBy, r.Total)
	return r, err
}

// Text answers what is known of a group; false when that is nothing.
func (x *Index) Text(ctx context.Context, group feed.Hash, page Page) (Text, bool, error) {
	if err := x.CheckComplete(); err != nil {
		return Text{}, false, err
	}
	t, ok, err := x.Store.Text(ctx, group, page)
	if f := t.First; f != nil && x.hides(&Occurrence{Source: f.Source, Post: f.Post, Author: f.Author}) {
		t.First = nil
	}
	t.RepeatedBy, t.Total = x.visible(t.RepeatedBy, t.Total)
	return t, ok, err
}

// Author answers an author's latest reuse, the latest first: at most n and at most AuthorCap.
func (x *Index) Author(ctx context.Context, source, author string, n int) ([]RepeatedBy, error) {
	if err := x.CheckComplete(); err != nil {
		return nil, err
	}
	all, err := x.Store.Author(ctx, source, author, n)
	all, _ = x.visible(all, len(all))
	return all, err
}

// hides reports whether a post was deleted, or its author, and the index has not come to that: the events before may be very
// many.
func (x *Index) hides(o *Occurrence) bool {
	return x.Deleted != nil && x.Deleted(feed.Name{Source: o.Source, Post: o.Post, Author: o.Author},
		time.Unix(0, x.newest.Load()))
}

// visible leaves out what is hidden of a page of so many in all.
func (x *Index) visible(page []RepeatedBy, total int) ([]RepeatedBy, int) {
	n := len(page)
	page = slices.DeleteFunc(page, func(r RepeatedBy) bool { return x.hides(&r.Later) })
	return page, total - (n - len(page))
}
