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
	cfg      Config
	clock    clock
	slice    feed.Time
	tokens   *dictionary
	blocks   *blocks
	groups   *Groups
	forced   bool
	counts   Counts
	index    Index
	recoding *recoding // nil: none is under way

	batch    batch
	query    [1]Query
	prepared prepared
	found    []Group

	// Scratch.
	sig     hashcodes.Signature
	numbers []uint32
	lent    []uint32            // to the index
	lentSig hashcodes.Signature // likewise
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
		cfg: cfg, clock: newClock(cfg.Span, cfg.Lateness), tokens: newDictionary(cfg.Model), blocks: newBlocks(!cfg.OmitTexts),
	}
	w.slice = max(1, w.clock.span/feed.Time(cfg.cut.parts))
	w.groups = newGroups(groupsConfig{w.clock.span, w.slice, cfg.cut.thinFrom}, w.blocks, w.tokens)
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
	w.index.Open()
	w.blocks.open(w.clock.now)
}

// Insert takes a sentence in. It is false for a redelivery, which changes nothing: the same sentence of the same
// version of a post, or, if the post had no time of its own, of any time.
func (w *Window) Insert(x *feed.Sentence) bool {
	g := w.Group(x.Group)
	if w.groups.holds(g, x) {
		w.counts.Repeats++
		return false
	}
	w.makePlace(x.Time)
	o := occurrenceOf(x)
	if g.IsNone() {
		w.birth(x, &o)
	} else {
		w.say(g, &o)
	}
	w.counts.Inserted++
	w.makeRoom()
	return true
}

// makePlace sees to it that the open block can take in a sentence of this time.
func (w *Window) makePlace(t feed.Time) {
	w.blocks.expect(t)
	if w.isFull(w.blocks.current()) {
		w.close()
	}
}

// birth makes the group of x with its first occurrence.
func (w *Window) birth(x *feed.Sentence, o *occurrence) {
	w.numbers = w.takeTokens(w.numbers[:0], x)
	w.sign(w.numbers)
	w.batch.born(w, len(x.Tokens))
	w.groups.birth(&x.Group, o, w.numbers)
}

// sign gives the index the row that comes next.
func (w *Window) sign(numbers []uint32) {
	w.sig = w.tokens.sign(w.sig, numbers)
	w.index.Add(numbers, w.sig)
}

// say adds an occurrence to a group.
func (w *Window) say(g Group, o *occurrence) {
	if dense := w.groups.say(g, o); dense {
		w.groups.thin(g, w.clock.horizon(), w.clock.lateBefore())
	}
}

// Delete removes every occurrence of a post, of all its versions, and reports how many there were.
func (w *Window) Delete(source, id string) (occurrences int) {
	occurrences = w.groups.delete(source, id)
	w.counts.Deleted += int64(occurrences)
	return occurrences
}

// What follows is the groups'.

func (w *Window) Group(h feed.Hash) Group { return w.groups.Get(h) }

func (w *Window) Has(x *feed.Sentence) bool { return w.groups.Has(x) }

func (w *Window) Hash(g Group) feed.Hash { return w.groups.Hash(g) }

func (w *Window) Sets(from Row, n int, visit func(ids []uint64)) (next Row, more bool) {
	return w.groups.Sets(from, n, visit)
}

func (w *Window) Earlier(g Group, x *feed.Sentence) (shown feed.Occurrence, identical, ok bool) {
	return w.groups.Earlier(g, x)
}

func (w *Window) EachLater(g Group, x *feed.Sentence, visit func(*Later)) {
	w.groups.EachLater(g, x, visit)
}

func (w *Window) EachNew(g Group, x *feed.Sentence, visit func(*Later)) {
	w.groups.EachNew(g, x, visit)
}

func (w *Window) History(g Group, source, author string, counted bool) History {
	return w.groups.History(g, source, author, counted)
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
		Groups: w.Len(), Occurrences: w.groups.occurrences, Blocks: len(w.blocks.all), Bytes: w.Bytes(),
		Clock: w.clock.now, Span: w.effectiveSpan(), Counts: w.counts,
	}
}

// Len is the number of groups.
func (w *Window) Len() int { return w.groups.len() }

// Bytes is what the window holds on the heap: groups, dictionary and indexes, two of them while codes change.
func (w *Window) Bytes() int64 {
	return w.blocks.bytes() + w.tokens.bytes() + w.groups.bytes() + w.index.Bytes() + w.recoding.bytes()
}
