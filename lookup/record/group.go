package record

import (
	"encoding/binary"
	"fmt"
	"slices"

	"refrain/feed"
)

// group is the record of a group.
//
//	group = slice:u occurrences:u authors:u estimated:1 #firsts:u first* text
//	first = age:u time:i source post
//	text  = nothing | age:u time:i source post text
//
// The notation is that of post. text and firsts each name the post that they came from.
type group struct {
	hash feed.Hash

	was, slice           Slice
	dirty                bool
	occurrences, authors int
	estimated            bool
	firsts               []first // candidates; the least is the answer
	text                 string
	owner                first // of text
}

// first is a post that was named as the first of the group, or as one with its text.
type first struct {
	slice Slice
	feed.First
}

func (f *first) compare(o *first) int {
	return feed.Key{Time: f.Time, Source: f.Source,
		Post: f.Post}.Compare(feed.Key{Time: o.Time, Source: o.Source, Post: o.Post})
}

func (g *group) encode() Value {
	b := binary.AppendUvarint(nil, uint64(g.slice))
	b = binary.AppendUvarint(b, uint64(g.occurrences))
	b = binary.AppendUvarint(b, uint64(g.authors))
	var estimated byte
	if g.estimated {
		estimated = 1
	}
	b = binary.AppendUvarint(append(b, estimated), uint64(len(g.firsts)))
	for i := range g.firsts {
		b = g.appendFirst(b, &g.firsts[i])
	}
	if g.text != "" {
		b = appendString(g.appendFirst(b, &g.owner), g.text)
	}
	return Value{Key: groupKey(g.hash), Data: b, Slice: g.slice, Was: g.was}
}

func (g *group) appendFirst(b []byte, f *first) []byte {
	b = binary.AppendUvarint(b, uint64(g.slice-f.slice))
	b = binary.AppendVarint(b, int64(f.Time))
	return appendString(appendString(b, f.Source), f.Post)
}

// decodeGroup reads a record and leaves out what is dead. Without data, or dead, it is an empty one.
func decodeGroup(hash feed.Hash, data []byte, now Slice) (*group, error) {
	g := &group{hash: hash}
	if data == nil {
		return g, nil
	}
	d := decoder{b: data}
	slice := Slice(d.uint())
	if slice.Dead(now) && !d.bad {
		return g, nil
	}
	g.was, g.slice = slice, slice
	g.occurrences, g.authors, g.estimated = int(d.uint()), int(d.uint()), d.bytes(1)[0] == 1
	for range d.count() {
		if f := g.decodeFirst(&d); !f.slice.Dead(now) {
			g.firsts = append(g.firsts, f)
		}
	}
	if len(d.b) > 0 {
		g.owner = g.decodeFirst(&d)
		g.text = d.string()
	}
	if g.owner.slice.Dead(now) {
		g.text, g.owner = "", first{}
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("record of group %s: %w", hash, err)
	}
	return g, nil
}

func (g *group) decodeFirst(d *decoder) (f first) {
	f.slice, f.Time = g.slice-Slice(d.uint()), feed.Time(d.int())
	f.Source, f.Post = d.string(), d.string()
	return f
}

// observe adds what an event says of the group.
func (g *group) observe(m *feed.Match, now Slice) {
	if g.slice != now || m.Occurrences > g.occurrences || m.Authors > g.authors {
		g.dirty = true
	}
	g.slice = now
	g.occurrences = max(g.occurrences, m.Occurrences)
	if m.Authors >= g.authors {
		g.estimated = m.AuthorsEstimated || g.estimated && m.Authors == g.authors
		g.authors = m.Authors
	}
	if m.First.Post != "" {
		g.nominate(first{now, m.First})
	}
	g.quote(&m.Earlier, now)
	if m.Jaccard == 1 {
		g.quote(&m.Later, now)
	}
}

// nominate takes in who was named as first. Of two candidates the later one goes when it does not live longer.
func (g *group) nominate(c first) {
	for _, f := range g.firsts {
		if f.slice == c.slice && f.compare(&c) <= 0 {
			return
		}
	}
	g.firsts = slices.DeleteFunc(g.firsts, func(f first) bool { return c.compare(&f) <= 0 })
	g.firsts = append(g.firsts, c)
	g.dirty = true
}

// first returns the least candidate, nil when there is none.
func (g *group) first() *feed.First {
	if len(g.firsts) == 0 {
		return nil
	}
	f := slices.MinFunc(g.firsts, func(a, b first) int { return a.compare(&b) })
	return &f.First
}

// quote takes the text of an occurrence when it is observed later, or is less, than that which it has.
func (g *group) quote(o *feed.Occurrence, now Slice) {
	c := first{now, feed.First{Source: o.Source, Post: o.Post, Time: o.Time}}
	if o.Post == "" || o.Text == "" || g.text != "" && g.owner.slice == now && !precedes(&c, o.Text, &g.owner, g.text) {
		return
	}
	g.text, g.owner, g.dirty = o.Text, c, true
}

// precedes orders texts observed in one slice: by post, and of one post by their bytes.
func precedes(a *first, text string, b *first, than string) bool {
	c := a.compare(b)
	return c < 0 || c == 0 && text < than
}

// posts are those that the record names.
func (g *group) posts() []postID {
	ids := []postID{{g.owner.Source, g.owner.Post}}
	for _, f := range g.firsts {
		ids = append(ids, postID{f.Source, f.Post})
	}
	return ids
}

// removePosts takes deleted posts out.
func (g *group) removePosts(removed map[postID]bool) {
	n := len(g.firsts)
	g.firsts = slices.DeleteFunc(g.firsts, func(f first) bool { return removed[postID{f.Source, f.Post}] })
	g.dirty = g.dirty || len(g.firsts) < n
	if g.text != "" && removed[postID{g.owner.Source, g.owner.Post}] {
		g.text, g.owner, g.dirty = "", first{}, true
	}
}
