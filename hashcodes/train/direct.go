package train

import (
	"math/rand/v2"

	"refrain/hashcodes"
)

// Rounds of the learner direct. In each, pairs are drawn anew and every token is looked at once for each bit that a
// code may have. It stops when patience rounds have not improved the codes on the validation sets.
const (
	rounds   = 6
	patience = 3
	hot      = 0.7 // temperature of the first round, in bits
	cold     = 0.3 // and of the last
)

// direct learns codes with few false candidates inside the lossless radius, by coordinate descent from the hashed
// codes: token by token the best bit, or none, all others fixed.
//
// It begins with the hashed codes because better balanced ones led to worse ends: once a frequent word of a stock
// phrase has a bit of its own, it never gives it up, though the phrase as a whole would do better with few bits.
type direct struct {
	*learning
	ones  int
	state *state
	moves *mover
	past  []int64 // by number and bit: gains of earlier rounds
}

// learn returns the codes that did best on the validation sets, among them the hashed codes it begins with, and what
// they cost there.
func (l *learning) direct(ones int) (*hashcodes.Model, Cost, error) {
	best, err := l.model(ones, nil)
	if err != nil {
		return nil, Cost{}, err
	}
	least := l.validate(best)
	d := &direct{learning: l, ones: ones, state: newState(l.sample.Learning, l.vocab, best)}
	d.moves = newMover(d.state, l.workers)
	d.past = make([]int64, len(l.vocab)*l.Bits)
	r := rand.New(rand.NewPCG(l.Seed, uint64(ones)))
	for round, worse := 0, 0; round < rounds && worse < patience; round++ {
		if err := l.ctx.Err(); err != nil {
			return nil, Cost{}, err
		}
		d.round(round, r.Uint64())
		m, err := l.model(ones, d.state.entries())
		if err != nil {
			return nil, Cost{}, err
		}
		cost := l.validate(m)
		l.say("%d %s a token: round %d of at most %d: %.2f false candidates a query", ones, plural(ones, "bit"), round+1, rounds, cost.PerQuery())
		worse++
		if cost.False < least.False {
			best, least, worse = m, cost, 0
		}
	}
	return best, least, nil
}

func (d *direct) round(round int, seed uint64) {
	miner := miner{state: d.state, t: d.Threshold, ones: d.ones, workers: d.workers}
	d.moves.pairs = miner.mine(seed)
	d.moves.loss = newLoss(d.moves.pairs, hot+(cold-hot)*float64(round)/(rounds-1))
	for k := range d.ones {
		for number := 0; number < len(d.vocab); {
			slots := d.moves.fill(number, k)
			d.moves.measure(slots)
			for i := range slots {
				slots[i].apply(d.state, d.remember(&slots[i]))
			}
			number += len(slots)
		}
	}
}

// remember adds the gains of a slot to those of earlier rounds and returns the sum. A sample alone is noise for a rare
// token, and it would move for ever: earlier samples, which count less with each round, still say what is good for it.
func (d *direct) remember(s *slot) []int64 {
	past := d.past[s.number*d.Bits : (s.number+1)*d.Bits]
	for b, g := range s.gains {
		past[b] += g - past[b]/5
	}
	return past
}
