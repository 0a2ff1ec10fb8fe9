// Package hamming finds the rows of a table of signatures that lie within a Hamming radius of a query.
//
// The table is stored by word planes: planes[w][row] is word w of the signature of a row, so that a scan reads
// memory straight ahead. The plain Go scan defines what is right; every other kernel must agree with it.
package hamming

// Scan appends to hits the rows whose signature differs from query in at most radius bits, in ascending order, and
// returns the extended slice. planes[w][row] is word w of the signature of row; there are as many planes as words
// of query, at least one, all of one length. A negative radius finds nothing.
func Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	return scanGo(hits, planes, query, radius)
}

// Kernel is one way to do what Scan does.
type Kernel struct {
	Name string
	Scan func(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32
}

// Kernels lists the kernels that this machine can run, the plain Go reference first.
func Kernels() []Kernel {
	return []Kernel{{Name: "go", Scan: scanGo}}
}
