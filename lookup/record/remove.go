package record

import (
	"context"
	"maps"
	"slices"

	"refrain/feed"
)

// remove takes a post out wherever it is shown, and leaves a mark in its place. The mark comes last: until it is there
// the record says where to look, so that a removal that was cut short can be made again.
func (s *Store) remove(ctx context.Context, id postID, how removal) error {
	p := s.newPass()
	if err := s.read(ctx, p, []postID{id}, nil); err != nil {
		return err
	}
	gone := p.posts[postKey(id.source, id.id)]
	if gone.deleted == there {
		if err := s.forget(ctx, gone); err != nil {
			return err
		}
	}
	mark := &post{source: id.source, id: id.id, was: gone.was, slice: p.now, deleted: how}
	return s.backend.Write(ctx, &Batch{Now: p.now, TTL: p.ttl, Values: []Value{mark.encode()}})
}

// forget takes the traces of a post out of everything but its own record.
func (s *Store) forget(ctx context.Context, gone *post) error {
	p := s.newPass()
	for i := range gone.reuses {
		p.remove = append(p.remove, gone.entries(&gone.reuses[i], "")...)
		for _, author := range gone.authors {
			p.remove = append(p.remove, gone.entries(&gone.reuses[i], author)[1:]...)
		}
	}
	since := gone.groups()
	groups := slices.Collect(maps.Keys(since))
	if err := s.read(ctx, p, nil, groups); err != nil {
		return err
	}
	for _, g := range groups {
		p.groups[g].forget(gone.source, gone.id)
	}
	if err := s.backend.Write(ctx, p.batch()); err != nil {
		return err
	}
	for _, g := range groups {
		if err := s.forgetWitness(ctx, gone, g); err != nil {
			return err
		}
	}
	return nil
}

// forgetWitness takes a post out of what others repeat of a group, some posts at a time.
func (s *Store) forgetWitness(ctx context.Context, gone *post, group feed.Hash) error {
	var before *Member
	for {
		p := s.newPass()
		found, err := s.latest(ctx, repeatsKey(group), p.now, beginning, before, s.atOnce)
		if err != nil || len(found) == 0 {
			return err
		}
		ids := make([]postID, 0, len(found))
		for _, m := range found {
			r, err := repetition(m, &group)
			if err != nil {
				return err
			}
			ids = append(ids, postID{r.Later.Source, r.Later.Post})
		}
		if err := s.read(ctx, p, ids, nil); err != nil {
			return err
		}
		for _, other := range p.posts {
			other.forget(group, gone.source, gone.id)
		}
		if err := s.backend.Write(ctx, p.batch()); err != nil {
			return err
		}
		before = &found[len(found)-1]
	}
}
