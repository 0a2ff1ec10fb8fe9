package train

import "math/bits"

// mover finds the best moves of tokens. A move takes one bit from a token's code, or none where the code may grow,
// and puts another one in, or none.
//
// Only pairs change of which one or both sets hold the token. Let x and y be the signatures of such a pair without
// what the token may lose, and e how far outside the radius it then lies. Bit b in the code changes the distance
//
//	one set, x, holds the token:  +1 where neither x nor y has b, −1 where y alone has it
//	both hold it:                 −1 where just one of x and y has b
//
// and else not at all. What a bit gains is the sum of the changes of the loss. Signatures of near pairs differ in few
// bits, so a pair costs a few additions: "+1 wherever x lacks b" is summed for all pairs of x and added once.
type mover struct {
	state   *state
	pairs   *pairs
	loss    *loss
	workers int
	slots   [turn]slot
	jobs    []job
	now     uint32 // number of the turn: the holders of earlier ones do not count
}

// turn is how many tokens are looked at side by side, as if none of the others moved. They are rare ones: see fill.
const turn = 8

// slot is one token of a turn.
type slot struct {
	number     int      // the token
	out        int      // the bit that it gives up for another, or -1
	base       []uint64 // its code without that
	gains      []int64  // by bit: change of the loss with the bit, against base alone
	holderTurn []uint32 // by row: the last turn in which it was a holder of the token
	without    []uint64 // by row of a holder: its signature with base in place of the code
}

// job is some of the rows that hold the token of a slot.
type job struct {
	slot  *slot
	rows  []uint32
	gains []int64
}

func newMover(s *state, workers int) *mover {
	m := &mover{state: s, workers: workers}
	for i := range m.slots {
		m.slots[i] = slot{
			base: make([]uint64, s.words), gains: make([]int64, s.bits),
			holderTurn: make([]uint32, len(s.tab.sets)), without: make([]uint64, len(s.sigs)),
		}
	}
	return m
}

// fill puts the tokens from number on into slots, as many as together are in maxRows sets, and returns them. The k-th bit
// of each is what may move; a code without a k-th bit may get one.
func (m *mover) fill(number, k int) []slot {
	m.now++
	maxRows := len(m.state.tab.sets) / 64
	n, rows := 0, 0
	for n < turn && number+n < len(m.state.vocab) {
		rows += len(m.state.holders.at(number + n))
		if n > 0 && rows > maxRows {
			break
		}
		m.slots[n].choose(number+n, m.state.code(number+n), k)
		n++
	}
	return m.slots[:n]
}

func (s *slot) choose(number int, code []uint64, k int) {
	s.number, s.out = number, -1
	copy(s.base, code)
	if list := positions(code); k < len(list) {
		s.out = int(list[k])
		s.base[s.out/64] &^= 1 << (s.out % 64)
	}
}

// measure fills the gains of the slots.
func (m *mover) measure(slots []slot) {
	const chunk = 4096
	m.jobs = m.jobs[:0]
	for i := range slots {
		rows := m.state.holders.at(slots[i].number)
		for len(rows) > 0 {
			n := min(chunk, len(rows))
			m.jobs = append(m.jobs, job{&slots[i], rows[:n], make([]int64, 64*m.state.words)})
			rows = rows[n:]
		}
	}
	parallel(m.workers, len(m.jobs), func(i int) { m.prepareRows(&m.jobs[i]) })
	parallel(m.workers, len(m.jobs), func(i int) { m.sum(&m.jobs[i]) })
	for i := range slots {
		clear(slots[i].gains)
	}
	for _, j := range m.jobs {
		for b := range j.slot.gains {
			j.slot.gains[b] += j.gains[b]
		}
	}
}

// prepareRows signs the rows of a job without what may move.
func (m *mover) prepareRows(j *job) {
	s := m.state
	for _, row := range j.rows {
		dst := j.slot.without[int(row)*s.words : (int(row)+1)*s.words]
		s.without(dst, int(row), j.slot.number)
		for w := range dst {
			dst[w] |= j.slot.base[w]
		}
		j.slot.holderTurn[row] = m.now
	}
}

func (m *mover) sum(j *job) {
	words := m.state.words
	for _, row := range j.rows {
		own := j.slot.without[int(row)*words : (int(row)+1)*words]
		lacks := int64(0)
		for _, l := range m.pairs.of(row) {
			lacks += m.add(j, row, own, l)
		}
		for w := range own {
			addBits(j.gains[64*w:], ^own[w], lacks)
		}
	}
}

// add adds the gains of one pair, except what any bit that own lacks gains, which it returns.
func (m *mover) add(j *job, row uint32, own []uint64, l link) int64 {
	words := m.state.words
	other, both := m.state.sig(int(l.other)), j.slot.holderTurn[l.other] == m.now
	if both {
		other = j.slot.without[int(l.other)*words : (int(l.other)+1)*words]
	}
	e := distance(own, other) - int(l.radius)
	if e > maxExcessBits+1 || both && l.other < row { // a pair of two holders is added once
		return 0
	}
	level := max(e, -deepest) + deepest
	less, more := m.loss.less[l.stratum][level], m.loss.more[l.stratum][level]
	for w := range own {
		if both {
			addBits(j.gains[64*w:], own[w]^other[w], less)
		} else {
			addBits(j.gains[64*w:], other[w]&^own[w], less-more)
		}
	}
	if both {
		return 0
	}
	return more
}

// addBits adds v to the gains of the bits of a mask.
func addBits(gains []int64, mask uint64, v int64) {
	for ; mask != 0; mask &= mask - 1 {
		gains[bits.TrailingZeros64(mask)] += v
	}
}

// apply makes the move with the least gains, those of earlier rounds included, and says whether there was one.
func (s *slot) apply(st *state, gains []int64) bool {
	best, minGain := -1, int64(0)
	if s.out >= 0 && gains[s.out] <= 0 {
		best, minGain = s.out, gains[s.out] // of equals, what is there stays
	}
	for b, g := range gains {
		if g < minGain && s.base[b/64]>>(b%64)&1 == 0 {
			best, minGain = b, g
		}
	}
	if best == s.out {
		return false
	}
	code := st.code(s.number)
	copy(code, s.base)
	if best >= 0 {
		code[best/64] |= 1 << (best % 64)
	}
	for _, row := range st.holders.at(s.number) {
		st.sign(int(row))
	}
	return true
}
