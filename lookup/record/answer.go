package record

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"refrain/feed"
	"refrain/lookup"
)

// beginning is before every member.
var beginning = Member{Time: -1 << 52}

// spans is the parts of a set that are alive.
func spans(set string, now Slice, after Member, before *Member, limit int) []Span {
	out := make([]Span, 0, Slices+1)
	for slice := now - Slices; slice <= now; slice++ {
		out = append(out, Span{Set: set, Slice: slice, After: after, Before: before, Limit: limit})
	}
	return out
}

// latest returns the members of a set over all its parts, the latest first.
func (s *Store) latest(ctx context.Context, set string, now Slice, after Member, before *Member,
	limit int) ([]Member, error) {
	parts, err := s.backend.Range(ctx, spans(set, now, after, before, limit))
	if err != nil {
		return nil, err
	}
	all := slices.Concat(parts...)
	slices.SortFunc(all, compareNewest)
	return all[:min(limit, len(all))], nil
}

// compareNewest sorts the latest first.
func compareNewest(a, b Member) int {
	return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Name, a.Name))
}

// Reuse implements lookup.Store.
func (s *Store) Reuse(ctx context.Context, source, id string, page lookup.Page) (lookup.Reuse, error) {
	answer := lookup.Reuse{Source: source, Post: id}
	p := s.newPass()
	if err := s.read(ctx, p, []postID{{source, id}}, nil); err != nil {
		return answer, err
	}
	target := p.posts[postID{source, id}]
	if target.deleted != present || s.authors.hides(target) {
		return answer, lookup.ErrDeleted
	}
	err := s.readAllPages(ctx, p.now, []*post{target})
	if err != nil {
		return answer, err
	}
	if answer.RepeatOf, err = s.repeatOf(ctx, p, target); err != nil {
		return answer, err
	}
	list := listing{page: page, now: p.now, post: target}
	for g, t := range target.groups() {
		list.add(g, positionAfter(t, source, id))
	}
	answer.RepeatedBy, answer.Total, answer.Next, err = s.list(ctx, &list)
	return answer, err
}

func (s *Store) repeatOf(ctx context.Context, p *pass, target *post) ([]lookup.RepeatOf, error) {
	reuses := slices.Collect(target.reuses())
	groups := make([]feed.Hash, len(reuses))
	for i, r := range reuses {
		groups[i] = r.group
	}
	if err := s.read(ctx, p, nil, groups); err != nil {
		return nil, err
	}
	hidden, err := s.hidden(ctx, p, target.witnesses())
	if err != nil {
		return nil, err
	}
	out := make([]lookup.RepeatOf, len(reuses))
	for i, r := range reuses {
		out[i] = lookup.RepeatOf{
			Event: r.event, Sentence: r.sentence, Time: r.time, Group: r.group, Likeness: r.likeness,
			Identical: r.identical, Earlier: r.witness, Text: p.groups[r.group].text,
		}
		if r.witness != nil && hidden(*r.witness) {
			out[i].Earlier = nil
		}
	}
	slices.SortFunc(out, func(a, b lookup.RepeatOf) int {
		return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(a.Time, b.Time), cmp.Compare(b.Jaccard, a.Jaccard),
			slices.Compare(a.Group[:], b.Group[:]), slices.Compare(a.Event[:], b.Event[:]))
	})
	return out, nil
}

// Text implements lookup.Store.
func (s *Store) Text(ctx context.Context, hash feed.Hash, page lookup.Page) (lookup.Text, bool, error) {
	answer := lookup.Text{Group: hash}
	p := s.newPass()
	if err := s.read(ctx, p, nil, []feed.Hash{hash}); err != nil {
		return answer, false, err
	}
	g := p.groups[hash]
	if g.was == 0 {
		return answer, false, nil
	}
	if err := s.hideFirst(ctx, p, g); err != nil {
		return answer, false, err
	}
	answer.Text, answer.First = g.text, g.first()
	answer.Occurrences, answer.Authors, answer.AuthorsEstimated = g.occurrences, g.authors, g.estimated
	last, err := s.latest(ctx, repeatedByKey(hash), p.now, beginning, nil, 1)
	if err != nil {
		return answer, false, err
	}
	if len(last) > 0 {
		answer.Last = last[0].Time
	}
	list := listing{page: page, now: p.now}
	list.add(hash, beginning)
	answer.RepeatedBy, answer.Total, answer.Next, err = s.list(ctx, &list)
	return answer, true, err
}

// hideFirst takes out of a group what is to be removed.
func (s *Store) hideFirst(ctx context.Context, p *pass, g *group) error {
	ids := g.posts()
	hidden, err := s.hidden(ctx, p, ids)
	if err != nil {
		return err
	}
	removed := map[postID]bool{}
	for _, id := range ids {
		removed[id] = hidden(lookup.Occurrence{Source: id.source, Post: id.id})
	}
	g.removePosts(removed)
	return nil
}

// Author implements lookup.Store.
func (s *Store) Author(ctx context.Context, source, author string, n int) ([]lookup.RepeatedBy, error) {
	p := s.newPass()
	found, err := s.latest(ctx, authorKey(source, author), p.now, beginning, nil, max(0, min(n, lookup.AuthorCap)))
	if err != nil {
		return nil, err
	}
	out := make([]lookup.RepeatedBy, len(found))
	groups := make([]feed.Hash, len(found))
	for i, m := range found {
		if out[i], err = parseRepeatedBy(m, nil); err != nil {
			return nil, err
		}
		out[i].Later.Author, groups[i] = author, out[i].Group
	}
	if err := s.read(ctx, p, nil, groups); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Text = p.groups[out[i].Group].text
	}
	return s.withoutHidden(ctx, out)
}

// listing asks for one page of what repeats some groups, each after a position, without the sentences of one post.
type listing struct {
	page   lookup.Page
	now    Slice
	post   *post // nil: all posts
	groups []feed.Hash
	after  []Member
}

func (l *listing) add(g feed.Hash, after Member) {
	l.groups, l.after = append(l.groups, g), append(l.after, after)
}

// ownCounts counts, by group, the sentences of the post itself that repeat it after the group's position.
func (l *listing) ownCounts() map[feed.Hash]int {
	counts := map[feed.Hash]int{}
	if l.post == nil {
		return counts
	}
	after := make(map[feed.Hash]*Member, len(l.groups))
	for i := range l.groups {
		after[l.groups[i]] = &l.after[i]
	}
	for r := range l.post.reuses() {
		if a := after[r.group]; a != nil && a.Less(groupMember(l.post.repeatedBy(r))) {
			counts[r.group]++
		}
	}
	return counts
}

// list returns one page, how many there are on all pages, and what the next page goes on after.
func (s *Store) list(ctx context.Context, l *listing) (page []lookup.RepeatedBy, total int, next string, err error) {
	before, err := parsePage(l.page.After)
	if err != nil || len(l.groups) == 0 {
		return nil, 0, "", err
	}
	limit := max(l.page.Limit, 0)
	ownCounts := l.ownCounts()
	var all []found
	for first := 0; first < len(l.groups); first += maxGroupsInMemory {
		last := min(first+maxGroupsInMemory, len(l.groups))
		n, some, err := s.listSome(ctx, l, ownCounts, first, last, before, limit)
		if err != nil {
			return nil, 0, "", err
		}
		total += n
		if all = append(all, some...); limit > 0 && len(all) > 0 {
			all = l.sortPage(all, limit)
		}
	}
	if limit == 0 {
		return nil, total, "", nil
	}
	if page, next, err = l.newPage(all, limit); err != nil {
		return nil, 0, "", err
	}
	page, err = s.withoutHidden(ctx, page)
	return page, total, next, err
}

// maxGroupsInMemory is of how many groups the members are in memory at once.
const maxGroupsInMemory = 256

// listSome counts what repeats some of the groups, and returns those that may come onto the page.
func (s *Store) listSome(ctx context.Context, l *listing, ownCounts map[feed.Hash]int, first, last int, before *Member,
	limit int) (total int, all []found, err error) {
	var ranges []Span
	for i, g := range l.groups[first:last] {
		total -= ownCounts[g]
		ranges = append(ranges, spans(repeatedByKey(g), l.now, l.after[first+i], before, limit+1+ownCounts[g])...)
	}
	counts, err := s.backend.Count(ctx, ranges)
	if err != nil {
		return 0, nil, err
	}
	for _, n := range counts {
		total += n
	}
	if limit == 0 {
		return total, nil, nil
	}
	parts, err := s.backend.Range(ctx, ranges)
	if err != nil {
		return 0, nil, err
	}
	for i, part := range parts {
		for _, m := range part {
			all = append(all, found{m, &l.groups[first+i/(Slices+1)]})
		}
	}
	return total, all, nil
}

// withoutHidden leaves out what is to be removed. Then a page is shorter than it might be, and the total too large.
func (s *Store) withoutHidden(ctx context.Context, page []lookup.RepeatedBy) ([]lookup.RepeatedBy, error) {
	ids := make([]postID, len(page))
	for i := range page {
		ids[i] = postID{page[i].Later.Source, page[i].Later.Post}
	}
	hidden, err := s.hidden(ctx, s.newPass(), ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(page, func(r lookup.RepeatedBy) bool { return hidden(r.Later) }), nil
}

// found is a member with the group that it repeats.
type found struct {
	Member
	group *feed.Hash
}

// sortPage sorts, and leaves out what is behind the page and the one after it.
func (l *listing) sortPage(all []found, limit int) []found {
	slices.SortFunc(all, func(a, b found) int { return compareNewest(a.Member, b.Member) })
	all = slices.DeleteFunc(all, func(f found) bool { return l.isOwn(&f) })
	return all[:min(len(all), limit+1)]
}

// isOwn reports whether a member is of the post that was asked about.
func (l *listing) isOwn(f *found) bool {
	if l.post == nil {
		return false
	}
	name := string(appendOrdered(appendOrdered(nil, l.post.source), l.post.id))
	return strings.HasPrefix(f.Name, name)
}

// newPage makes a page of what is sorted.
func (l *listing) newPage(sorted []found, limit int) (page []lookup.RepeatedBy, next string, err error) {
	for _, f := range sorted[:min(limit, len(sorted))] {
		r, err := parseRepeatedBy(f.Member, f.group)
		if err != nil {
			return nil, "", err
		}
		page = append(page, r)
	}
	if len(sorted) > limit {
		next = nextPage(sorted[limit-1].Member)
	}
	return page, next, nil
}

// nextPage writes down a position in a list.
func nextPage(m Member) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(m.Time))
	return base64.RawURLEncoding.EncodeToString(append(b, m.Name...))
}

func parsePage(after string) (*Member, error) {
	if after == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil || len(b) < 8 {
		return nil, fmt.Errorf("%w: after %q is not the next of an earlier answer", lookup.ErrInput, after)
	}
	return &Member{Time: feed.Time(binary.BigEndian.Uint64(b)), Name: string(b[8:])}, nil
}
