package record

import "refrain/feed"

// page is some of what is known of a post, its facts: reuses and memberships.
//
// Nearly every post has few, in its record. A post of many sentences may have tens of thousands, of which one event
// changes one: so a page that has more than maxFacts is cut into fan pages below it, by the next byte of the facts'
// hashes, an event's or a group's. What an event reads and writes is then bounded, however much the post has.
//
//	page = slice:u kind:1 =0 cut
//	     | slice:u kind:1 =1 #names:u name* #reuses:u reuse* member*
//
// The path of a page is a byte for each level, the page in it: its key is the post's with another letter, and the path. A
// page that is cut is as new as the newest below it, so that it lives as long.
type page struct {
	path  string
	cut   bool
	was   Slice // in which it was read, 0: there was none
	slice Slice // of the page itself; its facts may be newer
	dirty bool

	reuses  []reuse
	members []membership
}

var maxFacts = 32 // a variable for tests

const fan = 8

func pageKey(p *post, path string) string {
	return "o" + postKey(p.source, p.id)[1:] + path
}

// below is the path, one level further down, of the page that has a fact.
func below(path string, fact feed.Hash) string {
	return path + string([]byte{fact[len(path)] % fan})
}

// findPage walks down to the page that has a fact: nil where that was not read. The path is its own.
func (p *post) findPage(fact feed.Hash) (found *page, path string) {
	for {
		found = p.pages[path]
		if found == nil || !found.cut {
			return found, path
		}
		path = below(path, fact)
	}
}

// page is the one that has a fact. It is to have been read.
func (p *post) page(fact feed.Hash) *page {
	found, _ := p.findPage(fact)
	return found
}

// find returns the reuse that an event reported, nil when there is none.
func (g *page) find(event feed.Hash) *reuse {
	for i := range g.reuses {
		if g.reuses[i].event == event {
			return &g.reuses[i]
		}
	}
	return nil
}

// change notes that a page is to be written.
func (p *post) change(g *page) {
	if g.path == "" {
		p.dirty = true
	}
	g.dirty = true
}

// touch notes that a page is to be written, and that those above it live as long as it.
func (p *post) touch(g *page, now Slice) {
	p.change(g)
	for n := range len(g.path) {
		if above := p.pages[g.path[:n]]; above.slice < now {
			above.slice = now
			p.change(above)
		}
	}
}

// cutFull cuts a page that has too many facts. All pages below are written, also those without any: what a cut that was not
// finished has left there is gone.
func (p *post) cutFull(g *page, now Slice) {
	if len(g.reuses)+len(g.members) <= maxFacts || len(g.path) == len(feed.Hash{}) {
		return
	}
	for i := range byte(fan) {
		path := g.path + string([]byte{i})
		p.pages[path] = &page{path: path, slice: now, dirty: true}
	}
	for _, r := range g.reuses {
		to := p.pages[below(g.path, r.event)]
		to.reuses = append(to.reuses, r)
	}
	for _, m := range g.members {
		to := p.pages[below(g.path, m.group)]
		to.members = append(to.members, m)
	}
	g.cut, g.slice, g.reuses, g.members = true, now, nil, nil
	for i := range byte(fan) {
		p.cutFull(p.pages[g.path+string([]byte{i})], now)
	}
}

func (g *page) newest() Slice {
	newest := g.slice
	for i := range g.reuses {
		newest = max(newest, g.reuses[i].slice)
	}
	for i := range g.members {
		newest = max(newest, g.members[i].slice)
	}
	return newest
}
