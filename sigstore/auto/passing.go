package auto

import (
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// falseCandidates are the rows of the window that pass the radius and the holders of a look-up and do not match, as the rows
// of the sample say of each other.
func (l *Load) falseCandidates() float64 {
	if l.sample == nil || l.sample.rows == 0 {
		return 0
	}
	p := newPassing(l.sample)
	pairs, queries := 0, 0
	for i := 0; i < len(p.sets); i += 1 + len(p.sets)/passingQueries {
		pairs += p.count(p.sets[i])
		queries++
	}
	return float64(pairs) / float64(queries) / float64(len(p.sets)) * l.Rows
}

// passingQueries are the rows of the sample that look up all of it, about.
const passingQueries = 1024

// passing finds what passes among the rows of a sample.
type passing struct {
	bounds  *hashcodes.Bounds
	source  sigstore.Rows
	sets    [][]uint32
	bands   [hashcodes.MaxSize + 1]*band
	holders *hashcodes.Holders // of the query, once it has a hit
	sig     hashcodes.Signature
}

// band is the rows of one number of tokens.
type band struct {
	planes [][]uint32
	sets   [][]uint32
}

func newPassing(s *sample) *passing {
	p := &passing{bounds: s.bounds.cfg.Bounds, source: s.bounds.source, sets: s.sets}
	for _, set := range p.sets {
		sig := p.source.Signature(set)
		b := p.bands[len(set)]
		if b == nil {
			b = &band{planes: make([][]uint32, len(sig))}
			p.bands[len(set)] = b
		}
		for w, word := range sig {
			b.planes[w] = append(b.planes[w], word)
		}
		b.sets = append(b.sets, set)
	}
	return p
}

// count counts the rows that a set's look-up would have to compare for nothing.
func (p *passing) count(set []uint32) (n int) {
	bounds := p.bounds.For(len(set))
	query := []hamming.Query{{Signature: slices.Clone(p.source.Signature(set))}}
	p.holders = nil
	for m := bounds.Min; m <= bounds.Max; m++ {
		b := p.bands[m]
		if b == nil {
			continue
		}
		query[0].Radius, query[0].Hits = int(bounds.Radius[m-bounds.Min]), query[0].Hits[:0]
		hamming.ScanBlock(b.planes, query)
		for _, row := range query[0].Hits {
			if p.passes(set, query[0].Signature, b, row) && inBoth(set, b.sets[row]) < int(bounds.Overlap[m-bounds.Min]) {
				n++
			}
		}
	}
	return n
}

func (p *passing) passes(set []uint32, sig hashcodes.Signature, b *band, row uint32) bool {
	if p.holders == nil {
		p.holders = p.hold(set, 32*len(sig))
	}
	p.sig = p.sig[:0]
	for _, plane := range b.planes {
		p.sig = append(p.sig, plane[row])
	}
	tokens, further := p.bounds.For(len(set)).Apart(len(b.sets[row]))
	return p.holders.Within(sig, p.sig, tokens, further)
}

// hold asks for the code of each token by itself.
func (p *passing) hold(set []uint32, length int) *hashcodes.Holders {
	h := hashcodes.NewHolders(length)
	h.Reset(len(set))
	for place := range set {
		for w, word := range p.source.Signature(set[place : place+1]) {
			for ; word != 0; word &= word - 1 {
				h.Add(place, 32*w+bits.TrailingZeros32(word))
			}
		}
	}
	return h
}

// inBoth is the number of tokens that two sets, ascending, have in common.
func inBoth(x, y []uint32) (n int) {
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			i, j, n = i+1, j+1, n+1
		case x[i] < y[j]:
			i++
		default:
			j++
		}
	}
	return n
}
