package train

import (
	"math/rand/v2"

	"refrain/hashcodes"
)

// schedule is how the temperature of the loss falls, in bits, from the first round to the last.
type schedule struct {
	hot, cold float64
	rounds    int
}

// schedules are what the learner direct tries, each from the hashed codes. Feeds differ: short texts, whose false
// candidates share next to nothing, do better hot; a few long ones that have most of them want it cold.
var schedules = []schedule{{1, 0.4, 4}, {0.4, 0.2, 3}}

func (s *schedule) temperature(round int) float64 {
	return s.hot + (s.cold-s.hot)*float64(round)/float64(s.rounds-1)
}

// direct learns codes with few false candidates inside the lossless radius, by coordinate descent from the hashed
// codes: token by token the best bit, or none, all others fixed. In each round pairs are drawn anew and every token is
// looked at once for each bit that its code may have.
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

// direct returns the codes that did best on the validation sets, among them the hashed codes it begins with, and what
// they cost there.
func (l *learning) direct(ones int) (*hashcodes.Model, Cost, error) {
	hashed, err := l.model(ones, nil)
	if err != nil {
		return nil, Cost{}, err
	}
	d := &direct{learning: l, ones: ones, state: newState(l.sample.Learning, l.vocab, hashed)}
	d.moves = newMover(d.state, l.Workers)
	d.past = make([]int64, len(l.vocab)*l.Bits)
	best, bestCost := hashed, l.validate(hashed)
	r := rand.New(rand.NewPCG(l.Seed, uint64(ones)))
	for _, s := range schedules {
		d.state.load(hashed)
		clear(d.past)
		for round := range s.rounds {
			m, err := d.round(r.Uint64(), s.temperature(round))
			if err != nil {
				return nil, Cost{}, err
			}
			cost := l.validate(m)
			if cost.False < bestCost.False {
				best, bestCost = m, cost
			}
			l.progress.round(cost)
		}
	}
	return best, bestCost, l.ctx.Err()
}

// round moves every token once and returns the model of the codes.
func (d *direct) round(seed uint64, temperature float64) (*hashcodes.Model, error) {
	miner := miner{state: d.state, similar: d.Measure, ones: d.ones, workers: d.Workers}
	d.moves.pairs = miner.mine(d.ctx, seed, temperature)
	d.moves.loss = newLoss(d.moves.pairs, temperature)
	for k := range d.ones {
		for number := 0; number < len(d.vocab); {
			if err := d.ctx.Err(); err != nil {
				return nil, err
			}
			slots := d.moves.fill(number, k)
			d.moves.measure(slots)
			for i := range slots {
				slots[i].apply(d.state, d.remember(&slots[i]))
			}
			number += len(slots)
		}
	}
	return d.model(d.ones, d.state.entries())
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
