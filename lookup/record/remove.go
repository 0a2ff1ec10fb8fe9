package record

import (
	"context"

	"refrain/feed"
)

// remove takes posts out wherever they are shown, and leaves tombstones instead. These come last: until they are
// there the records say where to look, so that a removal that was cut short can be made again.
func (s *Store) remove(ctx context.Context, ids []postID, how removal) error {
	p := s.newPass()
	if err := s.read(ctx, p, ids, nil); err != nil {
		return err
	}
	var gone []*post
	marks := &Batch{Now: p.now, TTL: p.ttl}
	for _, x := range p.posts {
		if x.deleted == there {
			gone = append(gone, x)
		}
		mark := &post{source: x.source, id: x.id, was: x.was}
		mark.setDeleted(how, p.now)
		marks.Values = append(marks.Values, mark.encode())
	}
	if err := s.readAllPages(ctx, p.now, gone); err != nil {
		return err
	}
	if err := s.forget(ctx, gone); err != nil {
		return err
	}
	if err := s.empty(ctx, p, gone); err != nil {
		return err
	}
	return s.backend.Write(ctx, marks)
}

// empty takes everything out of the pages of posts.
func (s *Store) empty(ctx context.Context, p *pass, gone []*post) error {
	b := &Batch{Now: p.now, TTL: p.ttl}
	for _, x := range gone {
		for path, g := range x.pages {
			if path != "" && g.was != 0 {
				b.Values = append(b.Values, x.encodePage(&page{path: path, was: g.was, slice: p.now}))
			}
		}
	}
	if len(b.Values) == 0 {
		return nil
	}
	return s.backend.Write(ctx, b)
}

// forget takes the traces of posts out of everything but their own records.
func (s *Store) forget(ctx context.Context, gone []*post) error {
	p := s.newPass()
	members := map[feed.Hash]map[postID]bool{} // of the groups, those that are gone
	for _, x := range gone {
		p.remove = append(p.remove, x.allEntries()...)
		for g := range x.groups() {
			if members[g] == nil {
				members[g] = map[postID]bool{}
			}
			members[g][postID{x.source, x.id}] = true
		}
	}
	groups := make([]feed.Hash, 0, len(members))
	for g := range members {
		groups = append(groups, g)
	}
	if err := s.read(ctx, p, nil, groups); err != nil {
		return err
	}
	for g, ids := range members {
		p.groups[g].forget(ids)
	}
	if err := s.backend.Write(ctx, p.batch()); err != nil {
		return err
	}
	return s.forgetWitnesses(ctx, members)
}

// allEntries is where the reuses of p stand in sets.
func (p *post) allEntries() (all []Entry) {
	for r := range p.reuses() {
		all = append(all, p.entries(r)...)
	}
	return all
}

// forgetWitnesses takes posts out of what others repeat of their groups.
func (s *Store) forgetWitnesses(ctx context.Context, members map[feed.Hash]map[postID]bool) (err error) {
	p := s.newPass()
	for g, gone := range members {
		if p, err = s.forgetWitnessesIn(ctx, p, g, gone); err != nil {
			return err
		}
	}
	return s.writePass(ctx, p)
}

// forgetWitnessesIn does so in one group, some of those who repeat it at a time. What has changed is written with that of
// other groups: it returns the pass to go on with.
func (s *Store) forgetWitnessesIn(ctx context.Context, p *pass, group feed.Hash, gone map[postID]bool) (*pass, error) {
	var before *Member
	for {
		found, err := s.latest(ctx, repeatedByKey(group), p.now, beginning, before, s.atOnce)
		if err != nil || len(found) == 0 {
			return p, err
		}
		facts, err := s.repeating(ctx, p, group, found)
		if err != nil {
			return p, err
		}
		for _, f := range facts {
			f.post.forget(f.hash, gone)
		}
		if len(p.posts) >= s.atOnce {
			if err := s.writePass(ctx, p); err != nil {
				return p, err
			}
			p = s.newPass()
		}
		before = &found[len(found)-1]
	}
}

// repeating reads what members of a group's set stand for: an event of a post each.
func (s *Store) repeating(ctx context.Context, p *pass, group feed.Hash, found []Member) ([]fact, error) {
	ids := make([]postID, len(found))
	facts := make([]fact, len(found))
	for i, m := range found {
		r, err := parseRepeatedBy(m, &group)
		if err != nil {
			return nil, err
		}
		ids[i], facts[i].hash = postID{r.Later.Source, r.Later.Post}, r.Event
	}
	if err := s.read(ctx, p, ids, nil); err != nil {
		return nil, err
	}
	for i, id := range ids {
		facts[i].post = p.posts[id]
	}
	return facts, s.readPages(ctx, p.now, facts)
}

// writePass writes what a pass has changed, if it has.
func (s *Store) writePass(ctx context.Context, p *pass) error {
	b := p.batch()
	if len(b.Values)+len(b.Remove)+len(b.Add) == 0 {
		return nil
	}
	return s.backend.Write(ctx, b)
}
