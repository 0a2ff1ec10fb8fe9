package text

import "slices"

// Pieces is Split with the sentences cut every MaxTokens tokens: the very pieces, and in the order, that
// Sentences numbers.
func (s *Splitter) Pieces(post string) (pieces []Sentence, repost bool) {
	sentences, repost := s.Split(post)
	for i, whole := range s.parts {
		tokens := sentences[i].Tokens
		for first := whole.first; first < whole.last || len(pieces) == 0 && whole.empty(); first += MaxTokens {
			p := s.piece(whole, first)
			pieces = append(pieces, Sentence{p.start, p.end, tokens[p.first-whole.first : p.last-whole.first]})
		}
	}
	return pieces, repost
}

// Set sorts ids in place and drops repeats: a token set.
func Set(ids []uint64) []uint64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}
