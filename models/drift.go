package models

import "time"

// drift follows how many candidates look-ups compare for each that is similar. Its rise says that the codes no longer
// tell the feed's texts apart.
type drift struct {
	began               time.Time
	candidates, similar int64   // when the measuring began
	first, last         float64 // candidates a similar text: of the first measure, and of the last one
}

const (
	measure = 5 * time.Minute // that one measure lasts, at least
	enough  = 1000            // similar texts in a measure, at least
	rest    = time.Hour       // between two trainings because of drift
)

// look takes a measure, where it is time for one, from totals of all look-ups.
func (d *drift) look(now time.Time, candidates, similar int64) {
	if d.began.IsZero() {
		d.began, d.candidates, d.similar = now, candidates, similar
		return
	}
	n := similar - d.similar
	if now.Sub(d.began) < measure || n < enough {
		return
	}
	d.last = float64(candidates-d.candidates) / float64(n)
	if d.first == 0 {
		d.first = d.last
	}
	d.began, d.candidates, d.similar = now, candidates, similar
}

// level is the last measure in times the first; 0 before there are two.
func (d *drift) level() float64 {
	if d.first == 0 {
		return 0
	}
	return d.last / d.first
}

// reset begins anew: the codes have changed.
func (d *drift) reset() { *d = drift{} }
