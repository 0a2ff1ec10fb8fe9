package cuda

import "unsafe"

// The structs of scan.cuh and paper.cu, field by field.

type segment struct {
	planes                       uint64
	stride, row, from, to        uint32
	unit, query, queries, pieces uint32
}

type launch struct {
	segments, queries, hits, found, room uint64
	count, words, piece                  uint32
	_                                    uint32
}

type paperLaunch struct {
	planes, hits, found, room uint64
	stride, row, from, to     uint32
	words, radius, queryIndex uint32
	query                     [maxWords]uint32
	_                         uint32
}

// hit is a pair within the radius: the index of the query among those of the launch, and the row of its table.
type hit struct{ query, row uint32 }

const (
	segmentWords = uint32(unsafe.Sizeof(segment{}) / 4)
	hitBytes     = int64(unsafe.Sizeof(hit{}))
	threads      = 256       // a block
	maxBlocks    = 1<<31 - 1 // a launch
)

// data is the segment as it is copied to the device.
func (s *segment) data() []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(s)), segmentWords) }

// enqueue launches a function with one argument, behind what the stream has to do already.
func (d *Device) enqueue(stream, function uintptr, blocks, shared uint32, argument unsafe.Pointer) error {
	params := argument
	return d.call("cuLaunchKernel", d.driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, &params, nil))
}
