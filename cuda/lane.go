package cuda

import (
	"cmp"
	"errors"
	"math/bits"

	"refrain/cuda/driver"
)

// lane is what one scan at a time works with: a stream, tables and room for hits in device memory, and pinned memory to
// read results back into.
type lane struct {
	device     *Device
	stream     uintptr
	start, end uintptr // events around what is timed

	memory, found, hits block // memory has the tables
	tables              tables
	room                int // hits
	count               pinned[uint64]
	back                pinned[hit]

	// Of the scan under way.
	batch  *Batch
	kernel *kernel
	timed  bool
	busy   float64 // seconds, where it is timed

	// Of its launch.
	segments []segment
	pages    []uint32 // the segment of each pageRows row numbers
	tooLarge bool     // nothing was launched
	raw      []hit
	grouped  grouped
}

func (d *Device) openLanes() error {
	for range cap(d.lanes) {
		l := &lane{device: d}
		d.lanes <- l // also one that is half made, for Close
		if err := l.open(); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) open() (err error) {
	d := l.device
	if err := d.call("cuStreamCreate", d.driver.StreamCreate(&l.stream, driver.StreamPlain)); err != nil {
		return err
	}
	for _, event := range []*uintptr{&l.start, &l.end} {
		if err := d.call("cuEventCreate", d.driver.EventCreate(event, driver.EventBlocking)); err != nil {
			return err
		}
	}
	if l.count, err = allocatePinned[uint64](d, 1); err != nil {
		return err
	}
	if l.back, err = allocatePinned[hit](d, d.sizes.hits); err != nil {
		return err
	}
	if err := l.fit(&l.found, 8); err != nil {
		return err
	}
	return l.makeRoom(d.sizes.hits)
}

// fit makes a block at least so large, with room to grow where there is memory; what it held is lost.
func (l *lane) fit(b *block, bytes int64) error {
	if b.bytes >= bytes {
		return nil
	}
	d := l.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.release(*b); err != nil {
		return err
	}
	*b = block{}
	var err error
	*b, err = d.allocate(1 << max(bits.Len64(uint64(bytes-1)), 12))
	if errors.Is(err, ErrMemory) {
		*b, err = d.allocate(bytes)
	}
	return err
}

// makeRoom has room for so many hits, which stays; where there is no memory for it the room is as before.
func (l *lane) makeRoom(hits int) error {
	d := l.device
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.allocate(hitBytes * int64(hits))
	if err != nil {
		return err
	}
	before := l.hits
	l.hits, l.room = b, hits
	return d.release(before)
}

// finish waits for the launch of some parts and takes its hits. Where there are more than there is room for it does the
// parts again with more room, or, where there is no more, one half after the other: no hit is left out.
func (l *lane) finish(parts []part, visit func(Hit)) error {
	found, err := l.counted()
	if err != nil {
		return err
	}
	if found <= uint64(l.room) {
		return l.collect(parts, int(found), visit)
	}
	grown, err := l.moreRoom(found)
	if err != nil {
		return err
	}
	if grown {
		return l.compare(parts, visit)
	}
	return l.halve(parts, visit)
}

func (l *lane) compare(parts []part, visit func(Hit)) error {
	if err := l.begin(parts); err != nil {
		return err
	}
	return l.finish(parts, visit)
}

// begin launches the kernel. Where memory is short in the middle of it, what is on its way already is waited for: the lane and its
// tables are the next scan's.
func (l *lane) begin(parts []part) error {
	d := l.device
	err := d.within(func() error { return l.launch(parts) })
	if errors.Is(err, ErrMemory) {
		if lost := cmp.Or(d.awaitStream(d.staging.stream), d.awaitStream(l.stream)); lost != nil {
			return lost
		}
	}
	return err
}

func (l *lane) halve(parts []part, visit func(Hit)) error {
	a, b, ok := halves(parts)
	if !ok {
		return l.device.setLost(errTooManyHits)
	}
	if err := l.compare(a, visit); err != nil {
		return err
	}
	return l.compare(b, visit)
}

// moreRoom makes room for so many hits, unless it would be a large part of the budget: rows have to fit, too.
func (l *lane) moreRoom(found uint64) (bool, error) {
	d := l.device
	limit := min(int64(d.sizes.maxHits), d.budget/32/hitBytes)
	if found > uint64(limit) {
		return false, nil
	}
	err := d.within(func() error { return l.makeRoom(int(min(limit, 1<<bits.Len64(found-1)))) })
	if errors.Is(err, ErrMemory) {
		return false, nil
	}
	return err == nil, err
}

func (l *lane) close() error {
	d := l.device
	if l.stream == 0 {
		return nil
	}
	return errors.Join(d.release(l.memory), d.release(l.found), d.release(l.hits), l.count.free(d), l.back.free(d),
		d.destroyEvent(l.start), d.destroyEvent(l.end), d.destroyStream(l.stream))
}

// dismantle gives back all there is. No scan runs.
func (d *Device) dismantle() error {
	var err error
	for r := range d.tables {
		err = errors.Join(err, r.free())
	}
	for range len(d.lanes) {
		err = errors.Join(err, (<-d.lanes).close())
	}
	err = errors.Join(err, d.staging.close(d))
	for _, module := range d.modules {
		err = errors.Join(err, d.await("cuModuleUnload", func() driver.Result { return d.driver.ModuleUnload(module) }))
	}
	return err
}
