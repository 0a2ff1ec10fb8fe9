package oracle

import (
	"iter"
	"time"

	"refrain/feed"
	"refrain/text"
)

// Brute yields every event of f by comparing every two sentences: for feeds of some thousand sentences.
// An event of two versions of one post (their ids are equal) comes once for each.
func (f *Feed) Brute(m text.Measure, span time.Duration) iter.Seq[Match] {
	sentences := f.Sentences()
	return func(yield func(Match) bool) {
		for b := range sentences {
			for _, found := range matchesOf(&sentences[b], sentences, m, span) {
				if !yield(found) {
					return
				}
			}
		}
	}
}

// matchesOf returns the matches of b, one for each group, with the first a in the order of the feed.
func matchesOf(b *feed.Sentence, sentences []feed.Sentence, m text.Measure, span time.Duration) []Match {
	var matches []Match
	groups := map[feed.Hash]bool{}
	for i := range sentences {
		a := &sentences[i]
		if groups[a.Group] || !precedes(a, b, span) {
			continue
		}
		common := shared(a.Tokens, b.Tokens)
		if reaches(m, common, len(a.Tokens), len(b.Tokens)) {
			groups[a.Group] = true
			matches = append(matches, newMatch(m.Similarity, b, a, common))
		}
	}
	return matches
}

// precedes reports whether a may be the earlier side of a match of b, whatever their words.
func precedes(a, b *feed.Sentence, span time.Duration) bool {
	earlier := a.Compare(b) < 0
	samePost := a.Source == b.Source && a.Post == b.Post
	return earlier && !samePost && int64(b.Time-a.Time) <= span.Milliseconds()
}

func shared(a, b []uint64) int {
	in := make(map[uint64]bool, len(a))
	for _, id := range a {
		in[id] = true
	}
	n := 0
	for _, id := range b {
		if in[id] {
			n++
		}
	}
	return n
}
