package record

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"refrain/feed"
	"refrain/internal/check"
	"refrain/lookup"
)

// Config says how long a Store keeps things, and how many it takes in at once.
type Config struct {
	Retention time.Duration // of wall time; above 0
	Now       func() time.Time
	AtOnce    int // the most matches taken in with one reading and one writing; 1 or more
}

// Default keeps things for a day.
func Default() Config {
	return Config{Retention: 24 * time.Hour, Now: time.Now, AtOnce: 1000}
}

func (c *Config) validate() error {
	return errors.Join(check.Positive("retention", c.Retention), check.Set("now", c.Now != nil),
		check.AtLeast(1, "at once", c.AtOnce))
}

// Store is the index in a Backend. It has the methods of lookup.Store but those of the cursor.
type Store struct {
	backend Backend
	slice   time.Duration
	now     func() time.Time
	atOnce  int

	applying sync.Mutex
	authors  deletedAuthors
}

// New returns the index that b holds.
func New(b Backend, c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	m, err := newMetered(b)
	if err != nil {
		return nil, err
	}
	return &Store{backend: m, slice: max(c.Retention/Slices, time.Millisecond), now: c.Now, atOnce: c.AtOnce}, nil
}

// Now returns the slice of this moment, and how long what is written in it has to live.
func (s *Store) Now() (Slice, time.Duration) {
	t := s.now()
	now := Slice(t.UnixMilli() / s.slice.Milliseconds())
	end := time.UnixMilli(int64(now+1+Slices) * s.slice.Milliseconds())
	return now, end.Sub(t)
}

// Apply implements lookup.Store.
func (s *Store) Apply(ctx context.Context, changes []lookup.Change) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if err := s.loadAuthorDeletions(ctx); err != nil {
		return err
	}
	defer s.authors.showNew() // whatever fails
	for len(changes) > 0 {
		n := 0
		for n < len(changes) && n < s.atOnce && changes[n].Match != nil {
			n++
		}
		var err error
		if n > 0 {
			s.authors.showNew()
			err = s.applyMatches(ctx, changes[:n])
		} else {
			n, err = 1, s.delete(ctx, &changes[0])
		}
		if err != nil {
			return err
		}
		changes = changes[n:]
	}
	s.authors.showNew()
	return s.purge(ctx, purgeBusy)
}

// delete takes in a deletion.
func (s *Store) delete(ctx context.Context, c *lookup.Change) error {
	if c.Deleted.Author != "" {
		return s.removeAuthor(ctx, c)
	}
	return s.remove(ctx, []postID{{c.Deleted.Source, c.Deleted.Post}}, deleted)
}

// How long one call goes on with the removal of what deleted authors had posted: while events come, and while none do.
const (
	purgeBusy = 250 * time.Millisecond
	PurgeIdle = 2500 * time.Millisecond
)

// pass is the records that one reading brought and one writing takes back.
type pass struct {
	now    Slice
	ttl    time.Duration
	posts  map[postID]*post
	groups map[feed.Hash]*group
	before map[eventKey]*reuse // what was known before of each event that was applied; nil: nothing
	remove []Entry
}

// eventKey is an event of a post.
type eventKey struct {
	post  *post
	event feed.Hash
}

func (s *Store) newPass() *pass {
	now, ttl := s.Now()
	return &pass{now: now, ttl: ttl, posts: map[postID]*post{}, groups: map[feed.Hash]*group{}, before: map[eventKey]*reuse{}}
}

// applyMatches applies matches.
func (s *Store) applyMatches(ctx context.Context, changes []lookup.Change) error {
	p := s.newPass()
	posts := make([]postID, 0, 3*len(changes))
	groups := make([]feed.Hash, 0, len(changes))
	matches := make([]feed.Match, len(changes))
	for i := range changes {
		m := &matches[i]
		*m = *changes[i].Match
		s.authors.clear(m, changes[i].Time, p.now)
		posts = append(posts, postID{m.Later.Source, m.Later.Post}, postID{m.Earlier.Source, m.Earlier.Post},
			postID{m.First.Source, m.First.Post})
		groups = append(groups, m.Group)
	}
	if err := s.removeHidden(ctx, posts, groups, matches); err != nil {
		return err
	}
	if err := s.readFacts(ctx, p, posts, groups, matches); err != nil {
		return err
	}
	for i := range matches {
		p.applyMatch(matches[i], changes[i].Time)
	}
	return s.write(ctx, p)
}

// applyMatch applies one match that was found at a time, without what was deleted.
func (p *pass) applyMatch(m feed.Match, made feed.Time) {
	later := p.posts[postID{m.Later.Source, m.Later.Post}]
	earlier := p.posts[postID{m.Earlier.Source, m.Earlier.Post}]
	original := p.posts[postID{m.First.Source, m.First.Post}]
	for _, x := range []*post{later, earlier, original} {
		if x.deleted == deleted && x.newest() != p.now { // the tombstone lives as long as events come that need it
			x.setDeleted(deleted, p.now)
			x.dirty = true
		}
	}
	if m.Later.Post == "" || later.deleted == deleted {
		return
	}
	if earlier.deleted == deleted {
		m.Earlier = feed.Occurrence{}
	}
	if original.deleted == deleted {
		m.First = feed.First{}
	}
	later.name(m.Later.Author, made)
	p.note(later, &m)
	if m.Earlier.Post != "" {
		earlier.name(m.Earlier.Author, made)
		earlier.join(m.Group, m.Earlier.Time, p.now)
	}
	if m.First.Post != "" {
		original.name(m.First.Author, made)
		original.join(m.Group, m.First.Time, p.now)
	}
	p.groups[m.Group].observe(&m, p.now)
}

// note puts the match into the record of its later post.
func (p *pass) note(later *post, m *feed.Match) {
	before := later.addReuse(m, p.now)
	key := eventKey{later, m.ID}
	if _, known := p.before[key]; !known {
		p.before[key] = before
	}
}

// batch is what has to be written.
func (p *pass) batch() *Batch {
	b := &Batch{Now: p.now, TTL: p.ttl, Cap: lookup.AuthorCap, Remove: p.remove}
	for _, post := range p.posts {
		b.Values = post.appendChanged(b.Values)
	}
	for _, g := range p.groups {
		if g.dirty {
			b.Values = append(b.Values, g.encode())
		}
	}
	slices.SortFunc(b.Values, func(v, w Value) int { return strings.Compare(v.Key, w.Key) }) // neighbours together
	for t, before := range p.before {
		r := t.post.page(t.event).find(t.event)
		if r == nil {
			continue
		}
		if before != nil && (before.slice != r.slice || before.time != r.time || before.author != r.author) {
			b.Remove = append(b.Remove, t.post.entries(before)...)
		}
		b.Add = append(b.Add, t.post.entries(r)...)
	}
	return b
}

// appendChanged appends the values of a post that have changed.
func (p *post) appendChanged(values []Value) []Value {
	if p.dirty {
		values = append(values, p.encode())
	}
	for path, g := range p.pages {
		if g.dirty && path != "" {
			values = append(values, p.encodePage(g))
		}
	}
	return values
}

// write writes what a pass has changed: pages that no other leads to yet before those that now do, whatever becomes of
// the rest.
func (s *Store) write(ctx context.Context, p *pass) error {
	b := p.batch()
	isNew := func(v Value) bool { return v.Key[0] == 'o' && v.Was == 0 }
	if slices.ContainsFunc(b.Values, isNew) {
		first := &Batch{Now: b.Now, TTL: b.TTL}
		for _, v := range b.Values {
			if isNew(v) {
				first.Values = append(first.Values, v)
			}
		}
		b.Values = slices.DeleteFunc(b.Values, isNew)
		if err := s.backend.Write(ctx, first); err != nil {
			return err
		}
	}
	return s.backend.Write(ctx, b)
}

// entries is where a reuse of p stands in sets.
func (p *post) entries(r *reuse) []Entry {
	repetition := p.repeatedBy(r)
	e := []Entry{{Set: repeatedByKey(r.group), Slice: r.slice, Member: groupMember(repetition)}}
	if r.author != "" {
		e = append(e, Entry{Set: authorKey(p.source, r.author), Slice: r.slice, Member: authorMember(repetition), Capped: true})
	}
	return e
}
