package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// lane is what one scan at a time works with: a stream, tables and room for hits in device memory, and pinned memory to
// read results back into.
type lane struct {
	device     *Device
	stream     uintptr
	start, end uintptr // events around what is timed

	tables, found, hits block
	room                int // hits
	count               pinned[uint64]
	back                pinned[hit]

	// Of the scan under way.
	batch  *Batch
	kernel *kernel
	busy   float64 // seconds

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
	if err := d.call("cuStreamCreate", d.driver.streamCreate(&l.stream, streamPlain)); err != nil {
		return err
	}
	for _, event := range []*uintptr{&l.start, &l.end} {
		if err := d.call("cuEventCreate", d.driver.eventCreate(event, eventBlocking)); err != nil {
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

// launch starts the kernel on some parts of the batch.
func (l *lane) launch(parts []part) error {
	d, f := l.device, l.kernel.function(l.batch.words)
	piece := pieceOf(parts, f.tile, d.processors)
	blocks := l.number(parts, f.tile, piece)
	if l.tooLarge = blocks > maxBlocks || len(l.pages) > maxPages; l.tooLarge {
		return nil
	}
	if err := l.prepare(); err != nil {
		return err
	}
	if err := d.call("cuEventRecord", d.driver.eventRecord(l.start, l.stream)); err != nil {
		return err
	}
	if err := l.launchOn(f, blocks, piece); err != nil {
		return err
	}
	if err := d.call("cuEventRecord", d.driver.eventRecord(l.end, l.stream)); err != nil {
		return err
	}
	return l.readCount()
}

// pageRows is a multiple of every tile, so a page is of one segment.
const pageRows = chunkUnit

// number makes the segments of a launch, for a tile of so many rows and pieces of so many queries: it numbers their units
// and rows. It returns how many units there are.
func (l *lane) number(parts []part, tile, piece int) (units int) {
	l.segments, l.pages = l.segments[:0], l.pages[:0]
	for i := range parts {
		s := parts[i].segment
		s.unit = uint32(units)
		s.pieces = uint32((int(s.queries) + piece - 1) / piece)
		s.row = uint32((len(l.pages) - int(s.from)/pageRows) * pageRows)
		units += s.tiles(tile) * int(s.pieces)
		for range s.tiles(pageRows) {
			l.pages = append(l.pages, uint32(i))
		}
		l.segments = append(l.segments, s)
	}
	return units
}

// prepare brings the tables to the device and has the stream wait for them, and for all rows.
func (l *lane) prepare() error {
	d, tables := l.device, [][]uint32{data(l.segments), l.batch.queries, l.batch.radii}
	if err := l.fit(&l.tables, int64(4*(len(tables[0])+len(tables[1])+len(tables[2])))); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	to := l.tables.at
	for _, table := range tables {
		if err := d.upload(to, table); err != nil {
			return err
		}
		to += uint64(4 * len(table))
	}
	if err := d.awaitUploads(l.stream); err != nil {
		return err
	}
	return d.call("cuMemsetD32Async", d.driver.memsetD32(l.found.at, 0, 2, l.stream))
}

func (l *lane) launchOn(f *function, blocks, piece int) error {
	if l.kernel.name == paper {
		return l.launchPaper(f)
	}
	b := l.batch
	argument := &launch{segments: l.tables.at, hits: l.hits.at, found: l.found.at, room: uint64(l.room),
		count: uint32(len(l.segments)), words: uint32(b.words), piece: uint32(piece)}
	argument.queries = argument.segments + uint64(4*segmentWords*len(l.segments))
	argument.radii = argument.queries + uint64(4*len(b.queries))
	return l.device.enqueue(l.stream, f.handle, uint32(blocks), uint32(gathered+f.shared(b.words)), unsafe.Pointer(argument))
}

// launchPaper has one launch a query, as the paper.
func (l *lane) launchPaper(f *function) error {
	b := l.batch
	for i := range l.segments {
		s := &l.segments[i]
		for index := s.query; index < s.query+s.queries; index++ {
			query := b.queries[int(index)*(b.words+1):][:b.words+1]
			radius := b.radii[s.radii+query[b.words]]
			if int32(radius) < 0 {
				continue
			}
			argument := &paperLaunch{planes: s.planes, hits: l.hits.at, found: l.found.at, room: uint64(l.room),
				stride: s.stride, row: s.row, from: s.from, to: s.to, words: uint32(b.words), radius: radius, queryIndex: index}
			copy(argument.query[:], query[:b.words])
			blocks := (s.to - s.from + threads - 1) / threads
			if err := l.device.enqueue(l.stream, f.handle, blocks, 0, unsafe.Pointer(argument)); err != nil {
				return err
			}
		}
	}
	return nil
}

// peek is the number of hits that are read back together with their number: enough for most scans.
const peek = 4096

func (l *lane) peek() int { return min(peek, l.room, len(l.back.slice)) }

// readCount has the device send the number of hits and the first of them.
func (l *lane) readCount() error {
	d := l.device
	if err := d.call("cuMemcpyDtoHAsync", d.driver.memcpyDtoH(l.count.at, l.found.at, 8, l.stream)); err != nil {
		return err
	}
	return l.read(0, l.peek())
}

// read has the device send hits, beginning at the given one.
func (l *lane) read(first, n int) error {
	d := l.device
	from := l.hits.at + uint64(first)*uint64(hitBytes)
	return d.call("cuMemcpyDtoHAsync", d.driver.memcpyDtoH(l.back.at, from, uintptr(int64(n)*hitBytes), l.stream))
}

func (l *lane) synchronize() error {
	return l.device.call("cuStreamSynchronize", l.device.driver.streamSynchronize(l.stream))
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
	if err := l.launch(parts); err != nil {
		return err
	}
	return l.finish(parts, visit)
}

func (l *lane) halve(parts []part, visit func(Hit)) error {
	a, b, ok := halves(parts)
	if !ok {
		return fmt.Errorf("%w: no room for a single hit", ErrMemory)
	}
	if err := l.compare(a, visit); err != nil {
		return err
	}
	return l.compare(b, visit)
}

// counted waits for the kernel and returns the number of hits: more than there can be where too much was asked at once.
func (l *lane) counted() (uint64, error) {
	if l.tooLarge {
		return math.MaxUint64, nil
	}
	if err := l.synchronize(); err != nil {
		return 0, err
	}
	d := l.device
	var milliseconds float32
	if err := d.call("cuEventElapsedTime", d.driver.eventElapsedTime(&milliseconds, l.start, l.end)); err != nil {
		return 0, err
	}
	l.busy += float64(milliseconds) / 1000
	return l.count.slice[0], nil
}

// collect reads the hits, of which the first are here, and shows them.
func (l *lane) collect(parts []part, found int, visit func(Hit)) error {
	l.raw = append(l.raw[:0], l.back.slice[:min(found, l.peek())]...)
	for len(l.raw) < found {
		n := min(found-len(l.raw), len(l.back.slice))
		if err := l.read(len(l.raw), n); err != nil {
			return err
		}
		if err := l.synchronize(); err != nil {
			return err
		}
		l.raw = append(l.raw, l.back.slice[:n]...)
	}
	return l.show(parts, visit)
}

// moreRoom makes room for so many hits, unless it would be a large part of the budget: rows have to fit, too.
func (l *lane) moreRoom(found uint64) (bool, error) {
	d := l.device
	limit := min(int64(d.sizes.maxHits), d.budget/32/hitBytes)
	if found > uint64(limit) {
		return false, nil
	}
	err := l.makeRoom(int(min(limit, 1<<bits.Len64(found-1))))
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
	return errors.Join(d.release(l.tables), d.release(l.found), d.release(l.hits), l.count.free(d), l.back.free(d),
		d.destroyEvent(l.start), d.destroyEvent(l.end),
		d.call("cuStreamDestroy", d.driver.streamDestroy(l.stream)))
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
		err = errors.Join(err, d.call("cuModuleUnload", d.driver.moduleUnload(module)))
	}
	return err
}
