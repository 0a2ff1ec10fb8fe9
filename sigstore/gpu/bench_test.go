//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"refrain/cuda/cudatest"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/gpu"
	"refrain/text"
)

// BenchmarkHostPath is what a search takes of the processor where the device takes no time: kernels do nothing, and find
// nothing. Rows have the sizes of real sentences and lie in 16 blocks; it reports microseconds a query.
//
//	REFRAIN_ROWS=1000000 go test ./sigstore/gpu -run - -bench HostPath
func BenchmarkHostPath(b *testing.B) {
	rows := 100_000
	if s := os.Getenv("REFRAIN_ROWS"); s != "" {
		if _, err := fmt.Sscan(s, &rows); err != nil {
			b.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	sizes := realSizes(b, random)
	for _, t := range []text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}, {Num: 1, Den: 2}} {
		b.Run(fmt.Sprintf("rows=%d/threshold=%.1f", rows, float64(t.Num)/float64(t.Den)), func(b *testing.B) {
			f := cudatest.New(b)
			f.Reset(8<<30, 1, 90, 132)
			d := open(b, f)
			f.Break("popcount")
			bounds := hashcodes.NewBounds(text.Jaccard.At(t), 1)
			x := gpu.New(configOf(d, bounds, 2, nil, os.Stderr).WithMinDeviceCost(1))(nil)
			fill(x, sizes, rows, random)
			for _, batch := range []int{64, 512, 4096} {
				b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { search(b, x, sizes, batch, random) })
			}
			if used, _ := d.Memory(); used < 7*int64(rows) { // of 8 bytes a row
				b.Errorf("%d bytes of the device used: hardly a row is there", used)
			}
			if err := x.(io.Closer).Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// realSizes are the numbers of tokens of tweets and of posts of Weibo, in random order.
func realSizes(b *testing.B, random *rand.Rand) (sizes []int) {
	for _, stream := range []string{ira, weibo} {
		for _, x := range realSentences(b, stream, 20_000) {
			sizes = append(sizes, len(x.Tokens))
		}
	}
	random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// fill adds random rows of the given sizes, one after the other and again from the first.
func fill(x sigstore.Index, sizes []int, rows int, random *rand.Rand) {
	var tokens [hashcodes.MaxSize]uint32
	for i := range rows {
		if i%(rows/16) == 0 && i/(rows/16) < 16 {
			x.Open()
		}
		x.Add(tokens[:sizes[i%len(sizes)]], hashcodes.Signature{random.Uint32(), random.Uint32()})
	}
}

// search asks for batches. The first sends the rows.
func search(b *testing.B, x sigstore.Index, sizes []int, batch int, random *rand.Rand) {
	queries := make([]sigstore.Query, batch)
	for i := range queries {
		queries[i] = sigstore.Query{Size: sizes[random.IntN(len(sizes))],
			Signature: hashcodes.Signature{random.Uint32(), random.Uint32()}}
	}
	x.Search(queries)
	before := processorTime(b)
	for b.Loop() {
		x.Search(queries)
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1e3/float64(b.N)/float64(batch), "µs/query")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
