package train

import (
	"context"
	"math/rand/v2"
	"slices"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/text"
)

// maxExcessBits is how many bits outside the radius a pair may lie to be looked at: further out, moves do not bring it
// in.
const maxExcessBits = 7

// pairs is a sample of pairs of unlike sets whose signatures are near.
//
// Stratum e holds pairs e bits outside the radius, 0 all those inside. The nearer a pair the more it matters and the
// rarer it is, so every stratum has about as many pairs, and weights that make a weighted sum over the sample an
// unbiased estimate of the sum over all pairs.
type pairs struct {
	starts []uint32 // by row, into links
	links  []link   // each pair twice, under both of its rows
	weight [maxExcessBits + 1]int64
}

// link is one end of a pair.
type link struct {
	other   uint32 // the row at the other end
	radius  uint16
	stratum uint8
}

func (p *pairs) of(row uint32) []link { return p.links[p.starts[row]:p.starts[row+1]] }

// miner draws pairs.
type miner struct {
	state   *state
	similar text.Measure
	ones    int
	workers int
}

// perStratum is about how many pairs are drawn of each stratum.
const perStratum = 375_000

// minStratumShare: a stratum is left out when moves of one bit can change the loss by less than this share through it,
// and through all those further out.
const minStratumShare = 0.001

// mine draws a sample of the pairs that are near under the codes of the moment; another one for another seed. It is cut
// short when the context ends.
//
// Every row searches the rows behind it, so that a pair is found once. Of a stratum with too many pairs it searches one
// of so many equal segments of them, drawn anew for each row: a pair has the chance of 1/segments.
func (m *miner) mine(ctx context.Context, seed uint64, temperature float64) *pairs {
	m.state.publish()
	p := &pairs{}
	var all [][]found
	segments := m.plan(ctx, seed, temperature)
	for e := 0; e <= maxExcessBits; {
		s := query{e, e, segments[e]}
		for s.segments == 1 && s.last < maxExcessBits && segments[s.last+1] == 1 {
			s.last++ // strata that are searched whole are searched at once
		}
		if s.segments > 0 {
			all = append(all, m.searchAll(ctx, s, seed))
		}
		for ; e <= s.last; e++ {
			p.weight[e] = int64(segments[e])
		}
	}
	p.link(slices.Concat(all...), len(m.state.tab.sets))
	return p
}

// plan returns in how many segments each stratum is cut; 0: it is left out.
func (m *miner) plan(ctx context.Context, seed uint64, temperature float64) (segments [maxExcessBits + 1]int) {
	const pilots = 512
	rows := rand.New(rand.NewPCG(seed, 0)).Perm(len(m.state.tab.sets))
	pilot := rows[:min(len(rows), pilots)]
	counts := m.census(ctx, pilot)
	var effect [maxExcessBits + 1]float64 // of the stratum and of those further out
	for e := maxExcessBits; e >= 0; e-- {
		inner := float64(max(e, 1) - 1)
		effect[e] = float64(counts[e]) * (cost(inner, temperature) - cost(inner+1, temperature))
		if e < maxExcessBits {
			effect[e] += effect[e+1]
		}
	}
	for e := range segments {
		if len(pilot) == len(rows) || effect[e] >= minStratumShare*effect[0] {
			segments[e] = 1 + counts[e]*(len(rows)/len(pilot))/perStratum
		}
	}
	return segments
}

// census counts the pairs of each stratum that the rows have, similar ones among them.
func (m *miner) census(ctx context.Context, rows []int) (counts [maxExcessBits + 1]int) {
	of := make([][maxExcessBits + 1]int, len(rows))
	parallelUntil(ctx, m.workers, len(rows), func(i int) {
		s, row := m.state, rows[i]
		b := hashcodes.NewBounds(m.similar, m.ones).For(len(s.tab.sets[row]))
		for other := row + 1; other < s.tab.band[b.Max+1]; other++ {
			radius := int(b.Radius[len(s.tab.sets[other])-b.Min])
			if e := distance(s.sig(row), s.sig(other)) - radius; e <= maxExcessBits {
				of[i][max(e, 0)]++
			}
		}
	})
	for i := range of {
		for e, n := range of[i] {
			counts[e] += n
		}
	}
	return counts
}

// query asks for pairs of the strata first to last in one of so many segments.
type query struct{ first, last, segments int }

// found is a pair as it was found, from the lower row.
type found struct {
	row uint32
	link
}

func (m *miner) searchAll(ctx context.Context, q query, seed uint64) []found {
	const chunk = 256
	n := len(m.state.tab.sets)
	chunks := make([][]found, (n+chunk-1)/chunk)
	parallelUntil(ctx, m.workers, len(chunks), func(i int) {
		chunks[i] = m.search(i*chunk, min((i+1)*chunk, n), q, rand.New(rand.NewPCG(seed+uint64(i), uint64(q.first))))
	})
	return slices.Concat(chunks...)
}

// search meets the pairs that the rows from-to have, each in one segment.
func (m *miner) search(from, to int, q query, r *rand.Rand) (list []found) {
	bounds := hashcodes.NewBounds(m.similar, m.ones)
	tab := m.state.tab
	band := make([][]uint32, len(tab.planes))
	sig := make(hashcodes.Signature, len(tab.planes))
	var hits []uint32
	for row := from; row < to; row++ {
		for w := range sig {
			sig[w] = tab.planes[w][row]
		}
		n := len(tab.sets[row])
		b := bounds.For(n)
		first, last := segmentRows(row+1, tab.band[b.Max+1], r.IntN(q.segments), q.segments)
		for size := n; size <= b.Max; size++ {
			low, high := max(first, tab.band[size]), min(last, tab.band[size+1])
			if low >= high {
				continue
			}
			for w := range band {
				band[w] = tab.planes[w][low:high]
			}
			radius := int(b.Radius[size-b.Min])
			hits = hamming.Scan(hits[:0], band, sig, radius+q.last)
			list = m.appendFound(list, row, low, radius, q, hits)
		}
	}
	return list
}

// segmentRows is one segment of the rows from-to.
func segmentRows(from, to, segment, segments int) (int, int) {
	n := to - from
	return from + n*segment/segments, from + n*(segment+1)/segments
}

// appendFound appends the hits, counted from row from on, of the strata asked for. Pairs that are similar enough are
// candidates whatever the codes: left out.
func (m *miner) appendFound(list []found, row, from, radius int, q query, hits []uint32) []found {
	s := m.state
	for _, hit := range hits {
		other := from + int(hit)
		e := max(distance(s.sig(row), s.sig(other))-radius, 0)
		a, b := s.tab.sets[row], s.tab.sets[other]
		if e < q.first || e == 0 && m.similar.Reaches(text.Intersection(a, b), len(a), len(b)) {
			continue
		}
		list = append(list, found{uint32(row), link{uint32(other), uint16(radius), uint8(e)}})
	}
	return list
}

// link fills starts and links.
func (p *pairs) link(all []found, rows int) {
	p.starts = make([]uint32, rows+2)
	for _, f := range all {
		p.starts[f.row+2]++
		p.starts[f.other+2]++
	}
	for i := 2; i < len(p.starts); i++ {
		p.starts[i] += p.starts[i-1]
	}
	p.links = make([]link, 2*len(all))
	for _, f := range all {
		p.append(f.row, f.link)
		p.append(f.other, link{f.row, f.radius, f.stratum})
	}
	p.starts = p.starts[:rows+1]
}

// append puts a link at the end of those of a row; starts[row+1] is that end until all are there.
func (p *pairs) append(row uint32, l link) {
	p.links[p.starts[row+1]] = l
	p.starts[row+1]++
}
