package terminal

import (
	"strings"

	"refrain/text"
)

// Range is a range of bytes of a text.
type Range struct{ Start, End int }

// Diff returns the tokens of each text that the other does not have, as byte ranges in ascending order.
// Tokens with only white space between them give one range.
func Diff(later, earlier string) (added, removed []Range) {
	var splitter text.Splitter
	laterTokens, earlierTokens := tokens(&splitter, later), tokens(&splitter, earlier)
	return without(later, laterTokens, earlierTokens), without(earlier, earlierTokens, laterTokens)
}

func tokens(s *text.Splitter, post string) []text.Token {
	var all []text.Token
	sentences, _ := s.Split(post)
	for _, sentence := range sentences {
		all = append(all, sentence.Tokens...)
	}
	return all
}

// without returns where in raw the tokens lie that are not among the others.
func without(raw string, tokens, others []text.Token) []Range {
	known := make(map[string]bool, len(others))
	for _, t := range others {
		known[t.Text] = true
	}
	var ranges []Range
	for _, t := range tokens {
		if known[t.Text] {
			continue
		}
		if n := len(ranges); n > 0 && joins(raw, ranges[n-1].End, t.Start) {
			ranges[n-1].End = max(ranges[n-1].End, t.End)
			continue
		}
		ranges = append(ranges, Range{t.Start, t.End})
	}
	return ranges
}

// joins reports whether nothing but white space lies between two tokens. (Tokens of one ligature overlap.)
func joins(raw string, end, start int) bool {
	return start <= end || strings.TrimSpace(raw[end:start]) == ""
}
