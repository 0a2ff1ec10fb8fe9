package cuda

import "unsafe"

// The structs of scan.cuh and paper.cu, field by field.

type segment struct {
	planes                       uint64
	stride, row, from, to        uint32
	unit, query, queries, pieces uint32
	radii                        uint32
	_                            uint32
}

type launch struct {
	tables
	hits, found, room   uint64
	count, words, piece uint32
	_                   uint32
}

// tables are where what a launch reads is in the device's memory.
type tables struct{ segments, queries, weights, radii, apart, held, holders uint64 }

type paperLaunch struct {
	planes, hits, found, room, query, holders uint64
	stride, row, from, to                     uint32
	words, radius, queryIndex, held, apart    uint32
	_                                         uint32
}

// hit is a pair within the radius: the numbers of the query in the batch and of the row in the launch.
type hit struct{ query, row uint32 }

const (
	hitBytes  = int64(unsafe.Sizeof(hit{}))
	threads   = 256       // a block
	maxBlocks = 1<<31 - 1 // a launch
)

// inWords is the same memory in words of 32 bits, in which it is copied to the device.
func inWords[T segment | uint64](slice []T) []uint32 {
	n := len(slice) * int(unsafe.Sizeof(*new(T))) / 4
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(slice))), n)
}

// launch starts the kernel on some parts of the batch.
func (l *lane) launch(parts []part) error {
	d, f := l.device, l.kernel.function(l.batch.words)
	piece := d.pieceOf(parts, f.tile)
	blocks := l.number(parts, f.tile, piece)
	if l.tooLarge = blocks > maxBlocks || len(l.pages) > d.sizes.pages; l.tooLarge {
		return nil
	}
	if err := l.prepare(); err != nil {
		return err
	}
	if err := l.record(l.start); err != nil {
		return err
	}
	if err := l.launchOn(f, blocks, piece); err != nil {
		return err
	}
	if err := l.record(l.end); err != nil {
		return err
	}
	return l.readCount()
}

func (l *lane) record(event uintptr) error {
	if !l.timed {
		return nil
	}
	return l.device.call("cuEventRecord", l.device.driver.EventRecord(event, l.stream))
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
	d, data := l.device, l.data()
	if err := l.fit(&l.memory, bytesOf(data)); err != nil {
		return err
	}
	l.place(data)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.upload(l.memory.at, data...); err != nil {
		return err
	}
	if err := d.awaitUploads(l.stream); err != nil {
		return err
	}
	return d.call("cuMemsetD32Async", d.driver.MemsetD32(l.found.at, 0, 2, l.stream))
}

// data are the tables of a launch. Those of 64-bit words come first, so that all are aligned.
func (l *lane) data() [][]uint32 {
	b := l.batch
	return [][]uint32{inWords(l.segments), inWords(b.holders), b.held, b.queries, b.weights, b.radii, b.apart}
}

func bytesOf(data [][]uint32) (n int64) {
	for _, table := range data {
		n += 4 * int64(len(table))
	}
	return n
}

// place says where the tables lie, which come one behind the other.
func (l *lane) place(data [][]uint32) {
	t, at := &l.tables, l.memory.at
	for i, to := range []*uint64{&t.segments, &t.holders, &t.held, &t.queries, &t.weights, &t.radii, &t.apart} {
		*to = at
		at += 4 * uint64(len(data[i]))
	}
	if !l.batch.holding {
		t.holders = 0
	}
}

func (l *lane) launchOn(f *function, blocks, piece int) error {
	if l.kernel.name == paper {
		return l.launchPaper(f)
	}
	argument := &launch{tables: l.tables, hits: l.hits.at, found: l.found.at, room: uint64(l.room),
		count: uint32(len(l.segments)), words: uint32(l.batch.words), piece: uint32(piece)}
	return l.device.enqueue(l.stream, f.handle, uint32(blocks), uint32(gathered+f.shared(l.batch.words)), unsafe.Pointer(argument))
}

// launchPaper has one launch a query, as the paper.
func (l *lane) launchPaper(f *function) error {
	for i := range l.segments {
		s := &l.segments[i]
		for query := s.query; query < s.query+s.queries; query++ {
			if err := l.launchQuery(f, s, query); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lane) launchQuery(f *function, s *segment, query uint32) error {
	b := l.batch
	_, class := b.query(query)
	radius := b.radii[s.radii+class]
	if int32(radius) < 0 {
		return nil
	}
	argument := &paperLaunch{planes: s.planes, hits: l.hits.at, found: l.found.at, room: uint64(l.room),
		query: l.tables.queries + 4*uint64(b.entry())*uint64(query), holders: l.tables.holders + 8*uint64(b.held[2*query]),
		stride: s.stride, row: s.row, from: s.from, to: s.to, words: uint32(b.words), radius: radius, queryIndex: query,
		held: b.held[2*query+1], apart: b.apart[s.radii+class]}
	blocks := (s.to - s.from + threads - 1) / threads
	return l.device.enqueue(l.stream, f.handle, blocks, 0, unsafe.Pointer(argument))
}

// enqueue launches a function with one argument, behind what the stream has to do already.
func (d *Device) enqueue(stream, function uintptr, blocks, shared uint32, argument unsafe.Pointer) error {
	params := argument
	return d.call("cuLaunchKernel", d.driver.LaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, &params, nil))
}
