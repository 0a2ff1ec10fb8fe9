package gpu

import (
	"errors"
	"runtime"
	"unsafe"

	"refrain/cuda"
	"refrain/hashcodes"
)

// block holds the signatures of a block, by number of tokens.
type block struct {
	words int
	open  bool // may get more rows
	rows  uint32
	bands [hashcodes.MaxSize + 1]*band
	bytes int64 // of the bands
}

// band holds the signatures of the rows with one number of tokens: the first on the device, the others on the host.
type band struct {
	block    *block
	table    *cuda.Rows // nil as long as none is there
	onDevice int        // rows on the device
	planes   [][]uint32 // [word][row], from row on of the band
	numbers  []uint32   // of each row of the band, in the block
	cost     int        // comparisons of the rows on the host
}

func (b *block) add(size int, sig hashcodes.Signature) {
	to := b.bands[size]
	if to == nil {
		to = &band{block: b, planes: make([][]uint32, b.words)}
		b.bands[size] = to
		b.bytes += int64(unsafe.Sizeof(band{})) + 24*int64(b.words)
	}
	before := to.bytes()
	for w, word := range sig {
		to.planes[w] = append(to.planes[w], word)
	}
	to.numbers = append(to.numbers, b.rows)
	b.rows++
	b.bytes += to.bytes() - before
}

// close says that no more rows come: bands that are on the device need no room on the host.
func (b *block) close() {
	b.open = false
	for _, band := range b.bands {
		if band != nil && band.onHost() == 0 {
			band.clear()
		}
	}
}

func (b *block) free() error {
	var errs []error
	for _, band := range b.bands {
		if band != nil && band.table != nil {
			errs = append(errs, band.table.Free())
		}
	}
	return errors.Join(errs...)
}

func (b *block) held() int64 { return b.bytes + int64(unsafe.Sizeof(*b)) }

// onHost is the number of rows that are not on the device.
func (b *band) onHost() int { return len(b.planes[0]) }

func (b *band) bytes() int64 {
	return 4 * int64(cap(b.numbers)+len(b.planes)*cap(b.planes[0]))
}

// fits leaves some of the device's memory to searches: rows that fill all of it could not be asked. A table that grows
// takes as much again as it has, up to some millions of rows.
func (b *band) fits(device *cuda.Device) bool {
	const maxGrowth, minGrowth = 4 << 20, 2048
	used, budget := device.Memory()
	rows := int64(max(b.onHost(), min(b.onDevice, maxGrowth)) + minGrowth)
	return used+4*int64(len(b.planes))*rows <= budget-min(budget/16, 256<<20)
}

// send moves the rows on the host to the device. After an error they are all still on the host.
func (b *band) send(device *cuda.Device) (err error) {
	if b.table == nil {
		if b.table, err = device.NewRows(len(b.planes), 0); err != nil {
			return err
		}
		// A window that nobody needs any more goes without a word.
		runtime.AddCleanup(b, func(table *cuda.Rows) { _ = table.Free() }, b.table)
	}
	if err := b.table.Append(b.planes); err != nil {
		return err
	}
	b.onDevice += b.onHost()
	b.clear()
	return nil
}

// clear drops the rows on the host, and gives their memory back where no more will come.
func (b *band) clear() {
	before := b.bytes()
	b.cost = 0
	for w := range b.planes {
		if b.planes[w] = b.planes[w][:0]; !b.block.open {
			b.planes[w] = nil
		}
	}
	b.block.bytes += b.bytes() - before
}
