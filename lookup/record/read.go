package record

import (
	"context"

	"refrain/feed"
)

// postID is a post to read.
type postID struct{ source, id string }

// reading is the values that one round reads, and what becomes of them.
type reading struct {
	keys   []string
	decode []func(data []byte) error
}

func (r *reading) add(key string, decode func(data []byte) error) {
	r.keys, r.decode = append(r.keys, key), append(r.decode, decode)
}

// load reads the values; nothing when there are none to read.
func (s *Store) load(ctx context.Context, r *reading) error {
	values, err := s.backend.Load(ctx, r.keys)
	if err != nil {
		return err
	}
	for i := range values {
		if err := r.decode[i](values[i]); err != nil {
			return err
		}
	}
	return nil
}

// read loads the posts and groups that the pass does not have yet. Of a post that is cut the pages are not among it.
func (s *Store) read(ctx context.Context, p *pass, posts []postID, groups []feed.Hash) error {
	var r reading
	for _, id := range posts {
		if _, ok := p.posts[id]; ok {
			continue
		}
		p.posts[id] = nil
		r.add(postKey(id.source, id.id), func(data []byte) (err error) {
			p.posts[id], err = decodePost(id.source, id.id, data, p.now)
			return err
		})
	}
	for _, hash := range groups {
		if _, ok := p.groups[hash]; ok {
			continue
		}
		p.groups[hash] = nil
		r.add(groupKey(hash), func(data []byte) (err error) {
			p.groups[hash], err = decodeGroup(hash, data, p.now)
			return err
		})
	}
	return s.load(ctx, &r)
}

// fact is one of a post: an event or a group.
type fact struct {
	post *post
	hash feed.Hash
}

// readFacts loads the posts and groups, and of the posts the pages that matches change.
func (s *Store) readFacts(ctx context.Context, p *pass, posts []postID, groups []feed.Hash, matches []feed.Match) error {
	if err := s.read(ctx, p, posts, groups); err != nil {
		return err
	}
	facts := make([]fact, 0, 3*len(matches))
	for i := range matches {
		m := &matches[i]
		facts = append(facts, fact{p.posts[postID{m.Later.Source, m.Later.Post}], m.ID},
			fact{p.posts[postID{m.Earlier.Source, m.Earlier.Post}], m.Group},
			fact{p.posts[postID{m.First.Source, m.First.Post}], m.Group})
	}
	return s.readPages(ctx, p.now, facts)
}

// readPages loads the pages that have some facts, level by level.
func (s *Store) readPages(ctx context.Context, now Slice, facts []fact) error {
	for {
		var r reading
		for _, f := range facts {
			if found, path := f.post.findPage(f.hash); found == nil {
				f.post.addPage(&r, path, now)
			}
		}
		if len(r.keys) == 0 {
			return nil
		}
		if err := s.load(ctx, &r); err != nil {
			return err
		}
	}
}

// readAllPages loads all pages of some posts.
func (s *Store) readAllPages(ctx context.Context, now Slice, posts []*post) error {
	for _, x := range posts {
		for level := []string{""}; len(level) > 0; {
			var r reading
			var next []string
			for _, path := range level {
				for i := range byte(fan) {
					if child := path + string([]byte{i}); x.pages[path].cut {
						x.addPage(&r, child, now)
						next = append(next, child)
					}
				}
			}
			if err := s.load(ctx, &r); err != nil {
				return err
			}
			level = next
		}
	}
	return nil
}

// addPage adds a page that has not been read to what is.
func (p *post) addPage(r *reading, path string, now Slice) {
	if p.pages[path] != nil {
		return
	}
	g := &page{path: path}
	p.pages[path] = g
	r.add(pageKey(p, path), func(data []byte) error { return p.decodePage(g, data, now) })
}
