package hamming_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

// BenchmarkScan reports comparisons a second of one thread over a million random signatures, of every kernel in turn.
func BenchmarkScan(b *testing.B) {
	for _, bits := range []int{32, 64, 128, 256} {
		planes := hammingtest.Planes(bits/32, 1<<20, rand.New(rand.NewPCG(1, 1)).Uint32)
		for _, radius := range []int{3, 6} {
			for _, queries := range []int{1, 64} {
				for _, kernel := range hamming.Kernels() {
					b.Run(fmt.Sprintf("bits=%d/radius=%d/queries=%d/%s", bits, radius, queries, kernel.Name), func(b *testing.B) {
						benchmark(b, kernel, planes, queries, radius)
					})
				}
			}
		}
	}
}

func benchmark(b *testing.B, kernel hamming.Kernel, planes [][]uint32, queries, radius int) {
	random := rand.New(rand.NewPCG(2, 2))
	block := make([]hamming.Query, queries)
	for i := range block {
		signature := hammingtest.Planes(1, len(planes), random.Uint32)[0]
		block[i] = hamming.Query{Signature: signature, Radius: radius, Hits: make([]uint32, 0, 1024)}
	}
	for b.Loop() {
		for i := range block {
			block[i].Hits = block[i].Hits[:0]
		}
		kernel.ScanBlock(planes, block)
	}
	comparisons := float64(queries) * float64(len(planes[0])) * float64(b.N)
	b.ReportMetric(comparisons/b.Elapsed().Seconds()/1e9, "Gcmp/s")
}

// BenchmarkClock reports how fast the processor ticks: beside it, Gcmp/s becomes comparisons a cycle.
func BenchmarkClock(b *testing.B) {
	const loops = 100_000
	x := uint64(b.N)
	for b.Loop() {
		x = ticks(x, rand.Uint64(), rand.Uint64(), loops)
	}
	b.ReportMetric(8*loops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GHz")
}

// ticks takes eight cycles a loop, since every step waits for the one before.
func ticks(x, y, z uint64, loops int) uint64 {
	for range loops {
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
	}
	return x
}
