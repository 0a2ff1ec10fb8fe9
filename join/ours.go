package join

import (
	"iter"

	"refrain/hashcodes"
	"refrain/text"
)

// lists is Ours where sets are small: a join token by token. The list of a token has the rows with it in their prefix, by size, and every two of a
// list may be a pair. So memory is read straight ahead: no row is looked up in lists all over an index. Two rows that share
// several prefix tokens are compared at the first one alone; which that is, their tokens tell.
//
// Rows of a list are first compared by signature, several at once: rows of so many tokens cannot be similar unless their
// signatures are within a radius (hashcodes.Radius). Then comes where the token stands in both (the positional filter of
// [PPJ]), and which tokens can be missing on either side, and only then are tokens compared.
type lists struct {
	*sets
	measure    text.Measure
	prefixes   []uint32 // [n]: how many tokens of a row of n are in lists
	posted     []uint32 // [n]: how many of these a larger row can find it by
	signatures *signatures
	checks     *signatures // of what these let through: the same, or wider ones
	bounds     *pairBounds
	tokens     span     // of the part: ranks
	starts     []uint32 // token of the part -> where its list begins; one more than there are
	entries    []listed
	most       int    // entries of the longest list
	to         uint32 // rows from here on have more than longest tokens, and are in no list
}

// listed is a row that has a token at a position.
type listed struct {
	row            uint32
	size, position uint16
}

// longest is how many tokens a row in a list has at most. A pair of rows meets in many lists where they are long, and is
// turned away by what stands before, in each but one: such rows are counted.
const longest = 512

// span is from a number to another one, that not included.
type span struct{ from, to uint32 }

// longRows is the first row that is too long for lists.
func (s *sets) longRows() uint32 { return s.first[min(longest+1, len(s.first)-1)] }

// byTokens are the parts of a join: tokens as far as memory goes.
func byTokens(s *sets, cfg Config, e *estimate) iter.Seq[part] {
	return func(yield func(part) bool) {
		if s.len() == 0 {
			return
		}
		l := &lists{sets: s, measure: cfg.Measure, prefixes: prefixesOf(s, cfg.Measure.Prefix), posted: prefixesOf(s, cfg.Measure.IndexPrefix), to: s.longRows()}
		l.bounds = newPairBounds(s, cfg.Measure)
		lengths := l.lengths()
		l.sign(cfg.Model, lengths)
		for from := uint32(0); from < uint32(len(lengths)); {
			part := *l
			part.tokens = span{from, e.tokensFrom(lengths, from, cfg.Memory)}
			part.fill(lengths)
			from = part.tokens.to
			if !yield(&part) {
				return
			}
		}
	}
}

// lengths counts the entries of each list. One of a single row is left empty: there is nothing in it to compare.
func (l *lists) lengths() []uint32 {
	lengths := make([]uint32, len(l.numbers))
	for r := range l.to {
		for _, token := range l.prefix(r) {
			lengths[token]++
		}
	}
	for token, n := range lengths {
		if n == 1 {
			lengths[token] = 0
		}
	}
	return lengths
}

func (l *lists) prefix(r uint32) []uint32 {
	tokens := l.row(r)
	return tokens[:l.prefixes[len(tokens)]]
}

// wide is how many words the wider signatures have.
const wide = 4

// sign makes the signatures. Wider ones pay where lists are long: first where rows are compared, then also where lists are
// scanned.
func (l *lists) sign(model *hashcodes.Model, lengths []uint32) {
	scans, postings := 0, 0
	for _, n := range lengths {
		scans, postings = scans+int(n)*int(n)/4, postings+int(n)
	}
	switch {
	case model != nil:
		l.signatures = newSignatures(l.sets, 0, model)
	case scans > 100*postings:
		l.signatures = newSignatures(l.sets, wide, nil)
	default:
		l.signatures = newSignatures(l.sets, 1, nil)
	}
	l.checks = l.signatures
	if model == nil && l.signatures.words < wide && scans > 20*postings {
		l.checks = newSignatures(l.sets, wide, nil)
	}
}

// fill makes the lists of the part's tokens.
func (l *lists) fill(lengths []uint32) {
	total := uint32(0)
	l.starts = make([]uint32, l.tokens.to-l.tokens.from+1)
	for i, n := range lengths[l.tokens.from:l.tokens.to] {
		l.starts[i] = total
		total += n
		l.most = max(l.most, int(n))
	}
	l.entries = make([]listed, total)
	for r := range l.to {
		size := uint16(len(l.row(r)))
		for i, token := range l.prefix(r) {
			if token < l.tokens.from || token >= l.tokens.to || lengths[token] == 0 {
				continue
			}
			next := &l.starts[token-l.tokens.from]
			l.entries[*next] = listed{r, size, uint16(i)}
			*next++
		}
	}
	copy(l.starts[1:], l.starts) // each start has moved to the next one's place
	l.starts[0] = 0
}

func (l *lists) postings() int64 { return int64(len(l.entries)) }

// blocks are entries, to be compared with those before them in their lists: of about the same work, so that long lists are in
// several. Behind the entries of the first part come its rows, for the pairs of equal sets.
func (l *lists) blocks(yield func(from, to uint32) bool) {
	const work, perEntry, atOnce = 1 << 15, 4, 8
	from, done := uint32(0), 0
	for i := range len(l.starts) - 1 {
		for k := l.starts[i]; k < l.starts[i+1]; k++ {
			before := int(k - l.starts[i]) // which a block lays out anew: several times as much work is to come of it
			if done += perEntry + before/atOnce; done < max(work, atOnce*before) {
				continue
			}
			if !yield(from, k+1) {
				return
			}
			from, done = k+1, 0
		}
	}
	if end := uint32(len(l.entries)); from == end || yield(from, end) {
		l.equalBlocks(yield)
	}
}

func (l *lists) equalBlocks(yield func(from, to uint32) bool) {
	const rows = 4096
	for from := uint32(len(l.entries)); from < l.total(); from += rows {
		if !yield(from, min(from+rows, l.total())) {
			return
		}
	}
}

func (l *lists) total() uint32 {
	total := uint32(len(l.entries))
	if l.tokens.from == 0 && l.last != nil {
		total += l.to
	}
	return total
}

func (l *lists) finder() finder { return newLister(l) }
