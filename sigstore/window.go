// Package sigstore is the rolling window: the texts seen within the span, found again by their signatures.
//
// A text (token set) is a Group. Groups are kept in blocks by the time of their birth; each block has an Index,
// made by the Engine, that finds candidates without losing any. The window's clock W closes blocks and lets
// them go: a block whose end lies before W - span - lateness is dropped, and its groups that are still alive
// move on into the open block with all they keep. A byte budget may force that earlier.
package sigstore

import (
	"cmp"
	"slices"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
)

// Config says what a window keeps. Engine and Model are required.
type Config struct {
	Span, Lateness time.Duration
	Budget         int64 // bytes; 0: none
	OmitTexts      bool  // keep no texts: events then show none for earlier occurrences
	Model          *hashcodes.Model
	Engine         Engine
	OnForced       func(Forced) // told when the budget forces early expiry; may be nil

	cut cut
}

// cut says how finely the window is cut. It changes no answer; tests set it to odd values.
type cut struct {
	parts    int // of a span, in time: blocks, and the slices in which occurrences are thinned
	minRows  int // least size of a block that closes because the window has grown; see isFull
	thinFrom int // least number of occurrences of a group that are thinned
}

func (c cut) withDefaults() cut {
	return cut{cmp.Or(c.parts, 16), cmp.Or(c.minRows, 4096), cmp.Or(c.thinFrom, 16)}
}

// Window is not safe for concurrent use.
type Window struct {
	cfg             Config
	span, lateness  feed.Time
	slice           feed.Time
	tokens          *dictionary
	groups          map[feed.Hash]*Group
	groupsPeak      int
	posts           posts // nil until a post is deleted
	foreign         foreign
	blocks          []*block // oldest first; the last one is open
	clock, expired  feed.Time
	started, forced bool
	last            *post // of the sentence inserted last: its next sentence shares it
	held            int64 // bytes of the groups
	occurrences     int
	counts          Counts
	index           Index
	dropped         uint32 // blocks that are gone: the number of the oldest
	query           [1]Query
	found           []*Group
	sig             hashcodes.Signature // scratch
}

// Counts are what a window has done since it was made.
type Counts struct {
	Inserted, Repeats, Deleted int64 // sentences
	Forced                     int64 // groups that the budget dropped before their time
}

// New returns an empty window.
func New(cfg Config) *Window {
	cfg.cut = cfg.cut.withDefaults()
	w := &Window{
		cfg: cfg, span: feed.Time(cfg.Span.Milliseconds()), lateness: feed.Time(cfg.Lateness.Milliseconds()),
		tokens: newDictionary(cfg.Model), groups: map[feed.Hash]*Group{}, expired: minTime,
	}
	w.slice = max(1, w.span/feed.Time(cfg.cut.parts))
	w.query[0].Signature, w.sig = w.tokens.blank(), w.tokens.blank()
	w.index = cfg.Engine(w)
	w.open()
	return w
}

func (w *Window) open() {
	w.index.Open()
	w.blocks = append(w.blocks, &block{opened: w.clock})
}

func (w *Window) current() *block { return w.blocks[len(w.blocks)-1] }

// Insert takes x in. It reports false, and changes nothing, if x was taken in before.
func (w *Window) Insert(x *feed.Sentence) bool {
	g := w.groups[x.Group]
	if g != nil && g.has(x) {
		w.counts.Repeats++
		return false
	}
	if g == nil {
		g = w.birth(x)
	}
	w.add(g, x)
	w.counts.Inserted++
	w.makeRoom()
	return true
}

// Has reports whether x was taken in before and is still known.
func (w *Window) Has(x *feed.Sentence) bool {
	g := w.groups[x.Group]
	return g != nil && g.has(x)
}

func (w *Window) birth(x *feed.Sentence) *Group {
	g := &Group{Hash: x.Group, tokens: make([]uint32, len(x.Tokens)), thinAt: w.cfg.cut.thinFrom}
	for i, id := range x.Tokens {
		g.tokens[i] = w.tokens.take(id)
	}
	slices.Sort(g.tokens)
	w.groups[x.Group] = g
	w.groupsPeak = max(w.groupsPeak, len(w.groups))
	w.place(g)
	w.held += g.held()
	return g
}

// place puts a group at the end of the open block.
func (w *Window) place(g *Group) {
	if w.isFull(w.current()) {
		w.close()
	}
	w.addRow(w.current(), g)
}

// addRow puts a group into the newest block.
func (w *Window) addRow(b *block, g *Group) {
	b.add(g)
	w.sig = w.tokens.sign(w.sig, g.tokens)
	w.index.Add(g.tokens, w.sig)
}

func (w *Window) add(g *Group, x *feed.Sentence) {
	before := g.held()
	o := occurrence{
		post: w.postOf(x), sequence: x.Sequence, coverage: x.Coverage,
		index: uint32(x.Index), start: uint32(x.Start), end: uint32(x.End),
	}
	if !w.cfg.OmitTexts {
		o.text = g.sharedText(x.Text)
	}
	g.insert(o, authorHash(x.Source, x.Author))
	if w.posts != nil {
		w.posts.add(g, &o)
	}
	w.occurrences++
	if len(g.occ) >= g.thinAt {
		w.occurrences -= g.thin(w.Horizon(), w.clockOr(minTime)-w.lateness, w.slice)
		g.thinAt = max(w.cfg.cut.thinFrom, 2*len(g.occ))
	}
	w.held += g.held() - before
}

func (w *Window) postOf(x *feed.Sentence) *post {
	if !w.last.of(x) {
		w.last = newPost(x)
	}
	return w.last
}

func (w *Window) dropFrom(g *Group, gone func(*occurrence) bool) int {
	before := g.held()
	n := g.drop(gone)
	w.held += g.held() - before
	w.occurrences -= n
	return n
}

func (w *Window) buryIfEmpty(g *Group) {
	if len(g.occ) == 0 {
		g.block.kill(g.row)
		w.bury(g)
	}
}

// bury forgets a group whose row is gone.
func (w *Window) bury(g *Group) {
	w.held -= g.held()
	w.tokens.release(g.tokens)
	delete(w.groups, g.Hash)
}

// Stats is the state of a window.
type Stats struct {
	Groups, Occurrences, Blocks int
	Bytes                       int64
	Clock                       feed.Time     // W; 0 before the first Advance
	Span                        time.Duration // the span that is really kept: less than asked for when the budget forces expiry
	Counts                      Counts
}

// Stats returns the state of the window.
func (w *Window) Stats() Stats {
	return Stats{
		Groups: len(w.groups), Occurrences: w.occurrences, Blocks: len(w.blocks), Bytes: w.Bytes(),
		Clock: w.clock, Span: w.effectiveSpan(), Counts: w.counts,
	}
}

// Len is the number of groups.
func (w *Window) Len() int { return len(w.groups) }

// Bytes is what the window holds on the heap: groups, dictionary and indexes.
func (w *Window) Bytes() int64 {
	n := w.held + w.tokens.bytes() + 56*int64(len(w.posts)) + w.foreign.bytes() + w.index.Bytes()
	for _, b := range w.blocks {
		n += int64(len(b.groups)) * 9
	}
	return n
}
