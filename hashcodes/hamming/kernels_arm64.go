//go:build !purego

package hamming

import "unsafe"

func machineKernels() []Kernel { return []Kernel{{Name: "neon", rows: scanNEON}} }

// skipWord returns the first row, of those from from on by steps of 32, that begins a group of 32 rows with a hit, or the
// first that begins none before to.
//
//go:noescape
func skipWord(plane *uint32, query *uint32, radius, from, to int) (row int)

// skipWords does the same for signatures of any length, in groups of 16 rows, and stops after the words that are enough.
//
//go:noescape
func skipWords(planes *[]uint32, words int, query *uint32, radius, from, to int) (row int)

// scanNEON steps over the groups without a hit, which are nearly all, and leaves the others to the plain Go scan.
func scanNEON(hits []uint32, planes [][]uint32, query []uint32, radius, from, to int) []uint32 {
	const group = 32
	for from < to {
		if len(query) == 1 {
			from = skipWord(unsafe.SliceData(planes[0]), unsafe.SliceData(query), radius, from, to)
		} else {
			from = skipWords(unsafe.SliceData(planes), len(query), unsafe.SliceData(query), radius, from, to)
		}
		hits = scanGo(hits, planes, query, radius, from, min(from+group, to))
		from += group
	}
	return hits
}
