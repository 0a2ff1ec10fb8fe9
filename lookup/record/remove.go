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
	var removed []*post
	tombstones := &Batch{Now: p.now, TTL: p.ttl}
	for _, x := range p.posts {
		if x.deleted == present {
			removed = append(removed, x)
		}
		tombstone := &post{source: x.source, id: x.id, was: x.was}
		tombstone.setDeleted(how, p.now)
		tombstones.Values = append(tombstones.Values, tombstone.encode())
	}
	if err := s.readAllPages(ctx, p.now, removed); err != nil {
		return err
	}
	if err := s.removeTraces(ctx, removed); err != nil {
		return err
	}
	if err := s.empty(ctx, p, removed); err != nil {
		return err
	}
	return s.backend.Write(ctx, tombstones)
}

// empty takes everything out of the pages of posts.
func (s *Store) empty(ctx context.Context, p *pass, removed []*post) error {
	b := &Batch{Now: p.now, TTL: p.ttl}
	for _, x := range removed {
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

// removeTraces takes the traces of posts out of everything but their own records.
func (s *Store) removeTraces(ctx context.Context, removed []*post) error {
	p := s.newPass()
	members := map[feed.Hash]map[postID]bool{} // by group, those that are removed
	for _, x := range removed {
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
		p.groups[g].removePosts(ids)
	}
	if err := s.backend.Write(ctx, p.batch()); err != nil {
		return err
	}
	return s.removeWitnesses(ctx, members)
}

// allEntries is where the reuses of p stand in sets.
func (p *post) allEntries() (all []Entry) {
	for r := range p.reuses() {
		all = append(all, p.entries(r)...)
	}
	return all
}

// removeWitnesses takes posts out of what others repeat of their groups.
func (s *Store) removeWitnesses(ctx context.Context, members map[feed.Hash]map[postID]bool) (err error) {
	p := s.newPass()
	for g, removed := range members {
		if p, err = s.removeWitnessesIn(ctx, p, g, removed); err != nil {
			return err
		}
	}
	return s.writePass(ctx, p)
}

// removeWitnessesIn does so in one group, some of those who repeat it at a time. What has changed is written with that of
// other groups: it returns the pass to go on with.
func (s *Store) removeWitnessesIn(ctx context.Context, p *pass, group feed.Hash, removed map[postID]bool) (*pass, error) {
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
			f.post.removeWitness(f.hash, removed)
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
