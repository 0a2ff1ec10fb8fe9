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
	segments, queries, radii, hits, found, room uint64
	count, words, piece                         uint32
	_                                           uint32
}

type paperLaunch struct {
	planes, hits, found, room uint64
	stride, row, from, to     uint32
	words, radius, queryIndex uint32
	query                     [maxWords]uint32
	_                         uint32
}

// hit is a pair within the radius: the numbers of the query in the batch and of the row in the launch.
type hit struct{ query, row uint32 }

const (
	segmentWords = int(unsafe.Sizeof(segment{}) / 4)
	hitBytes     = int64(unsafe.Sizeof(hit{}))
	threads      = 256       // a block
	maxBlocks    = 1<<31 - 1 // a launch
)

// data is segments as they are copied to the device.
func data(segments []segment) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(segments))), len(segments)*segmentWords)
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
	return l.device.call("cuEventRecord", l.device.driver.eventRecord(event, l.stream))
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
	signature, class := b.query(query)
	radius := b.radii[s.radii+class]
	if int32(radius) < 0 {
		return nil
	}
	argument := &paperLaunch{planes: s.planes, hits: l.hits.at, found: l.found.at, room: uint64(l.room),
		stride: s.stride, row: s.row, from: s.from, to: s.to, words: uint32(b.words), radius: radius, queryIndex: query}
	copy(argument.query[:], signature)
	blocks := (s.to - s.from + threads - 1) / threads
	return l.device.enqueue(l.stream, f.handle, blocks, 0, unsafe.Pointer(argument))
}

// enqueue launches a function with one argument, behind what the stream has to do already.
func (d *Device) enqueue(stream, function uintptr, blocks, shared uint32, argument unsafe.Pointer) error {
	params := argument
	return d.call("cuLaunchKernel", d.driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, &params, nil))
}
