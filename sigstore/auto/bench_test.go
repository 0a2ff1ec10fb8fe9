package auto

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/sigstore"
	"refrain/text"
)

// distinct are the first n sentences, every fifth of them Chinese, of real feeds with token sets of their own.
func distinct(tb testing.TB, n int) (all []*feed.Sentence) {
	tb.Helper()
	all = append(all, read(tb, "stream/weibo_ced_2010-2012.jsonl.zst", n/5)...)
	return append(all, read(tb, "stream/ira_2012-02_2016-08.jsonl.zst", n-len(all))...)
}

func read(tb testing.TB, name string, n int) (all []*feed.Sentence) {
	tb.Helper()
	f, err := file.Open(file.Default(dataset.File(tb, name)))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var s text.Splitter
	seen := map[feed.Hash]bool{}
	for err == nil && len(all) < n {
		var batch ingest.Batch
		batch, err = f.Next(context.Background())
		for i := range batch.Posts {
			some, _ := s.Sentences(nil, &batch.Posts[i], 4)
			for i := range some {
				if !seen[some[i].Group] {
					seen[some[i].Group] = true
					all = append(all, &some[i])
				}
			}
		}
	}
	return all[:min(n, len(all))]
}

func rows() int {
	if n, err := strconv.Atoi(os.Getenv("REFRAIN_ROWS")); err == nil {
		return n
	}
	return 100_000
}

// BenchmarkCosts measures a look-up with every engine beside what the model says, and what it says it from. Where two
// engines cost about the same, either is a good choice.
func BenchmarkCosts(b *testing.B) {
	const queries = 1920
	all := distinct(b, rows()+queries)
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		b.Fatal(err)
	}
	ask := all[len(all)-queries:]
	for n := rows(); n >= 1000; n /= 10 {
		for _, theta := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 7, Den: 10}, {Num: 4, Den: 5},
			{Num: 9, Den: 10}} {
			bounds := hashcodes.NewBounds(text.Jaccard.At(theta), 1)
			for _, c := range Choices(bounds, model.Words()) {
				x := &index{cfg: Config{Bounds: bounds, Few: math.MaxInt}} // it never changes
				w := sigstore.New(sigstore.Config{Span: 87600 * time.Hour, Model: model, Bounds: bounds, Engine: x.of(c)})
				for _, s := range all[:n] {
					w.Insert(s)
				}
				for _, batch := range []int{1, 64} {
					b.Run(fmt.Sprintf("rows=%d/theta=%s/batch=%d/%s", n, theta, batch, c.Name), func(b *testing.B) {
						l := x.load()
						l.Batch = float64(batch)
						benchmarkLookup(b, w, ask, batch)
						b.ReportMetric(c.Cost(l), "model-ns")
						for name, v := range map[string]float64{"probes": l.Probes, "postings": l.Postings, "compared": l.Compared,
							"bands": l.Bands, "blocks": l.Blocks} {
							b.ReportMetric(v, name)
						}
					})
				}
			}
		}
	}
}

// of makes x the index of a window with one engine.
func (x *index) of(c Choice) sigstore.Engine {
	return func(rows sigstore.Rows) sigstore.Index {
		x.cfg.Choices = []Choice{c}
		x.source, x.choice, x.Index = rows, &x.cfg.Choices[0], c.Engine(rows)
		return x
	}
}

// benchmarkLookup looks sentences up, so many at once.
func benchmarkLookup(b *testing.B, w *sigstore.Window, ask []*feed.Sentence, batch int) {
	for i := 0; b.Loop(); i++ {
		at := i % len(ask)
		if at%batch == 0 && batch > 1 {
			w.Searcher().Expect(ask[at : at+batch])
		}
		w.Searcher().Search(ask[at])
	}
}
