package train

import (
	"math/rand/v2"
	"slices"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/text"
)

// slack is how many bits outside the radius a pair may lie to be looked at: further out, moves do not bring it in.
const slack = 7

// pairs is a sample of pairs of unlike sets whose signatures are near.
//
// Stratum e holds pairs e bits outside the radius, 0 all those inside. The nearer a pair the more it matters and the
// rarer it is, so every stratum has about as many pairs, and weights that make a weighted sum over the sample an
// unbiased estimate of the sum over all pairs.
type pairs struct {
	starts []uint32 // by row, into links
	links  []link   // each pair twice, under both of its rows
	weight [slack + 1]int64
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
	t       text.Threshold
	ones    int
	workers int
}

// perStratum is about how many pairs are drawn of each stratum.
const perStratum = 500_000

// mine draws a sample of the pairs that are near under the codes of the moment; another one for another seed.
//
// Every row searches the rows behind it, so that a pair is met once. Where there are too many, it searches one of so
// many equal segments of each size, drawn anew for each row: a pair has the chance of 1/segments.
func (m *miner) mine(seed uint64) *pairs {
	const pilots = 256
	m.state.publish()
	rows := rand.New(rand.NewPCG(seed, 0)).Perm(len(m.state.tab.sets))
	pilot := rows[:min(len(rows), pilots)]
	p := &pairs{}
	var all [][]found
	for e := range slack + 1 {
		expected := len(m.search(pilot, e, 1, 0)) * (len(rows) / len(pilot))
		segments := 1 + expected/perStratum
		p.weight[e] = int64(segments)
		all = append(all, m.searchAll(rows, e, segments, seed))
	}
	p.link(slices.Concat(all...), len(rows))
	return p
}

// found is a pair as it was met, from the lower row.
type found struct {
	row uint32
	link
}

func (m *miner) searchAll(rows []int, e, segments int, seed uint64) []found {
	const chunk = 512
	chunks := make([][]found, (len(rows)+chunk-1)/chunk)
	parallel(m.workers, len(chunks), func(i int) {
		chunks[i] = m.search(rows[i*chunk:min((i+1)*chunk, len(rows))], e, segments, seed+uint64(i))
	})
	return slices.Concat(chunks...)
}

// search meets the pairs of stratum e that the rows have in one segment.
func (m *miner) search(rows []int, e, segments int, seed uint64) (list []found) {
	r := rand.New(rand.NewPCG(seed, uint64(e)))
	bounds := hashcodes.NewBounds(m.t, m.ones)
	tab := m.state.tab
	sig := make(hashcodes.Signature, len(tab.planes))
	var parts []hamming.Part
	for _, row := range rows {
		for w := range sig {
			sig[w] = tab.planes[w][row]
		}
		parts = tab.parts(parts[:0], bounds.For(len(tab.sets[row])), sig, e)
		segment := r.IntN(segments)
		for i := range parts {
			parts[i].From, parts[i].To = cut(parts[i].From, parts[i].To, segment, segments, row+1)
		}
		hamming.ScanParts(tab.planes, parts)
		for i := range parts {
			list = m.keep(list, row, e, &parts[i])
		}
	}
	return list
}

// cut is one segment of the rows from-to, without those below first.
func cut(from, to, segment, segments, first int) (int, int) {
	n := to - from
	low, high := from+n*segment/segments, from+n*(segment+1)/segments
	return min(max(low, first), high), high
}

// keep appends the hits of stratum e. Pairs that are similar enough are candidates whatever the codes: left out.
func (m *miner) keep(list []found, row, e int, part *hamming.Part) []found {
	s := m.state
	radius := part.Radius - e
	for _, hit := range part.Hits {
		a, b := s.tab.sets[row], s.tab.sets[hit]
		switch {
		case e > 0 && distance(s.sig(row), s.sig(int(hit))) != part.Radius:
		case e == 0 && m.t.Reaches(text.Intersection(a, b), len(a), len(b)):
		default:
			list = append(list, found{uint32(row), link{hit, uint16(radius), uint8(e)}})
		}
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
