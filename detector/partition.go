// Package detector turns sentences into verified reuse events.
//
// A Detector holds the window of one partition. A look-up of x goes both ways in event time, because posts do
// not arrive in its order: rows earlier than x say that x repeats their group, rows later than x say that they
// repeat x's. Candidates come from the window's engine, which loses none; Jaccard on the token sets decides.
package detector

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// Scheme is the name of this kind of match: it is part of every event's id.
const Scheme = "near"

// Config says what counts as a match and what the window may hold. Default has values for all of it.
type Config struct {
	Threshold  text.Threshold        // least Jaccard: more than 0, at most 1
	Span       time.Duration         // how far back a repeat may lie: 1 ms or more
	Lateness   time.Duration         // how far behind the newest posts one may come: 0 or more
	MaxMatches int                   // groups that one look-up reports at most, its own first; 0: no limit
	Flood      int                   // groups that one reports that has more than MaxMatches: 1 to MaxMatches; without a limit nothing
	MaxLater   int                   // later occurrences, of all groups, that one look-up reports at most; 0: no limit
	FloodLater int                   // as Flood
	Budget     int64                 // bytes of the window; 0: no limit
	Reserved   func() int64          // bytes of the budget that others hold; nil: none
	OmitTexts  bool                  // keep no texts in the window
	Model      *hashcodes.Model      // codes of the tokens
	Engine     Engine                // finds candidates
	AuthorKey  sigstore.AuthorKey    // of the count of authors: secret where they are not to be trusted
	OnForced   func(sigstore.Forced) // told when the budget forces early expiry; nil: nobody is
}

// Default is a window of a day without limits.
func Default() Config {
	return Config{
		Threshold: text.DefaultThreshold, Span: 24 * time.Hour, Lateness: 5 * time.Minute,
		Model: hashcodes.Default(), Engine: Auto(nil),
	}
}

func (c *Config) validate() error {
	errs := c.checkNumbers()
	if c.Model == nil {
		errs = append(errs, errors.New("no model"))
	}
	if c.Engine == nil {
		errs = append(errs, errors.New("no engine"))
	}
	return errors.Join(errs...)
}

func (c *Config) checkNumbers() (errs []error) {
	if c.Threshold.Num <= 0 || c.Threshold.Num > c.Threshold.Den {
		errs = append(errs, fmt.Errorf("threshold %d/%d: want more than 0 and at most 1", c.Threshold.Num, c.Threshold.Den))
	}
	if c.Span < time.Millisecond {
		errs = append(errs, fmt.Errorf("span %v: want at least 1ms", c.Span))
	}
	if c.Lateness < 0 {
		errs = append(errs, fmt.Errorf("lateness %v: want 0 or more", c.Lateness))
	}
	if c.MaxMatches < 0 || c.Budget < 0 {
		errs = append(errs, fmt.Errorf("max matches %d, budget %d: want 0 (no limit) or more", c.MaxMatches, c.Budget))
	}
	if c.MaxMatches > 0 && (c.Flood < 1 || c.Flood > c.MaxMatches) {
		errs = append(errs, fmt.Errorf("flood %d: want 1 to the max matches, %d", c.Flood, c.MaxMatches))
	}
	if c.MaxLater < 0 || c.MaxLater > 0 && (c.FloodLater < 1 || c.FloodLater > c.MaxLater) {
		errs = append(errs, fmt.Errorf("max later %d, flood later %d: want 0 (no limit) or more, and 1 to that", c.MaxLater, c.FloodLater))
	}
	return errs
}

// Detector is not safe for concurrent use.
type Detector struct {
	cfg      Config
	window   *sigstore.Window
	groups   *sigstore.Groups   // the window's
	searcher *sigstore.Searcher // likewise
	bounds   *hashcodes.Bounds
	counts   Counts

	// Scratch.
	ahead []*feed.Sentence
	near  []near
	match feed.Match // the one that is being handed on

	// What other goroutines may ask about: the newest time, and the statistics of a moment ago.
	newest atomic.Int64
	view   atomic.Pointer[View]
}

// View is the state of a detector a moment ago.
type View struct {
	Counts Counts
	Window sigstore.Stats
}

// Counts are what a detector has done.
type Counts struct {
	Lookups, Candidates, Matches int64 // Candidates: groups whose tokens were compared
	Similar                      int64 // candidates that are similar enough
	Truncated                    int64 // look-ups that max_matches cut short
	Late                         int64 // sentences inserted that were older than W - lateness
}

// New returns a detector with an empty window.
func New(cfg Config) (*Detector, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("detector: %w", err)
	}
	codes := cfg.codes(cfg.Model)
	w := sigstore.New(sigstore.Config{
		Span: cfg.Span, Lateness: cfg.Lateness, Budget: cfg.Budget, Reserved: cfg.Reserved, OmitTexts: cfg.OmitTexts,
		Model: codes.Model, Bounds: codes.Bounds, Engine: codes.Engine, StopAfter: candidatesPerGroup * cfg.MaxMatches,
		AuthorKey: cfg.AuthorKey, OnForced: cfg.OnForced,
	})
	d := &Detector{cfg: cfg, window: w, groups: w.Groups(), searcher: w.Searcher(), bounds: codes.Bounds}
	d.publish()
	return d, nil
}

// codes are what the window needs of a model.
func (c *Config) codes(m *hashcodes.Model) sigstore.Codes {
	bounds := hashcodes.NewBounds(c.Threshold, m.Ones())
	return sigstore.Codes{Model: m, Bounds: bounds, Engine: c.Engine(bounds, m)}
}

// Insert takes x into the window. It reports false, and changes nothing, if x is there already.
func (d *Detector) Insert(x *feed.Sentence) bool {
	if !d.window.Insert(x) {
		return false
	}
	if d.window.IsLate(x.Time) {
		d.counts.Late++
	}
	if d.window.Len()%256 == 0 {
		d.publish()
	}
	d.newest.Store(max(d.newest.Load(), int64(x.Time)))
	return true
}

// Recode begins to change the codes of the window to those of a model; see sigstore.Window. Events stay the same, but
// for their Hamming distances.
func (d *Detector) Recode(m *hashcodes.Model) { d.window.Recode(d.cfg.codes(m)) }

// RecodeSome goes on with a change of codes by about so many texts, and reports whether more are to do.
func (d *Detector) RecodeSome(texts int) (more bool) {
	more = d.window.RecodeSome(texts)
	if !more {
		d.publish()
	}
	return more
}

// Model is what the codes of the window are of.
func (d *Detector) Model() *hashcodes.Model { return d.searcher.Model() }

// Sets visits token sets of the window; see sigstore.Groups.
func (d *Detector) Sets(from sigstore.Row, n int, visit func(tokens []uint64)) (next sigstore.Row, more bool) {
	return d.groups.Sets(from, n, visit)
}

// View returns the state as of the last Advance, or some inserts later. Any goroutine may ask.
func (d *Detector) View() View { return *d.view.Load() }

// Publish makes the View that of now.
func (d *Detector) Publish() { d.publish() }

func (d *Detector) publish() { d.view.Store(&View{d.counts, d.window.Stats()}) }

// Newest is the time of the newest sentence inserted so far, 0 before the first. Any goroutine may ask.
func (d *Detector) Newest() feed.Time { return feed.Time(d.newest.Load()) }

// Advance moves the clock on; see sigstore.Window.
func (d *Detector) Advance(w feed.Time) {
	d.window.Advance(w)
	d.publish()
}

// Delete removes the deleted posts, of whatever version; see sigstore.Window.
func (d *Detector) Delete(gone sigstore.Gone, posts []feed.Name) { d.window.Delete(gone, posts) }

// DeleteAuthor removes everything that an author has said so far but for what stays; see sigstore.Window.
func (d *Detector) DeleteAuthor(source, author string, stays sigstore.Stays) {
	d.window.DeleteAuthor(source, author, stays)
}

// PurgeSome goes on with what Delete and DeleteAuthor began; see sigstore.Window.
func (d *Detector) PurgeSome(rows int) (more bool) { return d.window.PurgeSome(rows) }

// Horizon is the time before which occurrences may have gone.
func (d *Detector) Horizon() feed.Time { return d.window.Horizon() }

// Counts returns what the detector has done so far.
func (d *Detector) Counts() Counts { return d.counts }

// Stats returns the state of the window.
func (d *Detector) Stats() sigstore.Stats { return d.window.Stats() }
