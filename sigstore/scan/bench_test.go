package scan_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/sigstore"
	"refrain/sigstore/scan"
	"refrain/text"
)

// files are streams in several languages, the smallest first.
var files = []string{
	"crisislex_t26_22events.jsonl.gz", "zhihu_hot_2020-11_2022-12.jsonl.gz", "weibo_ced_2010-2012.jsonl.zst",
	"ira_2012-02_2016-08.jsonl.zst",
}

// sets are the token sets of distinct sentences of data/stream, in random order: 1,030,791 if all is read.
func sets(tb testing.TB, minSets int) (all [][]uint64) {
	tb.Helper()
	seen := map[feed.Hash]bool{}
	for i, name := range files {
		target := len(all) + (minSets-len(all))/(len(files)-i)
		if minSets > 200_000 {
			target = 1 << 30
		}
		f, err := file.Open(file.Default(dataset.File(tb, "stream/"+name)))
		if err != nil {
			tb.Fatal(err)
		}
		all = readSets(tb, f, all, target, seen)
		f.Close()
	}
	if len(all) < minSets {
		tb.Fatalf("%d sentences, want %d", len(all), minSets)
	}
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func readSets(tb testing.TB, f *file.Source, all [][]uint64, target int, seen map[feed.Hash]bool) [][]uint64 {
	var s text.Splitter
	var sentences []feed.Sentence
	for len(all) < target {
		batch, err := f.Next(context.Background())
		if err != nil && !errors.Is(err, io.EOF) {
			tb.Fatal(err)
		}
		for i := range batch.Posts {
			sentences, _ = s.Sentences(sentences[:0], &batch.Posts[i], 4)
			for k := range sentences {
				if x := &sentences[k]; !seen[x.Group] {
					seen[x.Group] = true
					all = append(all, append([]uint64(nil), x.Tokens...))
				}
			}
		}
		if err != nil {
			break
		}
	}
	return all
}

const (
	blocks  = 16
	queries = 4096
	turn    = 64
)

// signed are the queries and rows of a window.
type signed struct {
	sizes      []int
	signatures []hashcodes.Signature
}

func sign(tb testing.TB, sets [][]uint64, bits int) (s signed) {
	m, err := hashcodes.NewMD5(bits, 1)
	if err != nil {
		tb.Fatal(err)
	}
	for _, tokens := range sets {
		s.sizes = append(s.sizes, len(tokens))
		s.signatures = append(s.signatures, m.Sign(make(hashcodes.Signature, m.Words()), tokens))
	}
	return s
}

var tokens [hashcodes.MaxSize]uint32

// fill puts all but the first rows, which are the queries, into blocks of a sixteenth.
func (s *signed) fill(x sigstore.Index) {
	rows := len(s.sizes) - queries
	for b := range blocks {
		x.Open()
		for i := queries + rows*b/blocks; i < queries+rows*(b+1)/blocks; i++ {
			x.Add(tokens[:s.sizes[i]], s.signatures[i])
		}
	}
}

func (s *signed) queries() (list []sigstore.Query) {
	for i := range queries {
		list = append(list, sigstore.Query{Size: s.sizes[i], Signature: s.signatures[i]})
	}
	return list
}

// BenchmarkSearch looks sentences of data/stream up in a window of others, in 16 blocks. It reports microseconds a
// query; the share of all pairs that are compared; comparisons a second, those done and those that a scan of all rows
// would have done in that time; passes and hits a query. "first" is the engine as it was at first.
//
//	REFRAIN_ROWS=1000000 go test ./sigstore/scan -run - -bench Search
func BenchmarkSearch(b *testing.B) {
	windows := []int{10_000, 100_000}
	if s := os.Getenv("REFRAIN_ROWS"); s != "" {
		windows = windows[:1]
		if _, err := fmt.Sscan(s, &windows[0]); err != nil {
			b.Fatal(err)
		}
	}
	for _, rows := range windows {
		all := sets(b, rows+queries)[:rows+queries]
		for _, bits := range []int{32, 64, 128} {
			s := sign(b, all, bits)
			for _, t := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 4, Den: 5}, {Num: 9, Den: 10}} {
				b.Run(fmt.Sprintf("rows=%d/bits=%d/threshold=%.1f", rows, bits, float64(t.Num)/float64(t.Den)),
					func(b *testing.B) { compareEngines(b, &s, t, bits/32) })
			}
		}
	}
}

func compareEngines(b *testing.B, s *signed, t text.Threshold, words int) {
	bounds := hashcodes.NewBounds(text.Jaccard.At(t), 1)
	old := newFirst(bounds, words)
	s.fill(old)
	b.Run("first", func(b *testing.B) { search(b, s, old, 1) })
	for _, kernel := range hamming.Kernels() {
		c := scan.Default()
		c.Bounds, c.Words, c.Kernel = bounds, words, kernel
		x := c.Engine()(nil)
		s.fill(x)
		for _, batch := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/batch=%d", kernel.Name, batch), func(b *testing.B) { search(b, s, x, batch) })
		}
	}
}

// BenchmarkWorkers is a batch of 64 shared among goroutines.
func BenchmarkWorkers(b *testing.B) {
	rows := 100_000
	if s := os.Getenv("REFRAIN_ROWS"); s != "" {
		fmt.Sscan(s, &rows)
	}
	s := sign(b, sets(b, rows+queries)[:rows+queries], 64)
	for _, t := range []text.Threshold{{Num: 3, Den: 5}, {Num: 4, Den: 5}} {
		for _, workers := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("threshold=%.1f/workers=%d", float64(t.Num)/float64(t.Den), workers), func(b *testing.B) {
				c := scan.Default()
				c.Bounds, c.Words, c.Workers = hashcodes.NewBounds(text.Jaccard.At(t), 1), 2, workers
				x := c.Engine()(nil)
				s.fill(x)
				search(b, &s, x, 64)
			})
		}
	}
}

// BenchmarkAdd takes 100,000 rows in, all of one block, and then 1,000 of the next, while it is sealed. Of several runs
// it reports the least: nanoseconds a row, milliseconds for the last 1,000, and for the longest Add of a run.
func BenchmarkAdd(b *testing.B) {
	all := sets(b, 101_000)
	for _, bits := range []int{32, 64, 128} {
		s := sign(b, all, bits)
		b.Run(fmt.Sprintf("bits=%d", bits), func(b *testing.B) {
			best := [3]time.Duration{time.Hour, time.Hour, time.Hour}
			for b.Loop() {
				for i, d := range s.timeAdds(bits / 32) {
					best[i] = min(best[i], d)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(best[0].Nanoseconds())/101_000, "ns/row")
			b.ReportMetric(best[1].Seconds()*1e3, "ms-to-seal-the-rest")
			b.ReportMetric(best[2].Seconds()*1e3, "ms-longest")
		})
	}
}

// timeAdds times all rows, those of the second block, and the longest of all.
func (s *signed) timeAdds(words int) (times [3]time.Duration) {
	x := scan.New(hashcodes.NewBounds(fourFifths, 1), words)(nil)
	start := time.Now()
	second, last := start, start
	for i := range 101_000 {
		if i == 0 || i == 100_000 {
			second = last
			x.Open()
		}
		x.Add(tokens[:s.sizes[i]], s.signatures[i])
		now := time.Now()
		times[2], last = max(times[2], now.Sub(last)), now
	}
	times[0], times[1] = last.Sub(start), last.Sub(second)
	return times
}

// search takes the queries in turn, in batches. The time is the median over turns of 64 queries, and beside it
// the least: what it is when the machine does nothing else.
func search(b *testing.B, s *signed, x sigstore.Index, batch int) {
	all, hits, turns := s.queries(), 0, []time.Duration(nil)
	for b.Loop() {
		at := len(turns) * turn % queries
		start := time.Now()
		for from := at; from < at+turn; from += batch {
			part := all[from : from+batch]
			for i := range part {
				part[i].Hits = part[i].Hits[:0]
			}
			x.Search(part)
			for i := range part {
				hits += len(part[i].Hits)
			}
		}
		turns = append(turns, time.Since(start))
	}
	slices.Sort(turns)
	b.ReportMetric(turns[0].Seconds()/turn*1e6, "least-µs/query")
	report(b, s, x, all, turns[len(turns)/2].Seconds()/turn, float64(hits)/turn/float64(len(turns)))
}

func report(b *testing.B, s *signed, x sigstore.Index, all []sigstore.Query, seconds, hits float64) {
	rows := float64(len(s.sizes) - queries)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(seconds*1e6, "µs/query")
	b.ReportMetric(hits, "hits/query")
	b.ReportMetric(rows/seconds/1e9, "G-pairs/s")
	if _, ok := x.(*first); ok {
		return
	}
	calls, comparisons := scan.Work(x, all)
	done := float64(comparisons) / queries
	b.ReportMetric(float64(calls)/queries, "passes/query")
	b.ReportMetric(done/rows, "share")
	b.ReportMetric(done/seconds/1e9, "Gcmp/s")
}
