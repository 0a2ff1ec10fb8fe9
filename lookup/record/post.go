package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"refrain/feed"
	"refrain/lookup"
)

// post is the record of a post.
//
//	post     = slice:u kind:1 =0 deleted
//	         | slice:u kind:1 =3 deleted with its author
//	         | slice:u kind:1 =4 #authors:u author* #reuses:u reuse* member*
//	         | slice:u kind:1 =5 #authors:u author*                               its facts are in pages: see page.go
//	author   = name firstNamed:i
//	reuse    = event:16 group:16 age:u author:u sentence:u time:i likeness flags:1 [[source] post author sentence:u earlier:i]
//	member   = group:16 age:u time:i
//
// slice is the newest of all that is in it, or in its pages, age how many slices older a part is. firstNamed is when the
// first event that names the post as the author's was made. The author of a reuse is a number in the list of the post's
// authors, from 1, or 0: none; nearly every post has one. Strings are a length and bytes, :u and :i unsigned and signed
// varints; earlier is how many milliseconds the witness lies before time. The flags: identical, there is a witness, it
// is of another source than the post.
type post struct {
	source, id string

	was     Slice // in which it was read, 0: there was none
	dirty   bool
	deleted removal
	authors []authorship
	pages   map[string]*page // those that were read, by path; "" is in the record itself
}

func newPost(source, id string) *post {
	return &post{source: source, id: id, pages: map[string]*page{"": {}}}
}

// authorship says whose the post is, and when the first event was made that names it as his.
type authorship struct {
	author     string
	firstNamed feed.Time
}

// reuse is one event of which the post is the later one.
type reuse struct {
	event, group feed.Hash
	slice        Slice
	author       string // of the later post
	sentence     int
	time         feed.Time
	likeness     lookup.Likeness
	identical    bool
	witness      *lookup.Occurrence
}

// membership says that a sentence of the post at time has a group's token set. The sentences with a reuse of Jaccard 1
// are in their group too, and need none.
type membership struct {
	group feed.Hash
	slice Slice
	time  feed.Time
}

// removal is what became of a post that is no more.
type removal byte

const (
	present  removal = iota
	deleted          // for good
	departed         // with its author: observed again, it is present again
)

// Kinds of records. 1 and 2 were kinds of what is there in earlier formats: they count as not observed.
const (
	postDeleted  = 0
	postDeparted = 3
	postKnown    = 4
	postCut      = 5
)

func (p *post) encode() Value {
	newest := p.newest()
	b := binary.AppendUvarint(nil, uint64(newest))
	switch p.deleted {
	case deleted:
		return p.value(append(b, postDeleted))
	case departed:
		return p.value(append(b, postDeparted))
	}
	root := p.pages[""]
	if root.cut {
		return p.value(p.appendAuthors(append(b, postCut)))
	}
	names := make([]string, len(p.authors))
	for i, a := range p.authors {
		names[i] = a.author
	}
	return p.value(root.append(p.appendAuthors(append(b, postKnown)), p.source, names))
}

func (p *post) appendAuthors(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(p.authors)))
	for _, a := range p.authors {
		b = binary.AppendVarint(appendString(b, a.author), int64(a.firstNamed))
	}
	return b
}

func (p *post) value(data []byte) Value {
	return Value{Key: postKey(p.source, p.id), Data: data, Slice: p.newest(), Was: p.was}
}

func (p *post) newest() Slice { return p.pages[""].newest() }

// decodePost reads a record and leaves out what is dead. Without data it is an empty one.
func decodePost(source, id string, data []byte, now Slice) (*post, error) {
	p := newPost(source, id)
	if data == nil {
		return p, nil
	}
	d := decoder{b: data}
	newest := Slice(d.uint())
	if newest.Dead(now) && !d.bad {
		return p, nil
	}
	p.was = newest
	switch d.bytes(1)[0] {
	case postDeleted:
		p.setDeleted(deleted, newest)
	case postDeparted:
		p.setDeleted(departed, newest)
	case postKnown:
		names := p.decodeAuthors(&d)
		p.pages[""].decode(&d, p.source, names, newest, now)
	case postCut:
		p.decodeAuthors(&d)
		p.pages[""].cut, p.pages[""].slice = true, newest
	case 1, 2:
		return p, nil
	default:
		d.bad = true
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("record of post %q of %q: %w", id, source, err)
	}
	return p, nil
}

// decodeAuthors reads the authors, and returns their names.
func (p *post) decodeAuthors(d *decoder) (names []string) {
	names = []string{}
	for range d.count() {
		a := authorship{d.string(), feed.Time(d.int())}
		p.authors, names = append(p.authors, a), append(names, a.author)
	}
	return names
}

// setDeleted makes a post a tombstone.
func (p *post) setDeleted(how removal, now Slice) {
	p.deleted, p.authors, p.pages = how, nil, map[string]*page{"": {slice: now}}
}

// indexOf is the index of an author in the list, -1 where he is not in it.
func (p *post) indexOf(author string) int {
	return slices.IndexFunc(p.authors, func(a authorship) bool { return a.author == author })
}

// name takes in that an event made at a time names the post as an author's. One that was removed with its author is
// present again.
func (p *post) name(author string, made feed.Time) {
	if p.deleted == departed {
		was := p.was
		*p = *newPost(p.source, p.id)
		p.was, p.dirty = was, true
	}
	switch i := p.indexOf(author); {
	case author == "":
	case i < 0:
		p.authors, p.dirty = append(p.authors, authorship{author, made}), true
	case made < p.authors[i].firstNamed:
		p.authors[i].firstNamed, p.dirty = made, true
	}
}

// addReuse adds the reuse of an event of which the post is the later one, and returns what was known of it before (nil:
// nothing).
func (p *post) addReuse(m *feed.Match, now Slice) (before *reuse) {
	page := p.page(m.ID)
	p.touch(page, now)
	observed := reuse{
		event: m.ID, group: m.Group, slice: now, author: m.Later.Author, sentence: m.Later.Sentence, time: m.Later.Time,
		likeness:  lookup.LikenessOf(m),
		identical: m.Identical, witness: occurrenceOf(&m.Earlier),
	}
	known := page.find(m.ID)
	if known == nil {
		page.reuses = append(page.reuses, observed)
		p.cutFull(page, now)
		return nil
	}
	old := *known
	if old.slice == now { // one slice: the least; a newer slice: what is observed now
		observed.time = min(observed.time, old.time)
		observed.author = max(observed.author, old.author) // rather one than none
		observed.identical = observed.identical || old.identical
		observed.witness = lesser(observed.witness, old.witness)
	}
	*known = observed
	return &old
}

// join notes that the post belongs to a group.
func (p *post) join(group feed.Hash, t feed.Time, now Slice) {
	page := p.page(group)
	i := slices.IndexFunc(page.members, func(m membership) bool { return m.group == group })
	switch {
	case i < 0:
		page.members = append(page.members, membership{group, now, t})
	case page.members[i].slice != now:
		page.members[i] = membership{group, now, t}
	case t < page.members[i].time:
		page.members[i].time = t
	default:
		return
	}
	p.touch(page, now)
	p.cutFull(page, now)
}

// reuses are those in the pages that were read.
func (p *post) reuses() iter.Seq[*reuse] {
	return func(yield func(*reuse) bool) {
		for _, page := range p.pages {
			for i := range page.reuses {
				if !yield(&page.reuses[i]) {
					return
				}
			}
		}
	}
}

// groups returns the groups that the post belongs to, and since when. All pages are to have been read.
func (p *post) groups() map[feed.Hash]feed.Time {
	since := map[feed.Hash]feed.Time{}
	note := func(g feed.Hash, t feed.Time) {
		if at, ok := since[g]; !ok || t < at {
			since[g] = t
		}
	}
	for _, page := range p.pages {
		for _, m := range page.members {
			note(m.group, m.time)
		}
	}
	for r := range p.reuses() {
		if r.likeness.Jaccard == 1 {
			note(r.group, r.time)
		}
	}
	return since
}

// removeWitness takes a deleted post out of what an event says that this one repeats.
func (p *post) removeWitness(event feed.Hash, removed map[postID]bool) {
	page := p.page(event)
	r := page.find(event)
	if r != nil && r.witness != nil && removed[postID{r.witness.Source, r.witness.Post}] {
		r.witness = nil
		p.change(page)
	}
}

// witnesses are the posts that others show as the earlier ones, in the pages that were read.
func (p *post) witnesses() (ids []postID) {
	for r := range p.reuses() {
		if w := r.witness; w != nil {
			ids = append(ids, postID{w.Source, w.Post})
		}
	}
	return ids
}

// repeatedBy is what others see of a reuse of p.
func (p *post) repeatedBy(r *reuse) *lookup.RepeatedBy {
	return &lookup.RepeatedBy{
		Event: r.event, Group: r.group, Likeness: r.likeness,
		Later: lookup.Occurrence{Source: p.source, Post: p.id, Author: r.author, Sentence: r.sentence, Time: r.time},
	}
}

// occurrenceOf returns nil for an occurrence that was left out.
func occurrenceOf(o *feed.Occurrence) *lookup.Occurrence {
	if o.Post == "" {
		return nil
	}
	return &lookup.Occurrence{Source: o.Source, Post: o.Post, Author: o.Author, Sentence: o.Sentence, Time: o.Time}
}

// lesser returns the one that is first in the order of the feed; nil is none. Of two of one sentence the one with an author.
func lesser(a, b *lookup.Occurrence) *lookup.Occurrence {
	switch {
	case a == nil:
		return b
	case b == nil || cmp.Or(keyOf(a).Compare(keyOf(b)), strings.Compare(b.Author, a.Author)) <= 0:
		return a
	}
	return b
}

func keyOf(p *lookup.Occurrence) feed.Key {
	return feed.Key{Time: p.Time, Source: p.Source, Post: p.Post, Index: p.Sentence}
}
