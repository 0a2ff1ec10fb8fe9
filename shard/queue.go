package shard

import "slices"

// queue holds the records that some owned partition has still to look up, by partition, in order.
type queue struct {
	parts [][]*item
	fresh []*item // those without ends
	bytes int
}

func newQueue(partitions int) queue { return queue{parts: make([][]*item, partitions)} }

// push adds x unless everybody has looked it up already: then it was read for its rows alone.
func (u *queue) push(x *item, lookedUp int64) {
	if x.position < lookedUp {
		return
	}
	u.parts[x.partition] = append(u.parts[x.partition], x)
	u.fresh = append(u.fresh, x)
	u.bytes += x.size
}

func (u *queue) setEnds(ends []int64) {
	for _, x := range u.fresh {
		x.ends = ends
	}
	clear(u.fresh)
	u.fresh = u.fresh[:0]
}

// drop drops what everybody has looked up, and returns it.
func (u *queue) drop(p int, lookedUp int64) (done []*item) {
	items := u.parts[p]
	n := 0
	for n < len(items) && items[n].position < lookedUp {
		u.bytes -= items[n].size
		n++
	}
	done = slices.Clone(items[:n])
	clear(items[:n])
	u.parts[p] = items[n:]
	return done
}

// oldest is the oldest stamp that waits; false when nothing does.
func (u *queue) oldest() (stamp int64, waits bool) {
	for _, items := range u.parts {
		if len(items) > 0 && (!waits || items[0].stamp < stamp) {
			stamp, waits = items[0].stamp, true
		}
	}
	return stamp, waits
}
