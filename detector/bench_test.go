package detector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/text"
)

// realSentences are the sentences of the first posts of data/stream/ira.
func realSentences(b *testing.B, posts int) []feed.Sentence {
	b.Helper()
	f, err := file.Open(file.Default(dataset.File(b, "stream/ira_2012-02_2016-08.jsonl.zst")))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var s text.Splitter
	var all []feed.Sentence
	for n := 0; n < posts; {
		batch, err := f.Next(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		for i := range batch.Posts {
			all, _ = s.Sentences(all, &batch.Posts[i], 4)
		}
		n += len(batch.Posts)
	}
	return all
}

func mustDetector(b *testing.B, engine detector.Engine, threshold text.Threshold) *detector.Partition {
	b.Helper()
	d, err := detector.NewPartition(detector.Config{
		Threshold: threshold, Span: 87600 * time.Hour, Lateness: 5 * time.Minute, Model: mustModel(b, 64, 1), Engine: engine,
	})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkInsert is one sentence taken into a window that holds those before it.
func BenchmarkInsert(b *testing.B) {
	all := realSentences(b, 200_000)
	for name, engine := range engines {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var d *detector.Partition
			for i := 0; b.Loop(); i++ {
				if i%len(all) == 0 {
					b.StopTimer()
					d = mustDetector(b, engine, text.Threshold{Num: 4, Den: 5})
					b.StartTimer()
				}
				d.Insert(&all[i%len(all)])
			}
		})
	}
}

// BenchmarkLookup is one sentence looked up in a window of the 200,000 posts before it.
func BenchmarkLookup(b *testing.B) {
	all := realSentences(b, 210_000)
	rows, queries := all[:len(all)*20/21], all[len(all)*20/21:]
	for _, threshold := range []text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}} {
		for name, engine := range engines {
			b.Run(fmt.Sprintf("%s/threshold %s", name, threshold), func(b *testing.B) {
				d := mustDetector(b, engine, threshold)
				for i := range rows {
					d.Insert(&rows[i])
				}
				b.ReportAllocs()
				var matches []feed.Match
				n := 0
				for i := 0; b.Loop(); i++ {
					matches = d.Lookup(matches[:0], &queries[i%len(queries)])
					n += len(matches)
				}
				c := d.Counts()
				b.ReportMetric(float64(c.Candidates)/float64(c.Lookups), "candidates/op")
				b.ReportMetric(float64(n)/float64(c.Lookups), "matches/op")
			})
		}
	}
}
