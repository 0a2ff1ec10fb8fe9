package lookup

import (
	"context"
	"errors"
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
	return x.Store.Reuse(ctx, source, post, page)
}

// Text answers what is known of a group; false when that is nothing.
func (x *Index) Text(ctx context.Context, group feed.Hash, page Page) (Text, bool, error) {
	if err := x.CheckComplete(); err != nil {
		return Text{}, false, err
	}
	return x.Store.Text(ctx, group, page)
}

// Author answers an author's latest reuse, the latest first: at most n and at most AuthorCap.
func (x *Index) Author(ctx context.Context, source, author string, n int) ([]RepeatedBy, error) {
	if err := x.CheckComplete(); err != nil {
		return nil, err
	}
	return x.Store.Author(ctx, source, author, n)
}
