package cuda

import (
	"errors"
	"fmt"
	"math/bits"
	"unsafe"
)

// lane is what one scan at a time works with: a stream, tables and room for hits in device memory, and pinned memory to
// read results back into.
type lane struct {
	device     *Device
	stream     uintptr
	start, end uintptr // events around what is timed
	busy       float64 // seconds, of this scan

	queries, segments, found, hits block
	room                           int // hits
	count                          pinned[uint64]
	back                           pinned[hit]
	plan                           plan
	numbered                       []segment
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

// makeRoom has room for exactly so many hits; where there is no memory for them the room stays as it was.
func (l *lane) makeRoom(hits int) error {
	if l.room == hits {
		return nil
	}
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

// scan does the jobs of each width of signatures in one launch, and in more where the queries are too many for one.
func (l *lane) scan(jobs []Job, chunks [][]chunk, k *kernel) error {
	var done [maxWords + 1]bool
	for i := range jobs {
		words := jobs[i].Rows.words
		if done[words] {
			continue
		}
		done[words] = true
		if err := l.scanWidth(words, jobs, chunks, k); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) scanWidth(words int, jobs []Job, chunks [][]chunk, k *kernel) error {
	if k == nil {
		k = l.device.kernelFor(words)
	}
	p := &l.plan
	p.reset()
	p.words = words
	maxQueries := max(l.device.sizes.queries/(words+1), 1) // queries a launch
	for i, job := range jobs {
		if job.Rows.words != words {
			continue
		}
		for queries := job.Queries; len(queries) > 0; {
			if len(p.owners) >= maxQueries {
				if err := l.run(k); err != nil {
					return err
				}
				p.reset()
			}
			n := min(maxQueries-len(p.owners), len(queries))
			p.add(chunks[i], job.From, job.To, queries[:n])
			queries = queries[n:]
		}
	}
	return l.run(k)
}

// run does the plan.
func (l *lane) run(k *kernel) error {
	p := &l.plan
	if len(p.segments) == 0 {
		return nil
	}
	if err := l.fit(&l.queries, int64(4*len(p.queries))); err != nil {
		return err
	}
	if err := l.upload(l.queries.at, p.queries); err != nil {
		return err
	}
	return errors.Join(l.compare(k, p.segments), l.shrink())
}

// shrink gives back the room that a flood of hits has needed.
func (l *lane) shrink() error {
	if l.room <= l.device.sizes.hits {
		return nil
	}
	if err := l.makeRoom(l.device.sizes.hits); !errors.Is(err, ErrMemory) {
		return err
	}
	return nil // not even for that: another scan will give it back
}

func (l *lane) upload(to uint64, words []uint32) error {
	d := l.device
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.upload(to, words)
}

// compare does some segments of the plan and takes their hits. Where there are more than there is room for it does them
// again with more room, or, where there is no more, one half after the other: no hit is left out.
func (l *lane) compare(k *kernel, segments []segment) error {
	found, err := l.launch(k, segments)
	if err != nil {
		return err
	}
	if found <= uint64(l.room) {
		return l.distribute(int(found))
	}
	grown, err := l.moreRoom(found)
	if err != nil {
		return err
	}
	if grown {
		return l.compare(k, segments)
	}
	return l.divide(k, segments)
}

// moreRoom makes room for so many hits where the budget has it.
func (l *lane) moreRoom(found uint64) (bool, error) {
	if found > uint64(l.device.sizes.maxHits) {
		return false, nil
	}
	err := l.makeRoom(int(found))
	if errors.Is(err, ErrMemory) {
		return false, nil
	}
	return err == nil, err
}

func (l *lane) divide(k *kernel, segments []segment) error {
	a, b, ok := halves(segments)
	if !ok {
		return fmt.Errorf("%w: no room for a single hit", ErrMemory)
	}
	if err := l.compare(k, a); err != nil {
		return err
	}
	return l.compare(k, b)
}

// launch starts the kernel, waits for it, and returns the number of hits. As many as there is room for are in device
// memory, the first of them already in pinned memory.
func (l *lane) launch(k *kernel, segments []segment) (uint64, error) {
	d, f := l.device, k.function(l.plan.words)
	piece := pieceOf(segments, f.tile, d.processors)
	l.numbered = append(l.numbered[:0], segments...)
	blocks := number(l.numbered, f.tile, piece)
	if blocks > maxBlocks {
		return ^uint64(0), nil // as if there were too many hits: so the work is cut in two
	}
	if err := l.prepare(); err != nil {
		return 0, err
	}
	if err := d.call("cuEventRecord", d.driver.eventRecord(l.start, l.stream)); err != nil {
		return 0, err
	}
	if err := l.launchOn(k, f, blocks, piece); err != nil {
		return 0, err
	}
	if err := d.call("cuEventRecord", d.driver.eventRecord(l.end, l.stream)); err != nil {
		return 0, err
	}
	return l.counted()
}

// prepare brings the segments to the device and has the stream wait for them, and for all rows.
func (l *lane) prepare() error {
	d := l.device
	data := make([]uint32, 0, len(l.numbered)*int(segmentWords))
	for i := range l.numbered {
		data = append(data, l.numbered[i].data()...)
	}
	if err := l.fit(&l.segments, int64(4*len(data))); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.upload(l.segments.at, data); err != nil {
		return err
	}
	if err := d.awaitUploads(l.stream); err != nil {
		return err
	}
	return d.call("cuMemsetD32Async", d.driver.memsetD32(l.found.at, 0, 2, l.stream))
}

func (l *lane) launchOn(k *kernel, f *function, blocks, piece int) error {
	if k.name == paper {
		return l.launchPaper(f)
	}
	argument := &launch{segments: l.segments.at, queries: l.queries.at, hits: l.hits.at, found: l.found.at,
		room:  uint64(l.room),
		count: uint32(len(l.numbered)), words: uint32(l.plan.words), piece: uint32(piece)}
	return l.device.enqueue(l.stream, f.handle, uint32(blocks), uint32(f.shared(l.plan.words)), unsafe.Pointer(argument))
}

// launchPaper has one launch a query, as the paper.
func (l *lane) launchPaper(f *function) error {
	for _, s := range l.numbered {
		for i := range s.queries {
			queryIndex := s.query + i
			query := l.plan.queries[int(queryIndex)*(l.plan.words+1):][:l.plan.words+1]
			argument := &paperLaunch{planes: s.planes, hits: l.hits.at, found: l.found.at, room: uint64(l.room),
				stride: s.stride, row: s.row, from: s.from, to: s.to, words: uint32(l.plan.words), radius: query[l.plan.words],
				queryIndex: queryIndex}
			copy(argument.query[:], query[:l.plan.words])
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

// counted waits for the kernel.
func (l *lane) counted() (uint64, error) {
	d := l.device
	if err := d.call("cuMemcpyDtoHAsync", d.driver.memcpyDtoH(l.count.at, l.found.at, 8, l.stream)); err != nil {
		return 0, err
	}
	if err := l.fetch(0, min(peek, l.room, len(l.back.slice))); err != nil {
		return 0, err
	}
	var milliseconds float32
	if err := d.call("cuEventElapsedTime", d.driver.eventElapsedTime(&milliseconds, l.start, l.end)); err != nil {
		return 0, err
	}
	l.busy += float64(milliseconds) / 1000
	return l.count.slice[0], nil
}

// fetch reads hits back, beginning at the given one, and waits for them.
func (l *lane) fetch(first, n int) error {
	d := l.device
	from := l.hits.at + uint64(first)*uint64(hitBytes)
	if err := d.call("cuMemcpyDtoHAsync", d.driver.memcpyDtoH(l.back.at, from, uintptr(int64(n)*hitBytes),
		l.stream)); err != nil {
		return err
	}
	return d.call("cuStreamSynchronize", d.driver.streamSynchronize(l.stream))
}

// distribute gives the hits to their queries.
func (l *lane) distribute(found int) error {
	fetched := min(peek, l.room, len(l.back.slice)) // as counted has fetched
	for done := 0; ; {
		n := min(fetched, found-done)
		for _, h := range l.back.slice[:n] {
			if int(h.query) >= len(l.plan.owners) {
				return l.device.setLost(errors.New("a hit of a query that there is not"))
			}
			q := l.plan.owners[h.query]
			q.Hits = append(q.Hits, h.row)
		}
		if done += n; done == found {
			return nil
		}
		fetched = min(found-done, len(l.back.slice))
		if err := l.fetch(done, fetched); err != nil {
			return err
		}
	}
}

func (l *lane) close() error {
	d := l.device
	if l.stream == 0 {
		return nil
	}
	return errors.Join(d.release(l.queries), d.release(l.segments), d.release(l.found), d.release(l.hits),
		l.count.free(d), l.back.free(d), d.destroyEvent(l.start), d.destroyEvent(l.end),
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
