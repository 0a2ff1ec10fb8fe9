package cuda

import (
	"math"
	"slices"
)

// peek is the number of hits that are read back together with their number: enough for most scans.
const peek = 4096

func (l *lane) peek() int { return min(peek, l.room, len(l.back.slice)) }

// readCount has the device send the number of hits and the first of them.
func (l *lane) readCount() error {
	d := l.device
	if err := d.call("cuMemcpyDtoHAsync", d.driver.MemcpyDtoH(l.count.at, l.found.at, 8, l.stream)); err != nil {
		return err
	}
	return l.read(0, l.peek())
}

// read has the device send hits, beginning at the given one.
func (l *lane) read(first, n int) error {
	d := l.device
	from := l.hits.at + uint64(first)*uint64(hitBytes)
	return d.call("cuMemcpyDtoHAsync", d.driver.MemcpyDtoH(l.back.at, from, uintptr(int64(n)*hitBytes), l.stream))
}

// counted waits for the kernel and returns the number of hits: more than there can be where too much was asked at once.
func (l *lane) counted() (uint64, error) {
	if l.tooLarge {
		return math.MaxUint64, nil
	}
	if err := l.device.awaitStream(l.stream); err != nil {
		return 0, err
	}
	if l.timed {
		if err := l.device.within(l.clock); err != nil {
			return 0, err
		}
	}
	return l.count.slice[0], nil
}

// clock adds the time of the kernel.
func (l *lane) clock() error {
	d := l.device
	var milliseconds float32
	if err := d.call("cuEventElapsedTime", d.driver.EventElapsedTime(&milliseconds, l.start, l.end)); err != nil {
		return err
	}
	l.busy += float64(milliseconds) / 1000
	return nil
}

// collect reads the hits, of which the first are here, and shows them.
func (l *lane) collect(parts []part, found int, visit func(Hit)) error {
	l.raw = append(l.raw[:0], l.back.slice[:min(found, l.peek())]...)
	for len(l.raw) < found {
		n := min(found-len(l.raw), len(l.back.slice))
		if err := l.device.within(func() error { return l.read(len(l.raw), n) }); err != nil {
			return err
		}
		if err := l.device.awaitStream(l.stream); err != nil {
			return err
		}
		l.raw = append(l.raw, l.back.slice[:n]...)
	}
	err := l.show(parts, visit)
	if found > maxRetained {
		l.raw, l.grouped = nil, grouped{}
	}
	return err
}

// maxRetained is the number of hits for which there is room on the host after a launch.
const maxRetained = 1 << 20

// grouped is the hits of a launch by query.
type grouped struct {
	ends []int    // of each query in rows
	rows []uint32 // numbers in the launch, ascending
}

// group takes hits in any order.
func (g *grouped) group(hits []hit, queries int) {
	g.ends = slices.Grow(g.ends[:0], queries+1)[:queries+1]
	clear(g.ends)
	for _, h := range hits {
		g.ends[h.query+1]++
	}
	for q := 1; q <= queries; q++ {
		g.ends[q] += g.ends[q-1]
	}
	g.rows = slices.Grow(g.rows[:0], len(hits))[:len(hits)]
	for _, h := range hits { // what is the end of the query before becomes its own
		g.rows[g.ends[h.query]] = h.row
		g.ends[h.query]++
	}
	begin := 0
	for _, end := range g.ends[:queries] {
		slices.Sort(g.rows[begin:end])
		begin = end
	}
}

// show calls visit for the hits of a launch.
func (l *lane) show(parts []part, visit func(Hit)) error {
	for _, h := range l.raw {
		if int(h.query) >= l.batch.size() || int(h.row/pageRows) >= len(l.pages) {
			return l.device.setLost(errNoSuchHit)
		}
	}
	l.grouped.group(l.raw, l.batch.size())
	begin := 0
	for q, end := range l.grouped.ends[:l.batch.size()] {
		for _, row := range l.grouped.rows[begin:end] {
			i := l.pages[row/pageRows]
			visit(Hit{Query: uint32(q), Job: parts[i].job, Row: parts[i].first + row - l.segments[i].row})
		}
		begin = end
	}
	return nil
}
