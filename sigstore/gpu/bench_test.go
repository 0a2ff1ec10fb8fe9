//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"refrain/cuda"
	"refrain/cuda/cudatest"
	"refrain/detector"
	"refrain/feed"
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
			f.Order(cudatest.Early) // copies are no work of the one who waits
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
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		b.Fatal(err)
	}
	queries := make([]sigstore.Query, batch)
	for i := range queries {
		set := make([]uint64, sizes[random.IntN(len(sizes))])
		for t := range set {
			set[t] = random.Uint64()
		}
		queries[i] = sigstore.Query{Size: len(set), Signature: model.Sign(make(hashcodes.Signature, 2), set),
			Holders: model.Hold(hashcodes.NewHolders(64), set)}
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

// BenchmarkLookup is what a look-up takes of the processor where the device takes no time and finds nothing: with the
// sentence's own codes, the host path, what the host still compares, and what was added since its batch was asked. Half of
// the sentences are looked up and inserted, half inserted alone, which is taken off.
func BenchmarkLookup(b *testing.B) {
	all := distinct(realSentences(b, ira, 400_000))
	for _, batch := range []int{64, 512, 2048} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			for b.Loop() {
				f := cudatest.New(b)
				f.Reset(8<<30, 1, 90, 132)
				device := open(b, f)
				f.Break("popcount")
				f.Order(cudatest.Early) // copies are no work of the one who waits
				d := newPartition(b, device)
				rest := all[copyInto(d, all[:100_000]):]
				var looked, inserted time.Duration
				n := 0
				for ; len(rest) >= 2*batch; rest = rest[2*batch:] {
					looked += timed(b, func() { lookUp(d, rest[:batch]) })
					inserted += timed(b, func() { copyInto(d, rest[batch:2*batch]) })
					n += batch
				}
				b.ReportMetric(float64((looked-inserted).Nanoseconds())/1e3/float64(n), "µs/look-up")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// distinct are the first sentences of their groups.
func distinct(all []feed.Sentence) []feed.Sentence {
	seen := map[feed.Hash]bool{}
	return slices.DeleteFunc(all, func(x feed.Sentence) bool {
		again := seen[x.Group]
		seen[x.Group] = true
		return again
	})
}

func newPartition(b *testing.B, device *cuda.Device) *detector.Partition {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		b.Fatal(err)
	}
	cfg := detector.Default()
	cfg.Threshold, cfg.Span, cfg.Model = text.Threshold{Num: 3, Den: 5}, 87600*time.Hour, model
	cfg.Engine = func(bounds *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return gpu.New(configOf(device, bounds, m.Words(), nil, os.Stderr))
	}
	d, err := detector.NewPartition(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func copyInto(d *detector.Partition, xs []feed.Sentence) int {
	for i := range xs {
		d.Insert(&xs[i])
	}
	return len(xs)
}

func lookUp(d *detector.Partition, xs []feed.Sentence) {
	var expected []*feed.Sentence
	for i := range xs {
		expected = append(expected, &xs[i])
	}
	d.Expect(expected)
	for _, x := range expected {
		d.EachNewMatch(x, func(*feed.Match) {})
		d.Insert(x)
	}
}

func timed(b *testing.B, f func()) time.Duration {
	before := processorTime(b)
	f()
	return processorTime(b) - before
}
