//go:build !purego

package hamming

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C asm . -pkg hamming -out ../kernels_amd64.s -stubs ../stubs_amd64.go

func machineKernels() []Kernel {
	var list []Kernel
	x := &cpu.X86
	if x.HasAVX2 && x.HasBMI1 && x.HasBMI2 && x.HasPOPCNT {
		list = append(list, Kernel{Name: "avx2", rows: byWords(scanWordAVX2, scanWordsAVX2)})
	}
	if x.HasAVX512F && x.HasAVX512VPOPCNTDQ && x.HasBMI2 && x.HasPOPCNT {
		list = append(list, Kernel{Name: "avx512", rows: byWords(scanWordAVX512, scanWordsAVX512)})
	}
	return list
}

// kernel scans rows from to to and writes the hits to hits, at most room of them. It returns how many it found, and
// the row from which it has to go on: to, unless there was no room for more.
type kernel = func(hits *uint32, room int, planes *[]uint32, words int, query *uint32, radius, from, to int) (found, row int)

// vector is the greatest number of hits that a kernel writes at once.
const vector = 16

// nowhere is where a kernel without room may store nothing, under a mask that lets nothing through. The processor takes
// as long as for a hundred stores if the address does not exist.
var nowhere uint32

// byWords chooses a kernel by the length of the signatures.
func byWords(one, more kernel) scanRows {
	return func(hits []uint32, planes [][]uint32, query []uint32, radius, from, to int) []uint32 {
		run := more
		if len(query) == 1 {
			run = one
		}
		for {
			room := hits[len(hits):cap(hits)]
			out := unsafe.SliceData(room)
			if len(room) == 0 {
				out = &nowhere
			}
			found, row := run(out, len(room), unsafe.SliceData(planes), len(query), unsafe.SliceData(query), radius, from, to)
			hits = hits[:len(hits)+found]
			if row == to {
				return hits
			}
			hits, from = slices.Grow(hits, vector), row
		}
	}
}
