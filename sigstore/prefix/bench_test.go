package prefix_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/sigstore"
	"refrain/sigstore/prefix"
	"refrain/text"
)

// streams are read side by side, so many batches of each in turn, so that every stretch has all languages.
var streams = []struct {
	name    string
	batches int
}{
	{"stream/ira_2012-02_2016-08.jsonl.zst", 8},
	{"stream/weibo_ced_2010-2012.jsonl.zst", 3},
	{"stream/weibo_hot_2020-11_2023-12.jsonl.gz", 3},
	{"stream/zhihu_hot_2020-11_2022-12.jsonl.gz", 1},
	{"stream/crisislex_t26_22events.jsonl.gz", 1},
	{"stream/pheme_ottawa_germanwings.jsonl.gz", 1},
}

var loaded []feed.Sentence

// realSentences are the first distinct sentences of all streams: REFRAIN_PREFIX_ROWS of them, 200,000 if it is not set.
func realSentences(b *testing.B) []feed.Sentence {
	b.Helper()
	n := 200_000
	if s := os.Getenv("REFRAIN_PREFIX_ROWS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	if loaded == nil {
		loaded = readSentences(b, n)
	}
	return loaded
}

func readSentences(b *testing.B, n int) (all []feed.Sentence) {
	b.Helper()
	files := make([]*file.Source, len(streams))
	for i, s := range streams {
		f, err := file.Open(file.Default(dataset.File(b, s.name)))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	var splitter text.Splitter
	var scratch []feed.Sentence
	seen := map[feed.Hash]bool{}
	for open := len(files); open > 0; {
		open = 0
		for i, f := range files {
			for range streams[i].batches {
				batch, err := f.Next(context.Background())
				if err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				for k := range batch.Posts {
					scratch, _ = splitter.Sentences(scratch[:0], &batch.Posts[k], 4)
					for _, x := range scratch {
						if seen[x.Group] {
							continue
						}
						seen[x.Group] = true
						x.Tokens = slices.Clone(x.Tokens)
						if all = append(all, x); len(all) == n {
							return all
						}
					}
				}
				if err != nil {
					break
				}
				open++
			}
		}
	}
	return all
}

var thresholds = []text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}}

func mustModel(tb testing.TB, bits, ones int) *hashcodes.Model {
	tb.Helper()
	m, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// row is a sentence as the window hands it to its index.
type row struct {
	tokens []uint32
	known  int // tokens that a row before it holds: numbers are given in order, so these come first
	sig    hashcodes.Signature
}

// number is what the window's dictionary does.
func number(all []feed.Sentence, model *hashcodes.Model) (rows []row, tokens int) {
	numbers := map[uint64]uint32{}
	code := make(hashcodes.Signature, model.Words())
	for i := range all {
		before := uint32(len(numbers))
		r := row{sig: make(hashcodes.Signature, model.Words())}
		for _, id := range all[i].Tokens {
			n, ok := numbers[id]
			if !ok {
				n = uint32(len(numbers))
				numbers[id] = n
			}
			r.tokens = append(r.tokens, n)
			for w, word := range model.Code(code, id) {
				r.sig[w] |= word
			}
		}
		slices.Sort(r.tokens)
		r.known, _ = slices.BinarySearch(r.tokens, before)
		rows = append(rows, r)
	}
	return rows, len(numbers)
}

// window is what an index asks for.
type window struct {
	df     []uint32
	rows   []row
	blocks []int // first row of each, those that were dropped included
	signed *row  // whose tokens were asked for last
}

func (w *window) Frequencies() []uint32 { return w.df }

func (w *window) Signature(tokens []uint32) hashcodes.Signature { return w.signed.sig }

func (w *window) Tokens(r sigstore.Row) []uint32 {
	w.signed = &w.rows[w.blocks[r.Block]+int(r.Row)]
	return w.signed.tokens
}

// grow takes all rows into an index, and searches it for each before, if asked. Blocks close as the window's do.
// span is the number of rows after which blocks are dropped; 0: never.
func grow(b *testing.B, bounds *hashcodes.Bounds, rows []row, tokens, span int, search bool) (sigstore.Index, int) {
	df := make([]uint32, tokens)
	w := &window{df: df, rows: rows, blocks: []int{0}}
	x := prefix.New(bounds)(w)
	x.Open()
	var q [1]sigstore.Query
	hits, open, total := 0, 0, 0
	var blocks []int
	oldest, counted := 0, 0
	b.StopTimer()
	for i := range rows {
		r := &rows[i]
		if i == counted { // rows are counted some at a time, but few of them before they are taken in
			b.StopTimer()
			for end := min(i+1+min(i/16, 1023), len(rows)); counted < end; counted++ {
				for _, t := range rows[counted].tokens {
					df[t]++
				}
			}
			for ; span > 0 && oldest < i-span; oldest++ {
				for _, t := range rows[oldest].tokens {
					df[t]--
				}
			}
			b.StartTimer()
		}
		if search {
			q[0] = sigstore.Query{Tokens: r.tokens[:r.known], Size: len(r.tokens), Signature: r.sig, Hits: q[0].Hits[:0]}
			x.Search(q[:])
			hits += len(q[0].Hits)
		}
		if open >= max(4096, total/2) || span > 0 && open >= span/16 {
			x.Open()
			w.blocks = append(w.blocks, i)
			blocks = append(blocks, open)
			open = 0
			if span > 0 && len(blocks) > 16 {
				x.Drop()
				total -= blocks[0]
				blocks = blocks[1:]
			}
		}
		x.Add(r.tokens, r.sig)
		open++
		total++
	}
	return x, hits
}

// BenchmarkGrow is the index of a window that grows from nothing: rows taken in, without and with a search before
// each. Its unit is ns/row.
func BenchmarkGrow(b *testing.B) {
	model := mustModel(b, 64, 1)
	rows, tokens := number(realSentences(b), model)
	for _, threshold := range thresholds {
		for _, span := range []int{0, len(rows) / 4} {
			for _, search := range []bool{false, true} {
				name := map[bool]string{false: "add", true: "search+add"}[search]
				b.Run(fmt.Sprintf("%s/%s/span=%d", threshold, name, span), func(b *testing.B) {
					bounds := hashcodes.NewBounds(text.Jaccard.At(threshold), model.Ones())
					var bytes int64
					hits := 0
					for b.Loop() {
						runtime.GC()
						var x sigstore.Index
						x, hits = grow(b, bounds, rows, tokens, span, search)
						bytes = x.Bytes()
					}
					n := float64(len(rows))
					b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/row")
					live := n
					if span > 0 {
						live = float64(span)
					}
					b.ReportMetric(float64(bytes)/live, "B/row")
					b.ReportMetric(float64(hits)/n, "hits/row")
					b.ReportMetric(float64(tokens)/n, "tokens/row")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// BenchmarkFill is an index that takes in the rows of a window that has them already. Its units are ns/row, and the
// milliseconds of the row that took longest, of the run in which that was least.
func BenchmarkFill(b *testing.B) {
	model := mustModel(b, 64, 1)
	rows, tokens := number(realSentences(b), model)
	w := &window{df: make([]uint32, tokens), rows: rows, blocks: []int{0}}
	for i := range rows {
		for _, t := range rows[i].tokens {
			w.df[t]++
		}
	}
	best := time.Hour
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		x, longest := prefix.New(hashcodes.NewBounds(text.Jaccard.At(thresholds[0]), model.Ones()))(w), time.Duration(0)
		b.StartTimer()
		x.Open()
		for i := range rows {
			began := time.Now()
			x.Add(rows[i].tokens, rows[i].sig)
			longest = max(longest, time.Since(began))
		}
		best = min(best, longest)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(rows)), "ns/row")
	b.ReportMetric(best.Seconds()*1000, "longest-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDetector is the whole of a look-up and an insert, in a window that grows from nothing. Its unit is ns/row.
func BenchmarkDetector(b *testing.B) {
	all := realSentences(b)
	for _, threshold := range thresholds {
		b.Run(threshold.String(), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				d, err := detector.NewPartition(detector.Config{
					Threshold: threshold, Span: 876000 * time.Hour, Lateness: 5 * time.Minute, Model: mustModel(b, 64, 1), OmitTexts: true,
					Engine: detector.Prefix,
				})
				if err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				b.StartTimer()
				var matches []feed.Match
				for i := range all {
					matches = d.LookupNew(matches[:0], &all[i])
					d.Insert(&all[i])
				}
				c := d.Counts()
				b.ReportMetric(float64(c.Candidates)/float64(c.Lookups), "candidates/row")
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(all)), "ns/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCampaign is the search and insert of the second half of all rows, of which one in so many gets three
// tokens more, the same and new ones. Its unit is ns/row.
func BenchmarkCampaign(b *testing.B) {
	model := mustModel(b, 64, 1)
	rows, tokens := number(realSentences(b), model)
	for _, every := range []int{0, 20, 4, 1} {
		b.Run(fmt.Sprintf("1 of %d", every), func(b *testing.B) {
			rows := campaign(rows, tokens, every, model)
			for b.Loop() {
				b.StopTimer()
				df := make([]uint32, tokens+3)
				x := prefix.New(hashcodes.NewBounds(text.Jaccard.At(thresholds[0]), model.Ones()))(&window{df: df, rows: rows, blocks: []int{0}})
				x.Open()
				var q [1]sigstore.Query
				for i := range rows {
					if i == len(rows)/2 {
						b.StartTimer()
					}
					r := &rows[i]
					q[0] = sigstore.Query{Tokens: r.tokens[:r.known], Size: len(r.tokens), Signature: r.sig, Hits: q[0].Hits[:0]}
					x.Search(q[:])
					for _, t := range r.tokens {
						df[t]++
					}
					x.Add(r.tokens, r.sig)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(rows)/2), "ns/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// campaign puts three tokens behind all into rows of the second half.
func campaign(rows []row, tokens, every int, model *hashcodes.Model) []row {
	rows = slices.Clone(rows)
	code := make(hashcodes.Signature, model.Words())
	for i := len(rows) / 2; every > 0 && i < len(rows); i += every {
		r := &rows[i]
		r.tokens, r.sig = slices.Clone(r.tokens[:r.known]), slices.Clone(r.sig)
		for k := range 3 {
			r.tokens = append(r.tokens, uint32(tokens+k))
			for w, word := range model.Code(code, uint64(1e9)+uint64(k)) {
				r.sig[w] |= word
			}
		}
		r.known = len(r.tokens)
	}
	return rows
}
