//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkHits is what a hit takes of the processor once it has been read back, in a batch of 512 queries and 384 jobs
// that have 1 M rows: nanoseconds.
func BenchmarkHits(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	batch := &Batch{}
	batch.Reset(2, 1, 1)
	for range 512 {
		batch.AddQuery([]uint32{1, 2}, 0)
	}
	var parts []part
	for i := range 384 {
		parts = append(parts, part{job: uint32(i), segment: segment{to: 2604, queries: 512}})
	}
	l := &lane{batch: batch}
	l.number(parts, 2048, 64)
	for _, hits := range []int{1, 15, 150, 1500} { // a query
		l.raw = l.raw[:0]
		for range hits * 512 {
			s := l.segments[random.IntN(len(l.segments))]
			l.raw = append(l.raw, hit{query: random.Uint32N(512), row: s.row + random.Uint32N(s.to)})
		}
		b.Run(fmt.Sprintf("hits=%d", hits), func(b *testing.B) {
			var sum uint32
			for b.Loop() {
				if err := l.show(parts, func(h Hit) { sum += h.Row }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(l.raw)), "ns/hit")
		})
	}
}
