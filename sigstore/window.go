// Package sigstore is the rolling window: the texts seen within the span, found again by their signatures.
//
// The name is short for a store of signatures, those of package hashcodes: bits by which similar sentences are alike. It
// has nothing to do with signing code, nor with the project of that name.
//
// A text (token set) is a Group. Groups are kept in blocks by the time they were made, and an Index, made by the
// Engine, finds candidates among them without losing any. The window's clock W closes blocks and lets them go: a block
// whose end lies before W - span - lateness is dropped, and its groups that are still alive move on into the open
// block with all they keep. A byte budget may force that earlier.
//
// Three types share this. The Window is time, budget and statistics: it says what comes and goes. The Groups are the
// texts and know no time. The Searcher has the index and the codes. The window calls both, the searcher the groups, and
// none the other way.
//
// Memory is what users meet first, so a block is a few large pieces without pointers: a table of rows (20 bytes a
// group) and an arena of bytes with the groups' token sets, the records of their occurrences (some 25 bytes and the
// text) and who said them. A group with many occurrences, or one that has lost some, has an occurrence list.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package sigstore

import (
	"time"

	"refrain/feed"
	"refrain/hashcodes"
)

// Config says what a window keeps. Span, Model and Engine are required.
type Config struct {
	Span, Lateness time.Duration
	Budget         int64        // bytes; 0: no limit
	Reserved       func() int64 // bytes of the budget that others hold; nil: none
	OmitTexts      bool         // keep no texts: events then show none for earlier occurrences
	Model          *hashcodes.Model
	Bounds         *hashcodes.Bounds // of the threshold; needed where Expect is used
	Engine         Engine
	StopAfter      int          // candidates from which on Search may leave out others; 0: it gives all
	AuthorKey      AuthorKey    // secret where authors are not to be trusted
	OnForced       func(Forced) // told when the budget forces early expiry; nil: nobody is
}

// granularity says how finely the window is divided. It changes no answer; tests set it to odd values.
type granularity struct {
	parts    int // of a span, in time: blocks, and the slices in which occurrences are thinned
	minRows  int // least size of a block that closes because the window has grown; see isFull
	thinFrom int // least number of occurrences of a group that are thinned
}

// defaultGranularity is what all windows but those of tests have.
var defaultGranularity = granularity{parts: 16, minRows: 4096, thinFrom: 16}

// Window is what was seen within the span. It keeps the time, closes blocks and lets them go, and stays within the
// budget. The texts are its Groups, and its Searcher finds them: it tells both what comes and goes. None of the three
// is safe for concurrent use.
//
//	Insert                    sentences in
//	Delete, DeleteAuthor      posts and authors out of sight, and
//	PurgeSome                 out of memory
//	Advance, Horizon, IsLate  the clock
//	Recode, RecodeSome        a change of codes, as long as the budget allows it
//	Capture                   what there is, to be restored: see snapshot.go
//	Stats, Len, Bytes         the state
//	Groups, Searcher          the two others, for the life of the window
type Window struct {
	configuredSpan time.Duration // the span
	budget         int64
	reserved       func() int64
	onForced       func(Forced)
	granularity    granularity

	clock    clock
	slice    feed.Time
	blocks   *blocks
	groups   *Groups
	searcher *Searcher
	forced   bool // the budget has
	counts   Counts
	bound    []byte // what snapshots are bound to
}

// Counts are what has happened to a window since it was made.
type Counts struct {
	Inserted, Redelivered, Deleted int64 // sentences
	Forced                         int64 // groups that the budget dropped before their time
	ForcedOccurrences              int64 // occurrences that it dropped of groups that stayed
}

// New makes an empty window.
func New(cfg Config) *Window { return newWindow(cfg, defaultGranularity) }

func newWindow(cfg Config, granularity granularity) *Window {
	w := makeWindow(cfg, granularity)
	w.open()
	return w
}

// makeWindow makes a window without any block.
func makeWindow(cfg Config, granularity granularity) *Window {
	w := &Window{
		configuredSpan: cfg.Span, budget: cfg.Budget, reserved: cfg.Reserved, onForced: cfg.OnForced, granularity: granularity,
		clock: newClock(cfg.Span, cfg.Lateness), blocks: newBlocks(!cfg.OmitTexts), bound: cfg.appendBound(nil),
	}
	tokens := newDictionary(cfg.Model)
	w.slice = max(1, w.clock.span/feed.Time(w.granularity.parts))
	w.groups = newGroups(groupsConfig{w.clock.span, w.slice, w.granularity.thinFrom, cfg.AuthorKey}, w.blocks, tokens)
	w.searcher = newSearcher(Coding{cfg.Model, cfg.Bounds, cfg.Engine}, cfg.StopAfter, w.groups, w.blocks, tokens)
	return w
}

// Groups are the texts that the window holds.
func (w *Window) Groups() *Groups { return w.groups }

// Searcher finds groups of the window.
func (w *Window) Searcher() *Searcher { return w.searcher }

// Close gives back at once what the index holds besides memory. The window must not be used any more.
func (w *Window) Close() {
	w.searcher.abandon()
	closeIndex(w.searcher.index)
}

// open begins a block behind the others.
func (w *Window) open() {
	w.searcher.open()
	w.blocks.open(w.clock.now)
}

// Insert takes a sentence in. It is false for a redelivery, which changes nothing: the same sentence of the same
// version of a post at the same time. Where times are no help, the caller leaves redeliveries out.
func (w *Window) Insert(x *feed.Sentence) bool {
	g := w.groups.Get(x)
	if w.groups.holds(g, x) {
		w.counts.Redelivered++
		return false
	}
	w.prepareBlock(x.Time)
	o := occurrenceOf(x)
	if g.IsNone() {
		w.newGroup(x, &o)
	} else {
		w.addOccurrence(g, &o)
	}
	w.counts.Inserted++
	w.makeRoom()
	return true
}

// prepareBlock makes sure that the open block can take in a sentence of this time.
func (w *Window) prepareBlock(t feed.Time) {
	w.blocks.expect(t)
	if w.isFull(w.blocks.current()) {
		w.close()
	}
}

// newGroup makes the group of x with its first occurrence.
func (w *Window) newGroup(x *feed.Sentence, o *occurrence) {
	w.groups.newGroup(&x.Group, o, w.searcher.addGroup(x))
}

// addOccurrence adds an occurrence to a group.
func (w *Window) addOccurrence(g Group, o *occurrence) {
	if dense := w.groups.addOccurrence(g, o); dense {
		w.groups.thin(g, w.clock.horizon(), w.clock.lateBefore())
	}
}

// Delete removes every occurrence of the deleted posts, of all their versions: nothing finds them any more from now on,
// and their memory comes free as PurgeSome is called. Until that is done gone is asked, of all the posts that were ever
// deleted: what an earlier one said has to be said by the next. The names that it is given are only lent. posts are those
// that this deletion is of: all that are gone and were in none before.
func (w *Window) Delete(gone Gone, posts []feed.Name) { w.groups.deletePosts(gone, posts) }

// DeleteAuthor removes everything that an author has said so far, but for what stays: nothing finds it any more from now
// on, and its memory comes free as PurgeSome is called.
func (w *Window) DeleteAuthor(source, author string, stays Stays) {
	w.groups.deleteAuthor(source, author, stays)
}

// PurgeSome goes on with the removal of what was deleted by so many rows, for all of it at once, and reports
// whether there is more of it.
func (w *Window) PurgeSome(rows int) (more bool) { return w.groups.purgeSome(rows) }

// Recode begins to change the codes, in place of a change under way. Nothing happens until RecodeSome is called.
func (w *Window) Recode(to Coding) { w.searcher.recode(to) }

// RecodeSome goes on with a change of codes by about so many rows. It is false when there is none under way any more:
// it is complete, or it was given up because both indexes together exceed the budget. Searcher.Model tells which.
func (w *Window) RecodeSome(rows int) (more bool) {
	more = w.searcher.recodeSome(rows)
	if more && w.overBudget() {
		w.searcher.abandon()
		return false
	}
	return more
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
	groups, occurrences := w.groups.size()
	return Stats{
		Groups: groups, Occurrences: occurrences, Blocks: w.blocks.len(), Bytes: w.Bytes(),
		Clock: w.clock.now, Span: w.effectiveSpan(), Counts: w.allCounts(),
	}
}

func (w *Window) allCounts() Counts {
	c := w.counts
	c.Deleted += int64(w.groups.purged)
	return c
}

// Len is the number of groups.
func (w *Window) Len() int { return w.groups.len() }

// Bytes is what the window holds on the heap: groups, dictionary and indexes, two of them while codes change.
func (w *Window) Bytes() int64 {
	return w.blocks.bytes() + w.groups.bytes() + w.searcher.bytes()
}
