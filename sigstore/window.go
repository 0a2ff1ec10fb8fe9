// Package sigstore is the rolling window: the texts seen within the span, found again by their signatures.
//
// A text (token set) is a Group. Groups are kept in blocks by the time of their birth, and an Index, made by the
// Engine, finds candidates among them without losing any. The window's clock W closes blocks and lets them go: a block
// whose end lies before W - span - lateness is dropped, and its groups that are still alive move on into the open
// block with all they keep. A byte budget may force that earlier.
//
// Memory is what users meet first, so a block is a few large pieces without pointers: a table of rows (20 bytes a
// group) and an arena of bytes with the groups' token sets, the records of their occurrences (some 25 bytes and the
// text) and who said them. A group with many occurrences, or one that has lost some, holds records of its own.
package sigstore

import (
	"cmp"
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
	Bounds         *hashcodes.Bounds // of the threshold; needed where Expect is used
	Engine         Engine
	Enough         int          // candidates from which on Search may leave out others; 0: it gives all
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
	cfg         Config
	clock       clock
	slice       feed.Time
	tokens      *dictionary
	groups      table // numbers of groups, by hash
	groupsPeak  int
	many        []*many // of the groups with many occurrences
	freeMany    []int
	posts       posts // nil until a post is deleted
	foreign     foreign
	blocks      []*block  // oldest first; the last one is open
	bases       []uint32  // of each block: side by side, for numbered
	newest      feed.Time // of the sentences inserted
	forced      bool
	held        int64 // bytes of many
	occurrences int
	counts      Counts
	index       Index
	recoding    *recoding // nil: none is under way
	dropped     uint32    // blocks that are gone: the number of the oldest
	epoch       int       // grows when a group goes: what was found before may be no more

	batch    batch
	query    [1]Query
	prepared prepared
	found    []Group
	views    [3]viewSlot
	nextView int

	// Scratch.
	sig     hashcodes.Signature
	numbers []uint32
	lent    []uint32            // to the index
	lentSig hashcodes.Signature // likewise
	ids     []uint64
	bytes   []byte
	chain   []occurrence
}

// Counts are what has happened to a window since it was made.
type Counts struct {
	Inserted, Repeats, Deleted int64 // sentences
	Forced                     int64 // groups that the budget dropped before their time
}

// New makes an empty window.
func New(cfg Config) *Window {
	cfg.cut = cfg.cut.withDefaults()
	w := &Window{
		cfg: cfg, clock: newClock(cfg.Span, cfg.Lateness), tokens: newDictionary(cfg.Model), newest: minTime,
	}
	w.slice = max(1, w.clock.span/feed.Time(cfg.cut.parts))
	w.makeScratch()
	w.index = cfg.Engine(w)
	w.open()
	return w
}

// makeScratch makes what has the model's length.
func (w *Window) makeScratch() {
	w.query[0], w.sig, w.lentSig = w.tokens.newQuery(), w.tokens.blank(), w.tokens.blank()
}

// open begins a block behind the others.
func (w *Window) open() {
	b := &block{opened: w.clock.now, epoch: w.newest, arena: arena{base: mostPage}}
	if len(w.blocks) > 0 {
		last := w.current()
		last.who = table{}
		b.base, b.arena.base = last.base+uint32(last.rows), last.arena.end()
	}
	w.index.Open()
	w.blocks, w.bases = append(w.blocks, b), append(w.bases, b.base)
}

func (w *Window) current() *block { return w.blocks[len(w.blocks)-1] }

// Insert takes a sentence in. It is false for a redelivery, which changes nothing: the same sentence of the same
// version of a post, or, if the post had no time of its own, of any time.
func (w *Window) Insert(x *feed.Sentence) bool {
	g := w.Group(x.Group)
	if !g.IsNone() && w.view(g).has(x) {
		w.counts.Repeats++
		return false
	}
	w.makePlace(x)
	o := occurrenceOf(x)
	if g.IsNone() {
		w.birth(x, &o)
	} else {
		w.say(g, &o)
	}
	if w.posts != nil {
		w.posts.add(keyOfHash(&x.Group), o.source, o.post)
	}
	w.occurrences++
	w.counts.Inserted++
	w.makeRoom()
	return true
}

// makePlace sees to it that the open block can take a sentence in.
func (w *Window) makePlace(x *feed.Sentence) {
	b := w.current()
	if w.newest == minTime {
		b.epoch = x.Time
	}
	w.newest = x.Time
	if w.isFull(b) {
		w.close()
	}
}

// Has reports whether x has been inserted.
func (w *Window) Has(x *feed.Sentence) bool {
	g := w.Group(x.Group)
	return !g.IsNone() && w.view(g).has(x)
}

// birth makes the group of x with its first occurrence.
func (w *Window) birth(x *feed.Sentence, o *occurrence) {
	w.numbers = w.takeTokens(w.numbers[:0], x)
	b := w.current()
	w.bytes = appendSet(w.bytes[:0], w.numbers)
	r := newRow(keyOfHash(&x.Group))
	r.sequence, r.tokens = o.sequence, b.place(b.arena.put(w.bytes))
	r.records = b.place(w.write(o, r.sequence, links{}))
	g := w.addRow(r, w.numbers)
	w.groups.add(r.key(), g.number(), w.keyOf)
	w.groupsPeak = max(w.groupsPeak, w.groups.live)
	w.batch.born(w, g, len(x.Tokens))
}

// addRow puts a group into the newest block.
func (w *Window) addRow(r row, numbers []uint32) Group {
	b := w.current()
	w.sig = w.tokens.sign(w.sig, numbers)
	w.index.Add(numbers, w.sig)
	return Group{b, b.add(r)}
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
		Groups: w.Len(), Occurrences: w.occurrences, Blocks: len(w.blocks), Bytes: w.Bytes(),
		Clock: w.clock.now, Span: w.effectiveSpan(), Counts: w.counts,
	}
}

// Len is the number of groups.
func (w *Window) Len() int { return w.groups.live }

// Bytes is what the window holds on the heap: groups, dictionary and indexes, two of them while codes change.
func (w *Window) Bytes() int64 {
	n := w.held + 8*int64(len(w.many)) + w.groups.bytes() + w.tokens.bytes() + w.posts.bytes() + w.foreign.bytes() + w.index.Bytes() + w.recoding.bytes()
	for _, b := range w.blocks {
		n += b.bytes()
	}
	return n
}
