package auto

// demand is how many queries would come at once if they were not asked a few at a time. It is found out by asking as many as
// come, for some time, which makes look-ups a little dearer meanwhile.
type demand struct {
	of                int // queries at once, at most
	left              int // queries to observe
	searches, queries int
}

// observedQueries are enough to tell batches of one from those of hundreds.
const observedQueries = 1024

// observeFor begins to observe for an engine that takes so many queries, unless that is under way.
func (d *demand) observeFor(batch int) {
	if d.left <= 0 {
		*d = demand{of: batch, left: observedQueries}
	}
}

func (d *demand) batch() int {
	if d.left <= 0 {
		return 0
	}
	return d.of
}

// observe counts a search; false: it is not one of those.
func (d *demand) observe(queries int) bool {
	if d.left <= 0 {
		return false
	}
	d.left -= queries
	d.searches++
	d.queries += queries
	return true
}

// average is 0 as long as it has not been observed to the end.
func (d *demand) average() float64 {
	if d.left > 0 || d.searches == 0 {
		return 0
	}
	return float64(d.queries) / float64(d.searches)
}
