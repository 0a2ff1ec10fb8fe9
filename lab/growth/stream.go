package growth

import (
	"math"
	"slices"
	"sort"
)

// Stream makes up sentences, one after the other. It is not safe for concurrent use.
type Stream struct {
	model  *Model
	row    int
	key    uint64
	parts  []*part
	slice  int
	shares []float64 // of the components, of the slice at hand, added up
}

// part is a component at work.
type part struct {
	*Component
	key    uint64 // of its random numbers
	own    uint64 // of its own tokens
	script *script
	draws  *ranks
	global []uint32 // of the head: rank in the script, by rank in the component
	sizes  []float64
	n      uint64 // sentences made so far
	small  int    // the least size
}

// script is the tokens that components share.
type script struct {
	key   uint64
	draws *ranks
}

// token is one before it is named.
type token struct {
	rank uint64
	own  bool // of its component
}

const (
	companions    = 2 // of a token
	companionSpan = .5
	templateLaw   = 1.5
	maxCopies     = 24 // of a copy of a copy
)

// New begins a stream. Streams of one model and seed are the same.
func New(m *Model, seed uint64) *Stream {
	s := &Stream{model: m, key: keyed(seed, 1).state, slice: -1}
	scripts := map[string]*script{}
	for i := range m.Components {
		c := &m.Components[i]
		p := newPart(c, seed, uint64(i))
		s.parts = append(s.parts, p)
		if scripts[c.Script] == nil {
			scripts[c.Script] = &script{key: keyed(seed, 5, uint64(len(scripts))).state}
		}
		p.script = scripts[c.Script]
	}
	for name, sc := range scripts {
		sc.draws = s.together(name)
	}
	return s
}

func newPart(c *Component, seed, i uint64) *part {
	return &part{
		Component: c, key: keyed(seed, 2, i).state, own: keyed(seed, 3, i).state,
		draws: c.Curve.draws(), global: permutation(keyed(seed, 4, i), c.Spread),
		sizes: sums(c.Sizes), small: slices.IndexFunc(c.Sizes, func(share float64) bool { return share > 0 }),
	}
}

// together are the ranks of a script, of all its components.
func (s *Stream) together(name string) *ranks {
	shares := make([]float64, headTokens)
	beyond, tail, most := 0.0, 2.0, 0.0
	for _, p := range s.parts {
		if p.Script != name {
			continue
		}
		weight := float64(p.Rows) * mean(p.Sizes)
		for r, g := range p.global {
			shares[g] += weight * p.Curve.at(float64(r+1))
		}
		beyond += weight * p.Curve.beyond(headTokens)
		if weight > most {
			most, tail = weight, p.Curve.Tail
		}
	}
	return newRanks(shares, beyond, tail)
}

func mean(shares []float64) (sum float64) {
	for n, s := range shares {
		sum += float64(n) * s
	}
	return sum
}

func sums(shares []float64) []float64 {
	all := slices.Clone(shares)
	for i := 1; i < len(all); i++ {
		all[i] += all[i-1]
	}
	return all
}

// pick is a place in sums.
func pick(sums []float64, u float64) int {
	u *= sums[len(sums)-1]
	return min(sort.Search(len(sums), func(i int) bool { return sums[i] > u }), len(sums)-1)
}

// permutation gives each rank of a component a rank of its script, about the same.
func permutation(r random, spread float64) []uint32 {
	order := make([]uint32, headTokens)
	place := make([]float64, headTokens)
	for i := range order {
		order[i] = uint32(i)
		place[i] = math.Log(float64(i+1)) + spread*r.normal()
	}
	slices.SortFunc(order, func(a, b uint32) int {
		switch {
		case place[a] < place[b]:
			return -1
		case place[a] > place[b]:
			return 1
		}
		return 0
	})
	return order
}

// Next appends the token ids of the next sentence, ascending. component is the place of its component in the model.
func (s *Stream) Next(dst []uint64) (set []uint64, component int) {
	component = s.component()
	p := s.parts[component]
	p.n++
	var room [64]token
	tokens := p.sentence(room[:0], p.n-1, maxCopies)
	begin := len(dst)
	for _, t := range tokens {
		dst = append(dst, p.name(t))
	}
	slices.Sort(dst[begin:])
	return dst, component
}

// component is that of the next row.
func (s *Stream) component() int {
	if slice := s.row / s.model.SliceRows; slice != s.slice {
		s.slice, s.shares = slice, nil
		for _, p := range s.parts {
			s.shares = append(s.shares, p.Shares[slice%len(p.Shares)])
		}
		s.shares = sums(s.shares)
	}
	r := keyed(s.key, uint64(s.row))
	s.row++
	return pick(s.shares, r.float())
}

// name is the id of a token.
func (p *part) name(t token) uint64 {
	if t.own {
		return mix(p.own + t.rank*0x9e3779b97f4a7c15)
	}
	return mix(p.script.key + t.rank*0x9e3779b97f4a7c15)
}

// sentence is the one of a number. It is made again whenever a later one copies it.
func (p *part) sentence(dst []token, number uint64, copies int) []token {
	r := keyed(p.key, 1, number)
	u := r.float()
	for _, c := range [...]*Copies{&p.Copies, &p.Echoes} {
		if u -= c.Share; u < 0 && number > 0 && copies > 0 {
			dst = p.sentence(dst, number-lag(number, &r), copies-1)
			return p.change(dst, &r, c.Keep)
		}
	}
	if u -= p.Topics.Share; u < 0 {
		newest := uint64(float64(number)/p.Topics.Every) + 1
		back := r.float()
		base := keyed(p.key, 3, newest-uint64(float64(newest)*back*back))
		return p.change(p.fresh(dst, &base), &r, p.Topics.Keep)
	}
	if u -= p.Templates.Share; u < 0 {
		rank := uint64(p.Templates.Offset * (math.Pow(max(r.float(), 1e-6), -1/(templateLaw-1)) - 1))
		base := keyed(p.key, 2, rank)
		return p.change(p.fresh(dst, &base), &r, p.Templates.Keep)
	}
	return p.fresh(dst, &r)
}

// lag is a distance of at most n: any is as likely as twice that.
func lag(n uint64, r *random) uint64 { return uint64(math.Pow(float64(n), r.float())) }

// fresh is a sentence of its own.
func (p *part) fresh(dst []token, r *random) []token {
	return p.fill(dst, r, pick(p.sizes, r.float()))
}

// change leaves out some tokens, and puts others in, about as many; at least one token changes.
func (p *part) change(tokens []token, r *random, keep float64) []token {
	n := len(tokens)
	left := tokens[:0]
	for _, t := range tokens {
		if r.float() < keep {
			left = append(left, t)
		}
	}
	if n < len(p.Sizes)-1 {
		switch r.intn(4) {
		case 0:
			n++
		case 1:
			n--
		}
	}
	n = max(n, p.small)
	if len(left) == len(tokens) && n <= len(tokens) {
		i := r.intn(len(left))
		left[i] = left[len(left)-1]
		left = left[:len(left)-1]
	}
	return p.fill(left, r, n)
}

// fill adds tokens until there are n.
func (p *part) fill(tokens []token, r *random, n int) []token {
	var last token
	together := false
	for tries := 0; len(tokens) < n && tries < 64*n; tries++ {
		if together && r.float() < p.Together {
			last = p.companion(last, r)
		} else {
			last = p.draw(r)
		}
		if together = true; !slices.Contains(tokens, last) {
			tokens = append(tokens, last)
		}
	}
	return tokens
}

func (p *part) draw(r *random) token {
	rank := p.draws.rank(r.float())
	if rank >= headTokens {
		return token{rank, true}
	}
	return token{uint64(p.global[rank]), false}
}

// companion is a token that comes together with another: of the 2 that it has the first most often. They are about as
// frequent as that: so frequencies stay what they are.
func (p *part) companion(t token, r *random) token {
	which := uint64(math.Pow(companions+1, r.float()))
	draws, key := p.script.draws, p.script.key
	if t.own {
		draws, key = p.draws, p.own
	}
	h := keyed(key, t.rank, which)
	behind := draws.behind(t.rank) * math.Exp(companionSpan*(2*h.float()-1))
	if behind >= 1 {
		behind = 1 / behind
	}
	rank := draws.rank(1 - behind)
	own := t.own
	if own && rank < headTokens {
		rank = headTokens
	}
	if !own && rank >= headTokens {
		rank = headTokens - 1 - rank%64
	}
	return token{rank, own}
}

// Commonness is the mean logarithm of the share that a component's tokens have of all of its script's: low where it has
// words of its own.
func Commonness(m *Model, part int) (mean float64) {
	s := New(m, 1)
	p := s.parts[part]
	d := p.script.draws
	before := 0.0
	for rank, until := range p.draws.until {
		g := p.global[rank]
		share := d.until[g]
		if g > 0 {
			share -= d.until[g-1]
		}
		mean += (until - before) * math.Log(max(share, 1e-12))
		before = until
	}
	return mean / p.draws.head
}
