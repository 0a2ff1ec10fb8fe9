package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
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
//	author   = name born:i
//	reuse    = event:16 group:16 age:u author:u sentence:u time:i jaccard flags:1 [[source] post author sentence:u earlier:i]
//	member   = group:16 age:u time:i
//
// slice is the newest of all that is in it, age how many slices older a part is. born is when the first event that names
// the post as the author's was made. The author of a reuse is a number in the list of the post's authors, from 1, or 0:
// none; nearly every post has one. Strings are a length and bytes, :u and :i unsigned and signed varints; earlier is how
// many milliseconds the witness lies before time. The flags: identical,
// there is a witness, it is of another source than the post.
type post struct {
	source, id string

	was     Slice // in which it was read, 0: there was none
	dirty   bool
	slice   Slice // of the mark, when deleted
	deleted removal
	authors []authorship
	reuses  []reuse
	members []membership
}

// authorship says whose the post is, and when the first event was made that names it as his.
type authorship struct {
	author string
	born   feed.Time
}

// reuse is one event of which the post is the later one.
type reuse struct {
	event, group feed.Hash
	slice        Slice
	author       string // of the later post
	sentence     int
	time         feed.Time
	jaccard      float64
	identical    bool
	witness      *lookup.Place
}

// membership says that a sentence of the post at time has a group's token set. The sentences with a reuse of Jaccard 1
// are in their group too, and need none.
type membership struct {
	group feed.Hash
	slice Slice
	time  feed.Time
}

const (
	identical = 1 << iota
	witnessed
	elsewhere
)

// removal is what became of a post that is no more.
type removal byte

const (
	there    removal = iota
	deleted          // for good
	departed         // with its author: told again, it is there again
)

// Kinds of records. 1 and 2 were kinds of what is there in earlier formats: they count as not told.
const (
	postDeleted  = 0
	postDeparted = 3
	postKnown    = 4
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
	b = binary.AppendUvarint(append(b, postKnown), uint64(len(p.authors)))
	for _, a := range p.authors {
		b = binary.AppendVarint(appendString(b, a.author), int64(a.born))
	}
	b = binary.AppendUvarint(b, uint64(len(p.reuses)))
	for i := range p.reuses {
		b = p.appendReuse(b, &p.reuses[i], newest)
	}
	for _, m := range p.members {
		b = binary.AppendUvarint(append(b, m.group[:]...), uint64(newest-m.slice))
		b = binary.AppendVarint(b, int64(m.time))
	}
	return p.value(b)
}

func (p *post) value(data []byte) Value {
	return Value{Key: postKey(p.source, p.id), Data: data, Slice: p.newest(), Was: p.was}
}

func (p *post) newest() Slice {
	newest := p.slice
	for i := range p.reuses {
		newest = max(newest, p.reuses[i].slice)
	}
	for i := range p.members {
		newest = max(newest, p.members[i].slice)
	}
	return newest
}

func (p *post) appendReuse(b []byte, r *reuse, newest Slice) []byte {
	b = append(append(b, r.event[:]...), r.group[:]...)
	b = binary.AppendUvarint(b, uint64(newest-r.slice))
	b = binary.AppendUvarint(b, uint64(1+p.indexOf(r.author)))
	b = binary.AppendUvarint(b, uint64(r.sentence))
	b = binary.AppendVarint(b, int64(r.time))
	b = appendJaccard(b, r.jaccard)
	var flags byte
	if r.identical {
		flags |= identical
	}
	w := r.witness
	if w == nil {
		return append(b, flags)
	}
	flags |= witnessed
	if w.Source != p.source {
		b = appendString(append(b, flags|elsewhere), w.Source)
	} else {
		b = append(b, flags)
	}
	b = binary.AppendUvarint(appendString(appendString(b, w.Post), w.Author), uint64(w.Sentence))
	return binary.AppendVarint(b, int64(r.time-w.Time))
}

// decodePost reads a record and leaves out what is dead. Without data it is an empty one.
func decodePost(source, id string, data []byte, now Slice) (*post, error) {
	p := &post{source: source, id: id}
	if data == nil {
		return p, nil
	}
	d := decoder{b: data}
	newest := Slice(d.uint())
	if newest.Dead(now) && !d.bad {
		return p, nil
	}
	p.was = newest
	switch kind := d.bytes(1)[0]; kind {
	case postDeleted:
		p.slice, p.deleted = newest, deleted
	case postDeparted:
		p.slice, p.deleted = newest, departed
	case postKnown:
		p.decode(&d, newest, now)
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

func (p *post) decode(d *decoder, newest, now Slice) {
	for range d.count() {
		p.authors = append(p.authors, authorship{d.string(), feed.Time(d.int())})
	}
	for range d.count() {
		if r := p.decodeReuse(d, newest); !r.slice.Dead(now) {
			p.reuses = append(p.reuses, r)
		}
	}
	for len(d.b) > 0 && !d.bad {
		m := membership{group: d.hash(), slice: newest - Slice(d.uint()), time: feed.Time(d.int())}
		if !m.slice.Dead(now) {
			p.members = append(p.members, m)
		}
	}
}

func (p *post) decodeReuse(d *decoder, newest Slice) reuse {
	r := reuse{
		event: d.hash(), group: d.hash(), slice: newest - Slice(d.uint()), author: p.decodeAuthor(d), sentence: int(d.uint()),
		time: feed.Time(d.int()), jaccard: d.jaccard(),
	}
	flags := d.bytes(1)[0]
	r.identical = flags&identical != 0
	if flags&witnessed == 0 {
		return r
	}
	w := &lookup.Place{Source: p.source}
	if flags&elsewhere != 0 {
		w.Source = d.string()
	}
	w.Post, w.Author, w.Sentence = d.string(), d.string(), int(d.uint())
	w.Time = r.time - feed.Time(d.int())
	r.witness = w
	return r
}

func (p *post) decodeAuthor(d *decoder) string {
	n := d.uint()
	if n > uint64(len(p.authors)) {
		d.bad = true
	}
	if n == 0 || d.bad {
		return ""
	}
	return p.authors[n-1].author
}

// indexOf is the place of an author in the list, -1 where he is not in it.
func (p *post) indexOf(author string) int {
	return slices.IndexFunc(p.authors, func(a authorship) bool { return a.author == author })
}

// name takes in that an event made at a time names the post as an author's. One that had gone with its author is there
// again.
func (p *post) name(author string, made feed.Time) {
	if p.deleted == departed {
		*p = post{source: p.source, id: p.id, was: p.was, dirty: true}
	}
	switch i := p.indexOf(author); {
	case author == "":
	case i < 0:
		p.authors, p.dirty = append(p.authors, authorship{author, made}), true
	case made < p.authors[i].born:
		p.authors[i].born, p.dirty = made, true
	}
}

// tell takes in an event of which the post is the later one, and returns its reuse and what it was before (nil: new).
func (p *post) tell(m *feed.Match, now Slice) (r *reuse, before *reuse) {
	p.dirty = true
	told := reuse{
		event: m.ID, group: m.Group, slice: now, author: m.Later.Author, sentence: m.Later.Sentence, time: m.Later.Time, jaccard: m.Jaccard,
		identical: m.Identical, witness: placeOf(&m.Earlier),
	}
	i := slices.IndexFunc(p.reuses, func(r reuse) bool { return r.event == m.ID })
	if i < 0 {
		p.reuses = append(p.reuses, told)
		return &p.reuses[len(p.reuses)-1], nil
	}
	old := p.reuses[i]
	if old.slice == now { // one slice: the least; a newer slice: what is told now
		told.time = min(told.time, old.time)
		told.author = max(told.author, old.author) // rather one than none
		told.identical = told.identical || old.identical
		told.witness = lesser(told.witness, old.witness)
	}
	p.reuses[i] = told
	return &p.reuses[i], &old
}

// join notes that the post belongs to a group.
func (p *post) join(group feed.Hash, t feed.Time, now Slice) {
	i := slices.IndexFunc(p.members, func(m membership) bool { return m.group == group })
	switch {
	case i < 0:
		p.members = append(p.members, membership{group, now, t})
	case p.members[i].slice != now:
		p.members[i] = membership{group, now, t}
	case t < p.members[i].time:
		p.members[i].time = t
	default:
		return
	}
	p.dirty = true
}

// groups returns the groups that the post belongs to, and since when.
func (p *post) groups() map[feed.Hash]feed.Time {
	since := map[feed.Hash]feed.Time{}
	note := func(g feed.Hash, t feed.Time) {
		if at, ok := since[g]; !ok || t < at {
			since[g] = t
		}
	}
	for _, m := range p.members {
		note(m.group, m.time)
	}
	for i := range p.reuses {
		if r := &p.reuses[i]; r.jaccard == 1 {
			note(r.group, r.time)
		}
	}
	return since
}

// forget takes the names of deleted posts out of what this one repeats of a group.
func (p *post) forget(group feed.Hash, gone map[postID]bool) {
	for i := range p.reuses {
		r := &p.reuses[i]
		if r.group == group && r.witness != nil && gone[postID{r.witness.Source, r.witness.Post}] {
			r.witness = nil
			p.dirty = true
		}
	}
}

// witnesses are the posts that others show as the earlier ones.
func (p *post) witnesses() (ids []postID) {
	for i := range p.reuses {
		if w := p.reuses[i].witness; w != nil {
			ids = append(ids, postID{w.Source, w.Post})
		}
	}
	return ids
}

// repetition is what others see of a reuse of p.
func (p *post) repetition(r *reuse) *lookup.Repetition {
	return &lookup.Repetition{
		Event: r.event, Group: r.group, Jaccard: r.jaccard,
		Later: lookup.Place{Source: p.source, Post: p.id, Author: r.author, Sentence: r.sentence, Time: r.time},
	}
}

// placeOf returns nil for an occurrence that was left out.
func placeOf(o *feed.Occurrence) *lookup.Place {
	if o.Post == "" {
		return nil
	}
	return &lookup.Place{Source: o.Source, Post: o.Post, Author: o.Author, Sentence: o.Sentence, Time: o.Time}
}

// lesser returns the one that is first in the order of the feed; nil is none. Of one place rather that with an author.
func lesser(a, b *lookup.Place) *lookup.Place {
	switch {
	case a == nil:
		return b
	case b == nil || cmp.Or(keyOf(a).Compare(keyOf(b)), strings.Compare(b.Author, a.Author)) <= 0:
		return a
	}
	return b
}

func keyOf(p *lookup.Place) feed.Key {
	return feed.Key{Time: p.Time, Source: p.Source, Post: p.Post, Index: p.Sentence}
}
