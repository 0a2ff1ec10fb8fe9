package train

import (
	"time"

	"refrain/internal/units"
)

// progress says after each round how far a run is, how long the rest will take, and what the best codes cost so far: in that
// order, and no longer than a line of a terminal.
type progress struct {
	logf    func(format string, args ...any)
	start   time.Time
	rounds  int // in all
	done    int
	minCost float64
}

func (p *progress) round(c Cost) {
	p.done++
	cost := c.PerQuery()
	if p.done == 1 || cost < p.minCost {
		p.minCost = cost
	}
	left := time.Since(p.start) / time.Duration(p.done) * time.Duration(p.rounds-p.done)
	p.logf("round %d of %d, about %v left: %s false candidates a query, best %s",
		p.done, p.rounds, left.Round(time.Second), units.Three(cost), units.Three(p.minCost))
}
