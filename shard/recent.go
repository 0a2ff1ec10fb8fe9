package shard

import "refrain/feed"

// recent knows the events that were found last. Where partitions have no common order a pair is met from both its sides,
// and a text that is repeated in many records of one turn by each of them: of a thousand copies at once every one would be
// reported up to a thousand times.
//
// An event that is left out is in the outbox or durable already, and what is in the outbox goes before the state does. After
// a restart nothing is known, and events come again.
type recent struct{ new, old map[feed.Hash]struct{} }

// maxRecent bounds each of the two sets: together 1.3 MB a partition.
const maxRecent = 8192

// add reports whether an event was not known.
func (r *recent) add(id feed.Hash) bool {
	if _, known := r.new[id]; known {
		return false
	}
	if _, known := r.old[id]; known {
		return false
	}
	if len(r.new) >= maxRecent {
		r.new, r.old = nil, r.new
	}
	if r.new == nil {
		r.new = make(map[feed.Hash]struct{}, maxRecent)
	}
	r.new[id] = struct{}{}
	return true
}
