package scan

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"refrain/hashcodes/hamming"
)

// gaps says, by kernel, how much it reads in the time that a pass costs before its first row: rows times the words of
// a signature. Measured as a whole, with jumps that the processor did not foresee: see docs/design.
var gaps = map[string]int{"go": 96, "neon": 384, "avx2": 384, "avx512": 2400}

// gap is the number of rows that are sooner read than passed over.
func gap(kernel string, words int) int {
	return cmp.Or(gaps[kernel], gaps["avx2"]) / words
}

// Cost is what a search costs on this machine, in nanoseconds a query of a batch:
//
//	PerPass · passes + PerRow · rows
//
// Rows are those of the runs that are read, a share of the window that depends on the threshold and the model, and
// passes the runs, at least one for each band. Hits and what memory slower than the second cache adds are left out.
type Cost struct{ PerPass, PerRow float64 }

// Calibrate measures the costs of a kernel, which takes about a millisecond. Other work on the machine makes them
// greater; so the least of several measurements counts. The passes of a search differ in length, which a processor
// foresees less well than these, all alike: there a pass costs up to twice PerPass.
func Calibrate(k hamming.Kernel, words int) Cost {
	const rows = 4096
	memory, x := make([]uint32, words*rows), uint32(1)
	for i := range memory {
		x = x*1664525 + 1013904223
		memory[i] = bits.Reverse32(x)
	}
	planes, query := make([][]uint32, words), make([]uint32, words)
	for w := range planes {
		planes[w] = memory[w*rows : (w+1)*rows]
	}
	long := minTime(k, planes, query, rows, 8)
	short := minTime(k, planes, query, 64, 256)
	perRow := max(0, (long-short)/(rows-64))
	return Cost{PerPass: max(0, short-64*perRow), PerRow: perRow}
}

// minTime is the least time of a pass, in nanoseconds.
func minTime(k hamming.Kernel, planes [][]uint32, query []uint32, rows, passes int) float64 {
	parts := make([]hamming.Part, passes)
	for i := range parts {
		from := i * 7 % (len(planes[0]) - rows + 1)
		parts[i] = hamming.Part{Query: hamming.Query{Signature: query, Radius: 1}, From: from, To: from + rows}
	}
	var times []time.Duration
	for range 12 {
		start := time.Now()
		k.ScanParts(planes, parts)
		times = append(times, time.Since(start))
	}
	return float64(slices.Min(times).Nanoseconds()) / float64(passes)
}
