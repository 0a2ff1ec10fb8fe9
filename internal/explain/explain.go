// Package explain shows how the program reads texts, and why two of them match or do not.
package explain

import (
	"fmt"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/text"
)

// Settings are those that decide on a match.
type Settings struct {
	Measure   text.Measure
	Model     *hashcodes.Model
	MinTokens int
	MaxPairs  int // of sentences; 0: no limit
}

// MaxPairs is how many pairs of sentences a server compares in one answer: those of two texts of 100 sentences each. Two
// of half a megabyte have 10¹⁰.
const MaxPairs = 10_000

// Explanation is the comparison of two texts, sentence by sentence. GET /v1/explain answers with its JSON.
type Explanation struct {
	Measure   string     `json:"measure"`
	Threshold string     `json:"threshold"`
	Model     string     `json:"model"`
	A         []Sentence `json:"a"`
	B         []Sentence `json:"b"`
	Pairs     []Pair     `json:"pairs"`
}

// Sentence is one of a text, as the detector sees it.
type Sentence struct {
	Text      string   `json:"text"`
	Tokens    []string `json:"tokens"`
	Size      int      `json:"size"` // distinct tokens
	Compared  bool     `json:"compared"`
	Signature string   `json:"signature"`

	set []uint64
	sig hashcodes.Signature
}

// Pair compares sentence A of the one text with sentence B of the other.
type Pair struct {
	A          int     `json:"a"`
	B          int     `json:"b"`
	Common     int     `json:"common"`
	Union      int     `json:"union"`
	Jaccard    float64 `json:"jaccard"`
	Similarity float64 `json:"similarity"` // by the measure: what the threshold is compared with
	Hamming    int     `json:"hamming"`
	Radius     int     `json:"radius"` // -1: sets of these sizes can never reach the threshold
	Reaches    bool    `json:"reaches"`
	Matches    bool    `json:"matches"`
	Why        string  `json:"why"`
}

// Texts compares every sentence of a with every one of b. It is an error if there are too many.
func Texts(a, b string, s Settings) (Explanation, error) {
	e := Explanation{
		Measure: s.Measure.Similarity.String(), Threshold: s.Measure.Threshold.String(), Model: s.Model.Name(), A: s.sentences(a), B: s.sentences(b), Pairs: []Pair{},
	}
	if n := len(e.A) * len(e.B); s.MaxPairs > 0 && n > s.MaxPairs {
		return Explanation{}, fmt.Errorf("explain: texts of %d and %d sentences have %d pairs, and the limit is %d: ask "+
			"about a part of them, or use refrain explain",
			len(e.A), len(e.B), n, s.MaxPairs)
	}
	for i := range e.A {
		for j := range e.B {
			e.Pairs = append(e.Pairs, s.pair(i, j, &e.A[i], &e.B[j]))
		}
	}
	return e, nil
}

func (s Settings) sentences(post string) []Sentence {
	var splitter text.Splitter
	out := []Sentence{}
	pieces, _ := splitter.Pieces(post)
	for _, p := range pieces {
		set := text.Set(IDs(p.Tokens))
		sig := s.Model.Sign(make(hashcodes.Signature, s.Model.Words()), set)
		out = append(out, Sentence{
			Text: post[p.Start:p.End], Tokens: Tokens(p.Tokens), Size: len(set),
			Compared: text.Compared(p.Tokens, s.MinTokens), Signature: Hex(sig), set: set, sig: sig,
		})
	}
	return out
}

func (s Settings) pair(i, j int, a, b *Sentence) Pair {
	n, m := len(a.set), len(b.set)
	common := text.Intersection(a.set, b.set)
	p := Pair{
		A: i, B: j, Common: common, Union: n + m - common, Jaccard: text.Jaccard.Value(common, n, m),
		Similarity: s.Measure.Similarity.Value(common, n, m), Hamming: hashcodes.Distance(a.sig, b.sig), Radius: -1,
	}
	if n > 0 && m > 0 {
		p.Radius, p.Reaches = hashcodes.Radius(s.Measure, s.Model.Ones(), n, m), s.Measure.Reaches(common, n, m)
	}
	p.Matches = p.Reaches && a.Compared && b.Compared
	p.Why = p.why(a, b, s.Measure)
	return p
}

// why is the reason in a sentence.
func (p *Pair) why(a, b *Sentence, m text.Measure) string {
	value := fmt.Sprintf("%s = %.3f", p.formula(a, b, m.Similarity), p.Similarity)
	switch {
	case a.Size == 0 || b.Size == 0:
		return "no match: a sentence without tokens is never compared"
	case !a.Compared || !b.Compared:
		return "no match: too short to be compared (see --min-tokens)"
	case p.Matches && feed.GroupHash(a.set) == feed.GroupHash(b.set):
		return "match: the same words"
	case p.Matches:
		return fmt.Sprintf("match: %s reaches %s", value, m.Threshold)
	case p.Radius < 0:
		return fmt.Sprintf("no match: sets of %d and %d tokens cannot reach %s", a.Size, b.Size, m.Threshold)
	}
	return fmt.Sprintf("no match: %s is below %s: %d common tokens, %d needed", value, m.Threshold, p.Common,
		m.MinOverlap(a.Size, b.Size))
}

// formula is how a similarity comes about.
func (p *Pair) formula(a, b *Sentence, s text.Similarity) string {
	switch s {
	case text.Cosine:
		return fmt.Sprintf("cosine %d/√(%d·%d)", p.Common, a.Size, b.Size)
	case text.Dice:
		return fmt.Sprintf("Dice 2·%d/(%d+%d)", p.Common, a.Size, b.Size)
	}
	return fmt.Sprintf("Jaccard %d/%d", p.Common, p.Union)
}
