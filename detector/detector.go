// Package detector finds in a feed of posts the sentences that repeat, or nearly repeat, another.
//
// A Detector is for whoever embeds: posts in, matches out. A Partition is the window beneath it, for whoever has sentences
// from a topic; Partitions are a window in several pieces.
//
// A look-up of x goes both ways in event time, because posts do not arrive in its order: rows earlier than x say that x
// repeats their group, rows later than x say that they repeat x's. Candidates come from the window's engine, which loses
// none; the similarity of the token sets decides, in integers.
package detector

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"refrain/feed"
	"refrain/internal/feedtime"
	"refrain/text"
)

// Scheme is the name of this kind of match.
const Scheme = "near"

// schemeOf is the scheme as it is part of the ids of a similarity's events: two windows that compare the same posts by
// different similarities have no id in common.
func schemeOf(s text.Similarity) string {
	if s == text.Jaccard {
		return Scheme
	}
	return Scheme + "/" + s.String()
}

// Detector finds the matches of one feed of posts: those that `refrain detect` finds in a file of them, in the same order.
// It is not safe for concurrent use. Several feeds that are not to be compared are several Detectors.
//
// Time is that of the posts, never the machine's: how far the feed has got is what one in a hundred of its last posts has
// reached, and at least three, so that a date in the future moves nothing. What is said is kept for Config.Span from then
// on, and up to a sixteenth of that longer. Posts may come in any order while none is more than Config.Lateness behind. One
// that is further behind is compared and kept like the others, but what it repeats may have gone: Totals.Late counts them.
//
// It takes some 250 bytes a distinct sentence, 160 without texts, and without a Config.Budget there is no limit. With one
// the oldest sentences go before their time when it is full: Config.OnForced is told, and Totals has how many, and how far
// back the window still reaches.
type Detector struct {
	window    *Partition
	minTokens int
	splitter  text.Splitter
	sentences []feed.Sentence // of the post that is being added
	stamper   feedtime.Stamper
	clock     feedtime.Clock
}

// New returns a Detector that has seen nothing. Begin with Default.
func New(cfg Config) (*Detector, error) {
	window, err := NewPartition(cfg)
	if err != nil {
		return nil, err
	}
	return &Detector{window: window, minTokens: cfg.MinTokens}, nil
}

// lookupsAtOnce is how many sentences of a post are looked up together, which is quicker and takes memory.
const lookupsAtOnce = 64

// Add compares a post with those before it, keeps it, and returns the matches: of its sentences with earlier ones and,
// where it comes late, of later ones with its own. None is returned twice, but for versions of a post that share a
// sentence. An error says why p is no post, by feed.Post.Check; nothing has changed then.
//
// A post is known by its Source and ID. The same ID with the same Text and Time again changes nothing; with others it is a
// further version, which never matches the ones before. A post without a Time has the greatest of those before it. In a
// Text that is not UTF-8, U+FFFD stands for what is wrong.
func (d *Detector) Add(p feed.Post) (matches []feed.Match, err error) {
	if _, err := p.Check(); err != nil {
		return nil, fmt.Errorf("detector: post %.100q: %w", p.ID, err)
	}
	p.Timed = p.Timed || p.Time != 0
	d.stamper.Stamp(&p)
	d.sentences, _ = d.splitter.Sentences(d.sentences[:0], &p, d.minTokens)
	for some := range slices.Chunk(d.sentences, lookupsAtOnce) {
		matches, _ = d.window.detect(matches, some)
	}
	d.clock.Add(p.Time)
	if w, ok := d.clock.Time(); ok {
		d.window.window.Advance(w)
	}
	return matches, nil
}

// Delete forgets posts, of all versions, and what authors have said so far. No match is made of it any more or shows it,
// and its memory comes free; only Match.Occurrences and Authors go on counting it, as long as others say the same. What
// is added again counts again. Each call goes through the whole window: name many at once.
func (d *Detector) Delete(deleted ...feed.Tombstone) error {
	for i := range deleted {
		if err := deleted[i].Check(); err != nil {
			return fmt.Errorf("detector: delete: %w", err)
		}
	}
	posts := map[feed.Name]bool{}
	for _, t := range deleted {
		if t.Author == "" {
			posts[feed.Name{Source: t.Source, Post: t.Post}] = true
		} else {
			d.window.DeleteAuthor(t.Source, t.Author, nil)
		}
	}
	gone := func(source, post string) bool { return posts[feed.Name{Source: source, Post: post}] }
	d.window.Delete(gone, slices.Collect(maps.Keys(posts)))
	for d.window.PurgeSome(math.MaxInt) {
	}
	return nil
}

// Totals are the state of the window, and what was late or left out so far.
func (d *Detector) Totals() Totals {
	d.window.Publish()
	return Total([]*Partition{d.window})
}
