package record

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"refrain/feed"
	"refrain/lookup"
)

// Deleted authors.
//
// An authorDeletion says that an author was deleted, and until when events may be made that show what he had posted before.
// They are members of one set, and all in memory. An event that was made by then is taken in without the author's posts.
//
// What is in the index already is found by a walk over all records of posts, since no list of an author's posts is kept
// that would be complete: one walk for all authors who were deleted by its begin, some records at a time, so that events
// are taken in meanwhile. A record of his that such an event has named is removed as that of a deleted post.
// After a restart the walk is made once more for every deletion.
const authorDeletionsKey = "d"

type authorID struct{ source, author string }

// authorDeletion is the deletion of an author.
type authorDeletion struct {
	until feed.Time // when events may last be made that show what he had posted before
	slice Slice
}

// deletedAuthors is under the lock of Apply, but for pending.
type deletedAuthors struct {
	deletions map[authorID]authorDeletion // nil: to be loaded
	waiting   map[authorID]feed.Time
	walking   map[authorID]feed.Time // nil: there is no walk
	cursor    string
	hasNew    bool // since pending was made
	// pending are the waiting and the walking: their posts may still have records, and are not shown.
	pending atomic.Pointer[map[authorID]feed.Time]
}

// covers reports whether an event made at a time may not show what the author has posted.
func (a *deletedAuthors) covers(source, author string, made feed.Time, now Slice) bool {
	m, ok := a.deletions[authorID{source, author}]
	return ok && made <= m.until && !m.slice.Dead(now)
}

// clear takes out of a match what it may not show; without the later occurrence nothing is left of it.
func (a *deletedAuthors) clear(m *feed.Match, made feed.Time, now Slice) {
	if a.covers(m.Later.Source, m.Later.Author, made, now) {
		m.Later = feed.Occurrence{}
	}
	if a.covers(m.Earlier.Source, m.Earlier.Author, made, now) {
		m.Earlier = feed.Occurrence{}
	}
	if a.covers(m.First.Source, m.First.Author, made, now) {
		m.First = feed.First{}
	}
}

func (a *deletedAuthors) arePending() bool {
	pending := a.pending.Load()
	return pending != nil && len(*pending) > 0
}

// hides reports whether a record is to be removed.
func (a *deletedAuthors) hides(p *post) bool {
	return a.arePending() && p.isOf(*a.pending.Load())
}

// hidden reads some posts and says which of them are to be removed.
func (s *Store) hidden(ctx context.Context, p *pass, ids []postID) (func(lookup.Occurrence) bool, error) {
	if !s.authors.arePending() {
		return func(lookup.Occurrence) bool { return false }, nil
	}
	err := s.read(ctx, p, ids, nil)
	return func(x lookup.Occurrence) bool { return s.authors.hides(p.posts[postID{x.Source, x.Post}]) }, err
}

// isOf reports whether a post was there when one of some authors was deleted, and is his.
func (p *post) isOf(authors map[authorID]feed.Time) bool {
	return slices.ContainsFunc(p.authors, func(a authorship) bool {
		until, ok := authors[authorID{p.source, a.author}]
		return ok && a.firstNamed <= until
	})
}

func (a *deletedAuthors) add(id authorID, m authorDeletion) {
	if old := a.deletions[id]; !old.slice.Dead(m.slice) {
		m.until = max(m.until, old.until)
	}
	a.deletions[id], a.waiting[id], a.hasNew = m, m.until, true
}

// showNew makes pending what it should be after deletions, once for all that came one behind the other.
func (a *deletedAuthors) showNew() {
	if a.hasNew {
		a.hasNew = false
		a.show()
	}
}

// show makes pending what it should be.
func (a *deletedAuthors) show() {
	pending := maps.Clone(a.walking)
	if pending == nil {
		pending = map[authorID]feed.Time{}
	}
	maps.Copy(pending, a.waiting)
	a.pending.Store(&pending)
}

// loadAuthorDeletions reads the deletions, if that has not been done.
func (s *Store) loadAuthorDeletions(ctx context.Context) error {
	a := &s.authors
	if a.deletions != nil {
		return nil
	}
	now, _ := s.Now()
	loaded := map[authorID]authorDeletion{}
	for _, span := range spans(authorDeletionsKey, now, beginning, nil, s.atOnce) {
		for {
			parts, err := s.backend.Range(ctx, []Span{span})
			if err != nil {
				return err
			}
			for _, m := range parts[0] {
				id, err := authorOf(m.Name)
				if err != nil {
					return err
				}
				loaded[id] = authorDeletion{max(m.Time, loaded[id].until), span.Slice}
			}
			if len(parts[0]) < s.atOnce {
				break
			}
			span.Before = &parts[0][s.atOnce-1]
		}
	}
	a.deletions, a.waiting = loaded, map[authorID]feed.Time{}
	for id, m := range loaded {
		a.waiting[id] = m.until
	}
	a.show()
	return nil
}

// authorOf reads the name of a deletion.
func authorOf(name string) (id authorID, err error) {
	if id.source, name, err = cutOrdered(name); err != nil {
		return id, err
	}
	id.author, _, err = cutOrdered(name)
	return id, err
}

// removeAuthor notes the deletion of an author. The walk follows.
func (s *Store) removeAuthor(ctx context.Context, c *lookup.Change) error {
	now, ttl := s.Now()
	until := c.Time.Add(feed.RetractionLag)
	name := string(appendOrdered(appendOrdered(nil, c.Deleted.Source), c.Deleted.Author))
	b := &Batch{Now: now, TTL: ttl, Add: []Entry{{Set: authorDeletionsKey, Slice: now,
		Member: Member{Time: until, Name: name}}}}
	if err := s.backend.Write(ctx, b); err != nil {
		return err
	}
	s.authors.add(authorID{c.Deleted.Source, c.Deleted.Author}, authorDeletion{until, now})
	return nil
}

// Purge goes on with the removal of what deleted authors had posted, for about so long.
func (s *Store) Purge(ctx context.Context, long time.Duration) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if err := s.loadAuthorDeletions(ctx); err != nil {
		return err
	}
	return s.purge(ctx, long)
}

func (s *Store) purge(ctx context.Context, long time.Duration) error {
	begin := time.Now()
	for more := true; more && time.Since(begin) < long; {
		var err error
		if more, err = s.purgeSome(ctx); err != nil {
			return err
		}
	}
	return nil
}

// purgeSome takes a step of the walk; false when there is none to take.
func (s *Store) purgeSome(ctx context.Context) (more bool, err error) {
	a := &s.authors
	if a.walking == nil {
		if len(a.waiting) == 0 {
			return false, nil
		}
		a.walking, a.waiting = a.waiting, map[authorID]feed.Time{}
	}
	keys, next, err := s.backend.Scan(ctx, "p", a.cursor, s.atOnce)
	if err != nil {
		return false, err
	}
	var ids []postID
	for _, key := range keys {
		if id, err := postOf(key); err == nil { // else it is somebody else's
			ids = append(ids, id)
		}
	}
	if err := s.removeOf(ctx, ids, a.walking); err != nil {
		return false, err
	}
	if a.cursor = next; next == "" {
		s.endWalk()
	}
	return true, nil
}

func (s *Store) endWalk() {
	a := &s.authors
	a.walking = nil
	now, _ := s.Now()
	maps.DeleteFunc(a.deletions, func(_ authorID, m authorDeletion) bool { return m.slice.Dead(now) })
	a.show()
}

// removeHidden removes what a walk has still to find of some posts, of those that they name and that some groups name:
// what is observed now is compared with what is left.
func (s *Store) removeHidden(ctx context.Context, posts []postID, groups []feed.Hash, matches []feed.Match) error {
	if !s.authors.arePending() {
		return nil
	}
	p := s.newPass()
	if err := s.readFacts(ctx, p, posts, groups, matches); err != nil {
		return err
	}
	ids := slices.Clone(posts)
	for _, x := range p.posts {
		ids = append(ids, x.witnesses()...)
	}
	for _, g := range p.groups {
		ids = append(ids, g.posts()...)
	}
	return s.removeOf(ctx, ids, *s.authors.pending.Load())
}

// removeOf removes the posts of some authors among ids.
func (s *Store) removeOf(ctx context.Context, ids []postID, authors map[authorID]feed.Time) error {
	p := s.newPass()
	if err := s.read(ctx, p, ids, nil); err != nil {
		return err
	}
	var removed []postID
	for _, x := range p.posts {
		if x.isOf(authors) {
			removed = append(removed, postID{x.source, x.id})
		}
	}
	if len(removed) == 0 {
		return nil
	}
	return s.remove(ctx, removed, departed)
}

// postOf reads postKey.
func postOf(key string) (id postID, err error) {
	if id.source, key, err = cutOrdered(key[1:]); err != nil {
		return id, err
	}
	id.id, _, err = cutOrdered(key)
	return id, err
}
