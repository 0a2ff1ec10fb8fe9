package quota

// account is what one sender has used, and its sources.
//
// The sender chooses the names of its sources, so their number is bounded. Only those are in the map that have taken
// something which their rates have not given back yet: a post of 200 bytes is forgotten after 200 bytes' time. That loses
// nothing, and leaves few. When there are too many all the same, new ones share one account.
type account struct {
	own     buckets
	sources map[uint64]*buckets // by hash of the name
	rest    buckets             // of the sources that found no place
	sweepAt int                 // sources at which idle ones are next looked for
	swept   float64             // when that was last done
}

const (
	minSweep   = 64 // sources: fewer are not worth looking through
	sweepEvery = 1. // second, while the map is full
)

// source is what counts for a source, nil where it has used nothing.
func (a *account) source(hash uint64) *buckets {
	if b := a.sources[hash]; b != nil {
		return b
	}
	if a.rest != (buckets{}) {
		return &a.rest
	}
	return nil
}

// add is what counts for a source from now on.
func (a *account) add(hash uint64, now float64, limit int) *buckets {
	if b := a.sources[hash]; b != nil {
		return b
	}
	a.sweep(now, limit)
	if len(a.sources) >= limit {
		return &a.rest
	}
	b := &buckets{}
	if !a.rest.idle(now) {
		*b = a.rest // it may be one of them: a place does not forgive
	}
	if a.sources == nil {
		a.sources = map[uint64]*buckets{}
	}
	a.sources[hash] = b
	return b
}

// sweep forgets the idle sources when there are twice as many as it left the last time; where the map is full, not more
// often than every second: else each new name would cost a look at all.
func (a *account) sweep(now float64, limit int) {
	n := len(a.sources)
	if n < max(a.sweepAt, minSweep) && n < limit || n >= limit && now < a.swept+sweepEvery {
		return
	}
	for hash, b := range a.sources {
		if b.idle(now) {
			delete(a.sources, hash)
		}
	}
	if a.rest.idle(now) {
		a.rest = buckets{}
	}
	a.swept, a.sweepAt = now, 2*len(a.sources)
}
