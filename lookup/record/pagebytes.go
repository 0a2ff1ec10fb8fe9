package record

import (
	"encoding/binary"
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/lookup"
)

// The kinds of pages.
const (
	pageCut   = 0
	pageFacts = 1
)

// The flags of a reuse.
const (
	identical = 1 << iota
	witnessed
	elsewhere
)

// encodePage writes a page that has a key of its own.
func (p *post) encodePage(g *page) Value {
	newest := g.newest()
	v := Value{Key: pageKey(p, g.path), Slice: newest, Was: g.was, Data: binary.AppendUvarint(nil, uint64(newest))}
	if g.cut {
		v.Data = append(v.Data, pageCut)
		return v
	}
	names := g.authors()
	v.Data = binary.AppendUvarint(append(v.Data, pageFacts), uint64(len(names)))
	for _, name := range names {
		v.Data = appendString(v.Data, name)
	}
	v.Data = g.append(v.Data, p.source, names)
	return v
}

// authors are those of the reuses.
func (g *page) authors() (names []string) {
	for i := range g.reuses {
		if a := g.reuses[i].author; a != "" && !slices.Contains(names, a) {
			names = append(names, a)
		}
	}
	return names
}

// decodePage reads a page of a post and leaves out what is dead. Without data it stays empty.
func (p *post) decodePage(g *page, data []byte, now Slice) error {
	if data == nil {
		return nil
	}
	d := decoder{b: data}
	newest := Slice(d.uint())
	if newest.Dead(now) && !d.bad {
		return nil
	}
	g.was = newest
	switch d.bytes(1)[0] {
	case pageCut:
		g.cut, g.slice = true, newest
	case pageFacts:
		var names []string
		for range d.count() {
			names = append(names, d.string())
		}
		g.decode(&d, p.source, names, newest, now)
	default:
		d.bad = true
	}
	if err := d.end(); err != nil {
		return fmt.Errorf("page %x of post %q of %q: %w", g.path, p.id, p.source, err)
	}
	return nil
}

// append writes the facts of a page of a post of a source.
func (g *page) append(b []byte, source string, names []string) []byte {
	newest := g.newest()
	b = binary.AppendUvarint(b, uint64(len(g.reuses)))
	for i := range g.reuses {
		b = appendReuse(b, &g.reuses[i], newest, source, names)
	}
	for _, m := range g.members {
		b = binary.AppendUvarint(append(b, m.group[:]...), uint64(newest-m.slice))
		b = binary.AppendVarint(b, int64(m.time))
	}
	return b
}

func appendReuse(b []byte, r *reuse, newest Slice, source string, names []string) []byte {
	b = append(append(b, r.event[:]...), r.group[:]...)
	b = binary.AppendUvarint(b, uint64(newest-r.slice))
	b = binary.AppendUvarint(b, uint64(1+slices.Index(names, r.author)))
	b = binary.AppendUvarint(b, uint64(r.sentence))
	b = binary.AppendVarint(b, int64(r.time))
	b = appendLikeness(b, &r.likeness)
	var flags byte
	if r.identical {
		flags |= identical
	}
	w := r.witness
	if w == nil {
		return append(b, flags)
	}
	flags |= witnessed
	if w.Source != source {
		b = appendString(append(b, flags|elsewhere), w.Source)
	} else {
		b = append(b, flags)
	}
	b = binary.AppendUvarint(appendString(appendString(b, w.Post), w.Author), uint64(w.Sentence))
	return binary.AppendVarint(b, int64(r.time-w.Time))
}

// decode reads the facts of a page.
func (g *page) decode(d *decoder, source string, names []string, newest, now Slice) {
	for range d.count() {
		if r := decodeReuse(d, newest, source, names); !r.slice.Dead(now) {
			g.reuses = append(g.reuses, r)
		}
	}
	for len(d.b) > 0 && !d.bad {
		m := membership{group: d.hash(), slice: newest - Slice(d.uint()), time: feed.Time(d.int())}
		if !m.slice.Dead(now) {
			g.members = append(g.members, m)
		}
	}
}

func decodeReuse(d *decoder, newest Slice, source string, names []string) reuse {
	r := reuse{
		event: d.hash(), group: d.hash(), slice: newest - Slice(d.uint()), author: decodeAuthor(d, names), sentence: int(d.uint()),
		time: feed.Time(d.int()), likeness: d.likeness(),
	}
	flags := d.bytes(1)[0]
	r.identical = flags&identical != 0
	if flags&witnessed == 0 {
		return r
	}
	w := &lookup.Occurrence{Source: source}
	if flags&elsewhere != 0 {
		w.Source = d.string()
	}
	w.Post, w.Author, w.Sentence = d.string(), d.string(), int(d.uint())
	w.Time = r.time - feed.Time(d.int())
	r.witness = w
	return r
}

func decodeAuthor(d *decoder, names []string) string {
	n := d.uint()
	if n > uint64(len(names)) {
		d.bad = true
	}
	if n == 0 || d.bad {
		return ""
	}
	return names[n-1]
}
