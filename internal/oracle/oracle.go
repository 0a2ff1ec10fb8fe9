// Package oracle decides by definition which events a feed has, for tests to compare others with.
//
// It shares nothing with the detector: no signature, no window, no order of arrival. A Feed takes posts or
// sentences; Brute compares every two of them, word for word as a match is defined: the one is earlier, of another
// post, within the span, and of a similarity that reaches the threshold. Index gives the same events from exact
// inverted lists, fast enough for hundreds of thousands of posts.
package oracle

import (
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/text"
)

// schemes are what the ids of events have, by the similarity that decides.
var schemes = map[text.Similarity]string{text.Jaccard: "near", text.Cosine: "near/cosine", text.Dice: "near/dice"}

// Match is one event with the evidence for it.
type Match struct {
	ID             feed.Hash
	Later, Earlier *feed.Sentence // Earlier is the oldest occurrence that satisfies the match
	Common, Union  int            // |T_a ∩ T_b| and |T_a ∪ T_b|
}

// Jaccard is Common / Union.
func (m Match) Jaccard() float64 { return float64(m.Common) / float64(m.Union) }

// String says what matched what and why, in a few lines.
func (m Match) String() string {
	return fmt.Sprintf("event %s: J = %d/%d\n  later   %s\n  earlier %s",
		m.ID, m.Common, m.Union, describe(m.Later), describe(m.Earlier))
}

func describe(s *feed.Sentence) string {
	return fmt.Sprintf("%s %s/%s[%d] group %s %q", s.Time, s.Source, s.Post, s.Index, s.Group, s.Text)
}

func newMatch(by text.Similarity, later, earlier *feed.Sentence, common int) Match {
	return Match{
		ID:    feed.EventID(schemes[by], later.Source, later.Post, later.Index, later.Group, earlier.Group),
		Later: later, Earlier: earlier,
		Common: common, Union: len(later.Tokens) + len(earlier.Tokens) - common,
	}
}

// Feed is the sentences of a feed, each delivery that changes nothing left out. The zero Feed is empty.
type Feed struct {
	MinTokens int // of a sentence that is compared, for Add

	splitter  text.Splitter
	sentences []feed.Sentence
	seen      map[version][]feed.Time
	groups    map[feed.Hash][]uint64 // one token set a group
}

// version names the text of one sentence of one version of a post.
type version struct {
	source, post string
	index        int
	text         uint64
}

// Add splits p and adds its compared sentences. The order of the calls does not matter.
func (f *Feed) Add(p *feed.Post) {
	sentences, _ := f.splitter.Sentences(nil, p, f.MinTokens)
	for i := range sentences {
		f.AddSentence(&sentences[i])
	}
}

// AddSentence adds s unless it was delivered before: the same sentence of the same text, at the same time.
func (f *Feed) AddSentence(s *feed.Sentence) {
	if f.seen == nil {
		f.seen, f.groups = map[version][]feed.Time{}, map[feed.Hash][]uint64{}
	}
	v := version{s.Source, s.Post, s.Index, s.Version}
	times := f.seen[v]
	if slices.Contains(times, s.Time) {
		return
	}
	f.seen[v] = append(times, s.Time)
	f.sentences = append(f.sentences, *s)
	f.share(&f.sentences[len(f.sentences)-1])
}

// share lets all sentences of a group have one token set, a copy of our own.
func (f *Feed) share(s *feed.Sentence) {
	set, ok := f.groups[s.Group]
	if !ok {
		set = slices.Clone(s.Tokens)
		f.groups[s.Group] = set
	}
	s.Tokens = set
}

// Sentences are those that count, in the order of the feed.
func (f *Feed) Sentences() []feed.Sentence {
	sorted := slices.Clone(f.sentences)
	slices.SortStableFunc(sorted, func(a, b feed.Sentence) int { return a.Compare(&b) })
	return sorted
}
