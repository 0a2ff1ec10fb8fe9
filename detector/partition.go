package detector

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
)

// Partition is the window of one of the partitions that the sentences of a feed are dealt to; a Detector has one for all.
// Its methods are the steps of a Detector's, for whoever reads sentences from a topic, has a clock of his own, or cannot
// wait for a deletion to go through the window. Only View and Newest are safe for concurrent use.
type Partition struct {
	cfg      Config
	window   *sigstore.Window
	groups   *sigstore.Groups   // the window's
	searcher *sigstore.Searcher // likewise
	bounds   *hashcodes.Bounds
	scheme   string // of the ids
	counts   Counts
	release  func() // gives the window's place on a GPU back

	// Scratch.
	ahead []*feed.Sentence
	near  []near
	match feed.Match // the one that is being handed on

	// What other goroutines may ask about: the newest time, and the statistics of a moment ago.
	newest atomic.Int64
	view   atomic.Pointer[View]
}

// View is the state of a Partition a moment ago.
type View struct {
	Counts Counts
	Window sigstore.Stats
}

// Counts are what a Partition has done.
type Counts struct {
	Lookups, Candidates, Matches int64 // Candidates: groups whose tokens were compared
	Similar                      int64 // candidates that are similar enough
	Truncated                    int64 // look-ups that max_matches cut short
	Late                         int64 // sentences inserted that were older than W - lateness
}

// NewPartition returns one with an empty window.
func NewPartition(cfg Config) (*Partition, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("detector: %w", err)
	}
	release := func() {}
	if cfg.Dealer != nil {
		cfg.Engine, release = cfg.Dealer.assign()
	}
	window := cfg.window(cfg.Model)
	p := &Partition{cfg: cfg, bounds: window.Bounds, scheme: schemeOf(cfg.Similarity), release: release}
	p.setWindow(sigstore.New(window))
	return p, nil
}

// window is the configuration of the window beneath.
func (cfg *Config) window(m *hashcodes.Model) sigstore.Config {
	coding := cfg.coding(m)
	return sigstore.Config{
		Span: cfg.Span, Lateness: cfg.Lateness, Budget: cfg.Budget, Reserved: cfg.Reserved, OmitTexts: cfg.OmitTexts,
		Model: coding.Model, Bounds: coding.Bounds, Engine: coding.Engine, StopAfter: candidatesPerGroup * cfg.MaxMatches,
		AuthorKey: cfg.AuthorKey, OnForced: cfg.OnForced,
	}
}

func (p *Partition) setWindow(w *sigstore.Window) {
	p.window, p.groups, p.searcher = w, w.Groups(), w.Searcher()
	p.publish()
}

// Release gives the window's GPU back, and what it holds there, so that the next one may have it. It is called once, when nobody
// uses the window any more, and may be left out where all windows go together.
func (p *Partition) Release() {
	p.window.Close()
	p.release()
}

// Insert takes x into the window. It reports false, and changes nothing, if x is there already.
func (p *Partition) Insert(x *feed.Sentence) bool {
	if !p.window.Insert(x) {
		return false
	}
	if p.window.IsLate(x.Time) {
		p.counts.Late++
	}
	if p.window.Len()%256 == 0 {
		p.publish()
	}
	p.newest.Store(max(p.newest.Load(), int64(x.Time)))
	return true
}

// Recode begins to change the codes of the window to those of a model; see sigstore.Window. Events stay the same, but
// for their Hamming distances.
func (p *Partition) Recode(m *hashcodes.Model) { p.window.Recode(p.cfg.coding(m)) }

// RecodeSome goes on with a change of codes by about so many texts, and reports whether more are to do.
func (p *Partition) RecodeSome(texts int) (more bool) {
	more = p.window.RecodeSome(texts)
	if !more {
		p.publish()
	}
	return more
}

// Model is what the codes of the window are of.
func (p *Partition) Model() *hashcodes.Model { return p.searcher.Model() }

// Sets visits token sets of the window; see sigstore.Groups.
func (p *Partition) Sets(from sigstore.Row, n int, visit func(tokens []uint64)) (next sigstore.Row, more bool) {
	return p.groups.Sets(from, n, visit)
}

// View returns the state as of the last Advance, or some inserts later. Any goroutine may ask.
func (p *Partition) View() View { return *p.view.Load() }

// Publish makes the View that of now.
func (p *Partition) Publish() { p.publish() }

func (p *Partition) publish() { p.view.Store(&View{p.counts, p.window.Stats()}) }

// Len is how many texts there are.
func (p *Partition) Len() int { return p.window.Len() }

// Capture captures what the partition holds, to be restored; see sigstore.Window. nil: that is not possible now.
func (p *Partition) Capture() *sigstore.Capture {
	c := p.window.Capture()
	if c == nil {
		return nil
	}
	newest, write := binary.LittleEndian.AppendUint64(nil, uint64(p.newest.Load())), c.Write
	c.Write = func(to io.Writer) error {
		if _, err := to.Write(newest); err != nil {
			return err
		}
		return write(to)
	}
	return c
}

// Restore makes the partition, which is empty, what it was when it was captured, and returns the pieces that it was made of;
// see sigstore.Restore. After an error it is still empty.
func (p *Partition) Restore(head io.Reader, open func(piece string) (io.ReadCloser, error), gone sigstore.Gone) ([]*sigstore.Piece, error) {
	var newest [8]byte
	if _, err := io.ReadFull(head, newest[:]); err != nil {
		return nil, fmt.Errorf("restore the window: %w", err)
	}
	w, err := sigstore.Restore(p.cfg.window(p.Model()), head, open, gone)
	if err != nil {
		return nil, fmt.Errorf("restore the window: %w", err)
	}
	p.newest.Store(int64(binary.LittleEndian.Uint64(newest[:])))
	p.window.Close()
	p.setWindow(w)
	return w.Pieces(), nil
}

// Newest is the time of the newest sentence inserted so far, 0 before the first. Any goroutine may ask.
func (p *Partition) Newest() feed.Time { return feed.Time(p.newest.Load()) }

// Advance moves the clock on; see sigstore.Window.
func (p *Partition) Advance(w feed.Time) {
	p.window.Advance(w)
	p.publish()
}

// Delete removes the deleted posts, of whatever version; see sigstore.Window.
func (p *Partition) Delete(gone sigstore.Gone, posts []feed.Name) { p.window.Delete(gone, posts) }

// DeleteAuthor removes everything that an author has said so far but for what stays; see sigstore.Window.
func (p *Partition) DeleteAuthor(source, author string, stays sigstore.Stays) {
	p.window.DeleteAuthor(source, author, stays)
}

// PurgeSome goes on with what Delete and DeleteAuthor began; see sigstore.Window.
func (p *Partition) PurgeSome(rows int) (more bool) { return p.window.PurgeSome(rows) }

// Horizon is the time before which occurrences may have gone.
func (p *Partition) Horizon() feed.Time { return p.window.Horizon() }

// Counts returns what p has done so far.
func (p *Partition) Counts() Counts { return p.counts }

// Stats returns the state of the window.
func (p *Partition) Stats() sigstore.Stats { return p.window.Stats() }
