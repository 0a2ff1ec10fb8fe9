//go:build unix

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/sigstore"
	"refrain/sigstore/prefix"
	"refrain/text"
)

// BenchmarkLookup measures what DefaultCosts says of look-ups, insertions and memory, on sentences of all streams
// in random order: the processor time of a look-up and an insertion by the texts in the window.
func BenchmarkLookup(b *testing.B) {
	all := everySentence(b)
	for _, engine := range []struct {
		name string
		ones int
		make detector.Engine
	}{
		{"prefix", 1, func(bounds *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine { return prefix.New(bounds) }},
		{"scan", 1, detector.Scan},
		{"scan of two ones", 2, detector.Scan}, // less scan: what false candidates cost that containment leaves out
	} {
		for _, by := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
			for _, tenths := range []int{9, 8, 7, 6, 5} {
				similar := by.At(text.Threshold{Num: tenths, Den: 10})
				b.Run(fmt.Sprintf("%s/%s/.%d", engine.name, by, tenths), func(b *testing.B) {
					for b.Loop() {
						grow(b, all, engine.make, engine.ones, similar)
					}
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// grow fills a window and looks other sentences up in it on the way.
func grow(b *testing.B, all []feed.Sentence, engine detector.Engine, ones int, similar text.Measure) {
	const queryCount = 4096
	model, err := hashcodes.NewMD5(64, ones)
	if err != nil {
		b.Fatal(err)
	}
	d, err := detector.NewPartition(detector.Config{Similarity: similar.Similarity, Threshold: similar.Threshold, Span: 87600 * time.Hour,
		MaxMatches: 1000, Flood: 1000, OmitTexts: true, Model: model, Engine: engine})
	if err != nil {
		b.Fatal(err)
	}
	rows, queries := all[:len(all)-queryCount], all[len(all)-queryCount:]
	inserted, insertion := 0, time.Duration(0)
	for _, level := range []int{62_500, 125_000, 250_000, 500_000, 1_000_000} {
		began, first := busy(), inserted
		for d.Stats().Groups < level && inserted < len(rows) {
			for range 500 {
				if inserted < len(rows) {
					d.Insert(&rows[inserted])
					inserted++
				}
			}
		}
		insertion = (busy() - began) / time.Duration(max(1, inserted-first))
		s, before := d.Stats(), d.Counts()
		search, rest, matches := lookups(d, queries)
		counts := d.Counts()
		alone := withoutMatches(d, queries)
		searchAlone, restAlone, _ := lookups(d, alone)
		b.ReportMetric(micros(searchAlone+restAlone), fmt.Sprintf("µs/alone@%dk", s.Groups/1000))
		b.ReportMetric(micros(search), fmt.Sprintf("µs/search@%dk", s.Groups/1000))
		b.ReportMetric(micros(rest), fmt.Sprintf("µs/verify@%dk", s.Groups/1000))
		b.ReportMetric(matches, fmt.Sprintf("matches@%dk", s.Groups/1000))
		b.ReportMetric(float64(counts.Candidates-before.Candidates)/float64(len(queries)),
			fmt.Sprintf("candidates@%dk", s.Groups/1000))
		if level == 1_000_000 {
			b.ReportMetric(micros(insertion), "µs/insert")
			b.ReportMetric(float64(s.Bytes)/float64(s.Groups), "bytes/text")
			b.ReportMetric(float64(s.Occurrences)/float64(s.Groups), "occurrences/text")
		}
	}
}

// lookups is the processor time of a look-up, in batches as the detector makes them: that of the search for
// candidates, and that of what comes after it; and the matches of a look-up.
func lookups(d *detector.Partition, queries []feed.Sentence) (search, rest time.Duration, matches float64) {
	const batch = 64
	var ahead []*feed.Sentence
	var found []feed.Match
	for i := 0; i < len(queries); i += batch {
		ahead = ahead[:0]
		for j := range queries[i:min(i+batch, len(queries))] {
			ahead = append(ahead, &queries[i+j])
		}
		began := busy()
		d.Expect(ahead)
		searched := busy()
		for _, x := range ahead {
			found = d.LookupNew(found[:0], x)
			matches += float64(len(found))
		}
		search, rest = search+searched-began, rest+busy()-searched
	}
	n := time.Duration(len(queries))
	return search / n, rest / n, matches / float64(n)
}

// withoutMatches are the queries that find nothing: in one of many partitions that is what nearly all look-ups do, and what
// a match takes comes once, in the partition that has it.
func withoutMatches(d *detector.Partition, queries []feed.Sentence) (alone []feed.Sentence) {
	var found []feed.Match
	for i := range queries {
		if found = d.LookupNew(found[:0], &queries[i]); len(found) == 0 {
			alone = append(alone, queries[i])
		}
	}
	return alone
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// busy is the processor time that this process has used: beside other work the time by the wall says little.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// everySentence are the sentences of all streams, mixed, without their texts.
func everySentence(b *testing.B) (all []feed.Sentence) {
	var s text.Splitter
	for _, stream := range streams {
		f, err := file.Open(file.Default(dataset.File(b, stream.file)))
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			var batch ingest.Batch
			batch, err = f.Next(context.Background())
			for i := range batch.Posts {
				all, _ = s.Sentences(all, &batch.Posts[i], 4)
			}
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		f.Close()
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all { // in their new order, or a look-up would find what is later
		all[i].Text, all[i].Time = "", feed.Time(i+1)
	}
	return all
}

// BenchmarkFalse measures what DefaultCosts says of false candidates: those of hashed codes of every size in a million
// distinct sentences of all streams, and the time to find that one is false, from the windows of BenchmarkLookup.
func BenchmarkFalse(b *testing.B) {
	var sets, queries [][]uint64
	seen := map[feed.Hash]bool{}
	for _, s := range everySentence(b) {
		if seen[s.Group] {
			continue
		}
		seen[s.Group] = true
		if len(queries) < 300 {
			queries = append(queries, s.Tokens)
		} else if len(sets) < 200_000 {
			sets = append(sets, s.Tokens)
		}
	}
	for _, bits := range []int{32, 64, 128, 256} {
		for _, ones := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%d/%d", bits, ones), func(b *testing.B) {
				m, err := hashcodes.NewMD5(bits, ones)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					for _, t := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 7, Den: 10}, {Num: 4, Den: 5},
						{Num: 9, Den: 10}} {
						within, passing := countFalse(m, text.Jaccard.At(t), queries, sets)
						perMillion := 1e6 / float64(len(queries)) / float64(len(sets))
						b.ReportMetric(float64(within)*perMillion, "false/M@"+t.String())
						b.ReportMetric(float64(passing)*perMillion, "passing/M@"+t.String())
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// countFalse counts the sets within the lossless radius of a query that are not similar enough, and those of them that pass
// its holders, over all queries.
func countFalse(m *hashcodes.Model, similar text.Measure, queries, sets [][]uint64) (within, passing int) {
	signatures := make([]hashcodes.Signature, len(sets))
	for i, set := range sets {
		signatures[i] = m.Sign(make(hashcodes.Signature, m.Words()), set)
	}
	bounds, sig, holders := hashcodes.NewBounds(similar, m.Ones()), make(hashcodes.Signature, m.Words()), hashcodes.NewHolders(m.Bits())
	for _, q := range queries {
		b := bounds.For(len(q))
		m.Sign(sig, q)
		m.Hold(holders, q)
		for i, set := range sets {
			if len(set) < b.Min || len(set) > b.Max || hashcodes.Distance(sig, signatures[i]) > int(b.Radius[len(set)-b.Min]) {
				continue
			}
			if similar.Reaches(text.Intersection(q, set), len(q), len(set)) {
				continue
			}
			within++
			if tokens, further := b.Apart(len(set)); holders.Within(sig, signatures[i], tokens, further) {
				passing++
			}
		}
	}
	return within, passing
}
