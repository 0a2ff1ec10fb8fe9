// Package storetest is what every lookup.Store must pass, and a Store in memory that says what is right.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"refrain/feed"
	"refrain/lookup"
	"refrain/topic"
)

// Memory is a Store that keeps facts in lists and goes through all of them for every answer. It says what is right.
type Memory struct {
	topic.MemoryStore
	slice time.Duration
	now   func() time.Time

	mu      sync.Mutex
	reuses  map[feed.Hash]*reuse // by event
	members map[membership]observedTime
	groups  map[feed.Hash]*group
	deleted map[postID]int64 // the slice in which it was last needed

	posts    map[postID]*post
	departed map[postID]int64     // with their authors
	authors  map[who]observedTime // deleted: until when events may show what they had posted
}

type who struct{ source, author string }

// post is what events have named.
type post struct {
	slice   int64
	authors map[string]feed.Time // when the first of them was made that names it as his
}

var _ lookup.Store = (*Memory)(nil)

type postID struct{ source, post string }

type membership struct {
	postID
	group feed.Hash
}

// observedTime is a time, and the slice in which it was observed.
type observedTime struct {
	slice int64
	time  feed.Time
}

type reuse struct {
	slice int64
	later lookup.Occurrence
	lookup.RepeatOf
}

type group struct {
	slice  int64
	counts lookup.Text
	firsts []owner
	text   string
	owner  owner
}

type owner struct {
	postID
	observedTime
}

func (o owner) key() feed.Key { return feed.Key{Time: o.time, Source: o.source, Post: o.post} }

// slices of wall time in which something is alive after its own.
const slicesAlive = 4

// NewMemory returns an empty store.
func NewMemory(now func() time.Time, retention time.Duration) *Memory {
	return &Memory{
		slice: retention / slicesAlive, now: now, reuses: map[feed.Hash]*reuse{}, members: map[membership]observedTime{},
		groups: map[feed.Hash]*group{}, deleted: map[postID]int64{},
		posts: map[postID]*post{}, departed: map[postID]int64{}, authors: map[who]observedTime{},
	}
}

func (s *Memory) current() int64 { return s.now().UnixMilli() / s.slice.Milliseconds() }

func (s *Memory) alive(slice int64) bool { return slice+slicesAlive >= s.current() }

// Close implements lookup.Store.
func (s *Memory) Close() error { return nil }

// Check implements lookup.Store: nothing is lost while the process lives.
func (s *Memory) Check(context.Context) error { return nil }

// Apply implements lookup.Store.
func (s *Memory) Apply(_ context.Context, changes []lookup.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.Match != nil:
			s.applyMatch(*c.Match, c.Time)
		case c.Deleted.Author != "":
			s.removeAuthor(c.Deleted.Source, c.Deleted.Author, c.Time.Add(feed.RetractionLag))
		default:
			id := postID{c.Deleted.Source, c.Deleted.Post}
			s.deleted[id] = s.current()
			s.remove(id)
		}
	}
	return nil
}

func (s *Memory) removeAuthor(source, author string, until feed.Time) {
	w := who{source, author}
	if old, ok := s.authors[w]; ok && s.alive(old.slice) {
		until = max(until, old.time)
	}
	s.authors[w] = observedTime{s.current(), until}
	for id, p := range s.posts {
		if firstNamed, ok := p.authors[author]; ok && id.source == source && s.alive(p.slice) && firstNamed <= until {
			s.remove(id)
			s.departed[id] = s.current()
		}
	}
}

// hidesAuthor reports whether an event made at a time may not show what the author has posted.
func (s *Memory) hidesAuthor(source, author string, made feed.Time) bool {
	t, ok := s.authors[who{source, author}]
	return ok && s.alive(t.slice) && made <= t.time
}

// name notes that an event names a post.
func (s *Memory) name(source, id, author string, made feed.Time) {
	key := postID{source, id}
	p := s.posts[key]
	if p == nil || !s.alive(p.slice) {
		p = &post{authors: map[string]feed.Time{}}
		s.posts[key] = p
	}
	delete(s.departed, key)
	p.slice = s.current()
	if firstNamed, ok := p.authors[author]; author != "" && (!ok || made < firstNamed) {
		p.authors[author] = made
	}
}

// isDeleted reports whether a post was deleted, and renews its tombstone.
func (s *Memory) isDeleted(source, post string) bool {
	id := postID{source, post}
	slice, ok := s.deleted[id]
	if !ok || !s.alive(slice) {
		return false
	}
	s.deleted[id] = s.current()
	return true
}

func (s *Memory) applyMatch(m feed.Match, made feed.Time) {
	if s.hidesAuthor(m.Later.Source, m.Later.Author, made) {
		m.Later = feed.Occurrence{}
	}
	if s.hidesAuthor(m.Earlier.Source, m.Earlier.Author, made) {
		m.Earlier = feed.Occurrence{}
	}
	if s.hidesAuthor(m.First.Source, m.First.Author, made) {
		m.First = feed.First{}
	}
	gone, goneEarlier, goneFirst := s.isDeleted(m.Later.Source, m.Later.Post),
		s.isDeleted(m.Earlier.Source, m.Earlier.Post), s.isDeleted(m.First.Source, m.First.Post)
	if gone || m.Later.Post == "" {
		return
	}
	if goneEarlier {
		m.Earlier = feed.Occurrence{}
	}
	if goneFirst {
		m.First = feed.First{}
	}
	for _, n := range []feed.Name{m.Later.Name(), m.Earlier.Name(), m.First.Name()} {
		if n.Post != "" {
			s.name(n.Source, n.Post, n.Author, made)
		}
	}
	s.applyReuse(&m)
	s.join(m.Earlier.Source, m.Earlier.Post, m.Group, m.Earlier.Time)
	s.join(m.First.Source, m.First.Post, m.Group, m.First.Time)
	s.applyGroup(&m)
}

func occurrenceOf(o *feed.Occurrence) *lookup.Occurrence {
	if o.Post == "" {
		return nil
	}
	return &lookup.Occurrence{Source: o.Source, Post: o.Post, Author: o.Author, Sentence: o.Sentence, Time: o.Time}
}

// compareOccurrences orders as the feed does, and of two of one sentence the one without an author last.
func compareOccurrences(a, b *lookup.Occurrence) int {
	return cmp.Or(occurrenceKey(a).Compare(occurrenceKey(b)), cmp.Compare(b.Author, a.Author))
}

func occurrenceKey(p *lookup.Occurrence) feed.Key {
	return feed.Key{Time: p.Time, Source: p.Source, Post: p.Post, Index: p.Sentence}
}

func (s *Memory) applyReuse(m *feed.Match) {
	now := s.current()
	r := &reuse{slice: now, later: *occurrenceOf(&m.Later), RepeatOf: lookup.RepeatOf{
		Event: m.ID, Sentence: m.Later.Sentence, Time: m.Later.Time, Group: m.Group,
		Likeness:  lookup.LikenessOf(m),
		Identical: m.Identical, Earlier: occurrenceOf(&m.Earlier),
	}}
	old := s.reuses[m.ID]
	s.reuses[m.ID] = r
	if old == nil || old.slice != now {
		return
	}
	r.Time = min(r.Time, old.Time)
	r.later.Time, r.later.Author = r.Time, max(r.later.Author, old.later.Author)
	r.Identical = r.Identical || old.Identical
	if r.Earlier == nil || old.Earlier != nil && compareOccurrences(old.Earlier, r.Earlier) < 0 {
		r.Earlier = old.Earlier
	}
}

func (s *Memory) join(source, post string, g feed.Hash, t feed.Time) {
	if post == "" {
		return
	}
	key := membership{postID{source, post}, g}
	if old, ok := s.members[key]; ok && old.slice == s.current() {
		t = min(t, old.time)
	}
	s.members[key] = observedTime{s.current(), t}
}

func (s *Memory) applyGroup(m *feed.Match) {
	now := s.current()
	g := s.groups[m.Group]
	if g == nil || !s.alive(g.slice) {
		g = &group{}
		s.groups[m.Group] = g
	}
	g.slice = now
	c := &g.counts
	c.Occurrences = max(c.Occurrences, m.Occurrences)
	if m.Authors > c.Authors {
		c.AuthorsEstimated = false
	}
	if m.Authors >= c.Authors {
		c.Authors, c.AuthorsEstimated = m.Authors, c.AuthorsEstimated || m.AuthorsEstimated
	}
	g.firsts = slices.DeleteFunc(g.firsts, func(o owner) bool { return !s.alive(o.slice) })
	if m.First.Post != "" {
		g.nominate(owner{postID{m.First.Source, m.First.Post}, observedTime{now, m.First.Time}})
	}
	s.quote(g, &m.Earlier)
	if m.Jaccard == 1 {
		s.quote(g, &m.Later)
	}
}

// nominate retains candidates of which none is both later and observed longer ago than another.
func (g *group) nominate(c owner) {
	g.firsts = append(g.firsts, c)
	all := slices.Clone(g.firsts)
	g.firsts = slices.DeleteFunc(g.firsts, func(o owner) bool {
		return slices.ContainsFunc(all, func(p owner) bool {
			return p != o && p.slice >= o.slice && p.key().Compare(o.key()) <= 0
		})
	})
	g.firsts = slices.Compact(g.firsts)
}

func (s *Memory) quote(g *group, o *feed.Occurrence) {
	c := owner{postID{o.Source, o.Post}, observedTime{s.current(), o.Time}}
	if o.Post == "" || o.Text == "" {
		return
	}
	if g.text != "" && g.owner.slice == c.slice {
		if n := c.key().Compare(g.owner.key()); n > 0 || n == 0 && o.Text >= g.text {
			return
		}
	}
	g.text, g.owner = o.Text, c
}

func (s *Memory) remove(id postID) {
	delete(s.posts, id)
	for event, r := range s.reuses {
		if r.later.Source == id.source && r.later.Post == id.post {
			delete(s.reuses, event)
		}
		if r.Earlier != nil && r.Earlier.Source == id.source && r.Earlier.Post == id.post {
			r.Earlier = nil
		}
	}
	for m := range s.members {
		if m.postID == id {
			delete(s.members, m)
		}
	}
	for _, g := range s.groups {
		g.firsts = slices.DeleteFunc(g.firsts, func(o owner) bool { return o.postID == id })
		if g.owner.postID == id {
			g.text, g.owner = "", owner{}
		}
	}
}

// textOf is the group's text, "" when there is none.
func (s *Memory) textOf(hash feed.Hash) string {
	g := s.groups[hash]
	if g == nil || !s.alive(g.owner.slice) {
		return ""
	}
	return g.text
}

// Reuse implements lookup.Store.
func (s *Memory) Reuse(_ context.Context, source, post string, page lookup.Page) (lookup.Reuse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := lookup.Reuse{Source: source, Post: post}
	for _, deleted := range []map[postID]int64{s.deleted, s.departed} {
		if slice, ok := deleted[postID{source, post}]; ok && s.alive(slice) {
			return answer, lookup.ErrDeleted
		}
	}
	since := s.since(postID{source, post})
	var all []lookup.RepeatedBy
	for _, r := range s.reuses {
		own := r.later.Source == source && r.later.Post == post
		if own && s.alive(r.slice) {
			repeat := r.RepeatOf
			repeat.Text = s.textOf(r.Group)
			answer.RepeatOf = append(answer.RepeatOf, repeat)
		}
		t, member := since[r.Group]
		target := feed.Key{Time: t, Source: source, Post: post}
		if member && !own && s.alive(r.slice) && occurrenceKey(&r.later).Compare(target) > 0 {
			all = append(all, r.repeatedBy())
		}
	}
	slices.SortFunc(answer.RepeatOf, compareRepeatOf)
	var err error
	answer.RepeatedBy, answer.Next, err = pageOf(all, page)
	answer.Total = len(all)
	return answer, err
}

func compareRepeatOf(a, b lookup.RepeatOf) int {
	return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(a.Time, b.Time), cmp.Compare(b.Jaccard, a.Jaccard),
		slices.Compare(a.Group[:], b.Group[:]), slices.Compare(a.Event[:], b.Event[:]))
}

func (r *reuse) repeatedBy() lookup.RepeatedBy {
	return lookup.RepeatedBy{Event: r.Event, Group: r.Group, Likeness: r.Likeness, Later: r.later}
}

// since returns the groups that a post belongs to, and from when on.
func (s *Memory) since(id postID) map[feed.Hash]feed.Time {
	since := map[feed.Hash]feed.Time{}
	note := func(g feed.Hash, t observedTime) {
		if at, ok := since[g]; s.alive(t.slice) && (!ok || t.time < at) {
			since[g] = t.time
		}
	}
	for m, t := range s.members {
		if m.postID == id {
			note(m.group, t)
		}
	}
	for _, r := range s.reuses {
		if r.Jaccard == 1 && r.later.Source == id.source && r.later.Post == id.post {
			note(r.Group, observedTime{r.slice, r.Time})
		}
	}
	return since
}

// pageOf sorts and returns one page. The next page is named by the number of its first entry.
func pageOf(all []lookup.RepeatedBy, page lookup.Page) (list []lookup.RepeatedBy, next string, err error) {
	from, err := strconv.Atoi(cmp.Or(page.After, "0"))
	if err != nil || from > len(all) {
		return nil, "", fmt.Errorf("%w: after %q", lookup.ErrInput, page.After)
	}
	slices.SortFunc(all, func(a, b lookup.RepeatedBy) int {
		return cmp.Or(occurrenceKey(&b.Later).Compare(occurrenceKey(&a.Later)), slices.Compare(b.Event[:], a.Event[:]))
	})
	to := min(from+page.Limit, len(all))
	if to < len(all) && page.Limit > 0 {
		next = strconv.Itoa(to)
	}
	return slices.Clone(all[from:to]), next, nil
}

// Text implements lookup.Store.
func (s *Memory) Text(_ context.Context, hash feed.Hash, page lookup.Page) (lookup.Text, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[hash]
	if g == nil || !s.alive(g.slice) {
		return lookup.Text{Group: hash}, false, nil
	}
	answer := g.counts
	answer.Group, answer.Text = hash, s.textOf(hash)
	var oldest *owner
	for i := range g.firsts {
		if f := &g.firsts[i]; s.alive(f.slice) && (oldest == nil || f.key().Compare(oldest.key()) < 0) {
			oldest = f
		}
	}
	if oldest != nil {
		answer.First = &feed.First{Source: oldest.source, Post: oldest.post, Time: oldest.time}
	}
	var all []lookup.RepeatedBy
	for _, r := range s.reuses {
		if r.Group == hash && s.alive(r.slice) {
			all = append(all, r.repeatedBy())
			answer.Last = max(answer.Last, r.Time)
		}
	}
	var err error
	answer.RepeatedBy, answer.Next, err = pageOf(all, page)
	answer.Total = len(all)
	return answer, true, err
}

// Author implements lookup.Store.
func (s *Memory) Author(_ context.Context, source, author string, n int) ([]lookup.RepeatedBy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []lookup.RepeatedBy
	for _, r := range s.reuses {
		if r.later.Source == source && r.later.Author == author && author != "" && s.alive(r.slice) {
			repetition := r.repeatedBy()
			repetition.Text = s.textOf(r.Group)
			all = append(all, repetition)
		}
	}
	list, _, err := pageOf(all, lookup.Page{Limit: max(0, min(n, lookup.AuthorCap))})
	return list, err
}
