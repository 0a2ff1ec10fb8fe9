// Package hamming finds the rows of a table of signatures that lie within a Hamming radius of a query.
//
// The table is stored by word planes: planes[w][row] is word w of the signature of a row, so that a scan reads
// memory straight ahead. The plain Go scan defines what is right; every other kernel must agree with it.
//
// The build tag purego leaves the plain Go scan alone.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package hamming

// Scan appends to hits the rows whose signature differs from query in at most radius bits, in ascending order, and
// returns the extended slice. planes[w][row] is word w of the signature of row; there are as many planes as words
// of query, at least one, all of one length. A negative radius finds nothing.
func Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	return best.Scan(hits, planes, query, radius)
}

// Query is one of many searches of the same table. Its hits are appended to Hits.
type Query struct {
	Signature []uint32
	Radius    int
	Hits      []uint32
}

// ScanBlock does for each query what Scan does. It takes all queries through a piece of the table before it goes on to
// the next, so that memory is read once for all of them.
func ScanBlock(planes [][]uint32, queries []Query) {
	best.ScanBlock(planes, queries)
}

// Part is a query of the rows From to To of a table alone, To not among them.
type Part struct {
	Query
	From, To int
}

// ScanParts is ScanBlock where every query has rows of its own.
func ScanParts(planes [][]uint32, parts []Part) {
	best.ScanParts(planes, parts)
}

// Kernel is one way to do what Scan, ScanBlock and ScanParts do.
type Kernel struct {
	Name string
	rows scanRows
}

// scanRows scans rows from to to. The radius is between 0 and the number of bits.
type scanRows func(hits []uint32, planes [][]uint32, query []uint32, radius, from, to int) []uint32

// Kernels lists the kernels that this machine can run: the plain Go reference first, the one to use last.
func Kernels() []Kernel {
	return append([]Kernel{{Name: "go", rows: scanGo}}, machineKernels()...)
}

var best = func() Kernel {
	all := Kernels()
	return all[len(all)-1]
}()

// longest is the number of rows that a kernel scans at most before it comes back, a few microseconds' worth: the
// garbage collector cannot stop a goroutine inside assembly.
const longest = 1 << 16

// Scan is hamming.Scan by this kernel.
func (k Kernel) Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	check(planes, query)
	return k.scan(hits, planes, query, radius, 0, len(planes[0]))
}

// ScanBlock is hamming.ScanBlock by this kernel.
func (k Kernel) ScanBlock(planes [][]uint32, queries []Query) {
	for i := range queries {
		check(planes, queries[i].Signature)
	}
	tile := tileRows(len(planes))
	for from := 0; from < len(planes[0]); from += tile {
		to := min(from+tile, len(planes[0]))
		for i := range queries {
			q := &queries[i]
			q.Hits = k.scan(q.Hits, planes, q.Signature, q.Radius, from, to)
		}
	}
}

// ScanParts is hamming.ScanParts by this kernel.
func (k Kernel) ScanParts(planes [][]uint32, parts []Part) {
	for i := range parts {
		check(planes, parts[i].Signature)
		if from, to := parts[i].From, parts[i].To; from < 0 || to < from || to > len(planes[0]) {
			panic("hamming: rows that the table does not have")
		}
	}
	tile := tileRows(len(planes))
	for from := 0; from < len(planes[0]); from += tile {
		for i := range parts {
			p := &parts[i]
			p.Hits = k.scan(p.Hits, planes, p.Signature, p.Radius, max(from, p.From), min(from+tile, p.To))
		}
	}
}

// tileRows is the number of rows that are compared with all queries before the next rows: 24 KiB of signatures, which
// stay in the nearest cache, and more of wide ones, whose first words are mostly enough.
func tileRows(words int) int { return max(24<<10/(4*words), 1024) }

func (k Kernel) scan(hits []uint32, planes [][]uint32, query []uint32, radius, from, to int) []uint32 {
	if radius < 0 {
		return hits
	}
	radius = min(radius, 32*len(query)) // so that it fits the 32 bits of a lane
	for ; from < to; from += longest {
		hits = k.rows(hits, planes, query, radius, from, min(from+longest, to))
	}
	return hits
}

func check(planes [][]uint32, query []uint32) {
	if len(query) == 0 || len(planes) != len(query) {
		panic("hamming: want one plane for each word of the query, and at least one")
	}
	for _, plane := range planes[1:] {
		if len(plane) != len(planes[0]) {
			panic("hamming: planes of different length")
		}
	}
}
