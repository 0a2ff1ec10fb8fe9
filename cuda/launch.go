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
	threads      = 256                // a block
	maxBlocks    = 1<<31 - 1          // a launch
	maxPages     = 1 << 32 / pageRows // a launch: row numbers have 32 bits
)

// data is segments as they are copied to the device.
func data(segments []segment) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(segments))), len(segments)*segmentWords)
}

// enqueue launches a function with one argument, behind what the stream has to do already.
func (d *Device) enqueue(stream, function uintptr, blocks, shared uint32, argument unsafe.Pointer) error {
	params := argument
	return d.call("cuLaunchKernel", d.driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, &params, nil))
}
