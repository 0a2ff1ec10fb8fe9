package models

import "time"

// Searches are what look-ups have cost so far, and in how many texts they are made.
type Searches struct {
	Lookups, Candidates, Similar int64 // Candidates: texts that were compared; Similar: those of them that were similar
	Texts                        int
}

func (s *Searches) add(o Searches) {
	s.Lookups += o.Lookups
	s.Candidates += o.Candidates
	s.Similar += o.Similar
	s.Texts += o.Texts
}

// drift follows how many texts a look-up compares in vain, of each million in the window. Its rise says that the codes no
// longer tell the feed's texts apart. It is not counted by similar texts: of those there are few in a quiet night and many
// in a campaign, and none of them is the fault of codes.
type drift struct {
	began       time.Time
	from        Searches // when the measuring began
	first, last float64  // false candidates of a look-up in a million texts: of the first measure, and of the last one
}

const (
	measureInterval     = 5 * time.Minute // that one measure lasts, at least
	minFalseCandidates  = 1000            // false candidates in a measure, at least: where there are few, codes are good enough
	minTrainingInterval = time.Hour       // between two trainings because of drift
)

// observe makes a measure, where it is time for one, from totals of all windows.
func (d *drift) observe(now time.Time, s Searches) {
	if d.began.IsZero() {
		d.began, d.from = now, s
		return
	}
	falseCandidates := (s.Candidates - d.from.Candidates) - (s.Similar - d.from.Similar)
	if now.Sub(d.began) < measureInterval || falseCandidates < minFalseCandidates {
		return
	}
	d.last = 1e6 * float64(falseCandidates) / float64(max(1, s.Lookups-d.from.Lookups)) / float64(max(1, s.Texts))
	if d.first == 0 {
		d.first = d.last
	}
	d.began, d.from = now, s
}

// level is the last measure in times the first; 0 before there is one.
func (d *drift) level() float64 {
	if d.first == 0 {
		return 0
	}
	return d.last / d.first
}

// reset begins anew: the codes have changed.
func (d *drift) reset() { *d = drift{} }
