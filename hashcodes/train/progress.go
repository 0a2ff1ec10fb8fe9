package train

import "time"

// progress says after each round how far a run is, what the best codes cost so far, and how long the rest will take.
type progress struct {
	say    func(format string, args ...any)
	start  time.Time
	rounds int // in all
	done   int
	least  float64
}

func (p *progress) round(ones int, c Cost) {
	p.done++
	cost := c.PerQuery()
	if p.done == 1 || cost < p.least {
		p.least = cost
	}
	left := time.Since(p.start) / time.Duration(p.done) * time.Duration(p.rounds-p.done)
	p.say("round %d of %d, %d %s a token: %.2f false candidates a query, at best %.2f; about %v left",
		p.done, p.rounds, ones, plural(ones, "bit"), cost, p.least, left.Round(time.Second))
}
