//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/cuda"
	"refrain/cuda/cudatest"
	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/sigstore"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
	"refrain/sigstore/scan"
	"refrain/text"
)

const (
	ira   = "stream/ira_2012-02_2016-08.jsonl.zst"
	weibo = "stream/weibo_ced_2010-2012.jsonl.zst"

	reuters = "news/reuters21578_to_1987-03-31.jsonl.gz"
)

// realSentences are those of so many real posts, or all there are, which come one a second.
func realSentences(t testing.TB, stream string, posts int) (all []feed.Sentence) {
	t.Helper()
	f, err := file.Open(file.Default(dataset.File(t, stream)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s text.Splitter
	for n := 0; n < posts; {
		batch, err := f.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Posts {
			n++
			batch.Posts[i].Time = feed.Time(n * 1000)
			all, _ = s.Sentences(all, &batch.Posts[i], 4)
		}
	}
	return all
}

// play is a feed through a detector: batches, a clock, deletions, and, three quarters through, a day without a post, after
// which the window makes itself anew. It returns the names of the events.
func play(t *testing.T, similar text.Measure, engine detector.Engine, all []feed.Sentence, between func(batch int)) (names []feed.Hash) {
	t.Helper()
	return playWith(t, 64, 1, similar, 1500*time.Second, engine, all, between)
}

// playWith is play with hashed codes and a span.
func playWith(t *testing.T, bits, ones int, similar text.Measure, span time.Duration, engine detector.Engine, all []feed.Sentence,
	between func(batch int)) (names []feed.Hash) {
	t.Helper()
	model, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		t.Fatal(err)
	}
	cfg := detector.Default()
	cfg.Similarity, cfg.Threshold, cfg.Span, cfg.Lateness = similar.Similarity, similar.Threshold, span, time.Second
	cfg.Model, cfg.Engine = model, engine
	d, err := detector.NewPartition(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var found []feed.Match
	var expected []*feed.Sentence
	var deleted []feed.Name
	pause := len(all) * 3 / 4
	for i := 0; i < len(all); i += len(expected) {
		expected = expected[:0]
		for n := i; n < min(i+200, len(all)); n++ {
			x := all[n]
			if n >= pause {
				x.Time += 24 * 3600 * 1000
			}
			expected = append(expected, &x)
		}
		d.Expect(expected)
		for _, x := range expected {
			found = d.LookupNew(found, x)
			d.Insert(x)
		}
		between(i / 200)
		deleted = append(deleted, feed.Name{Source: all[i].Source, Post: all[i].Post})
		d.Delete(func(source, post string) bool { return slices.Contains(deleted, feed.Name{Source: source, Post: post}) },
			deleted[len(deleted)-1:])
		d.Advance(expected[len(expected)-1].Time)
	}
	for i := range found {
		names = append(names, found[i].ID)
	}
	slices.SortFunc(names, func(a, b feed.Hash) int { return bytes.Compare(a[:], b[:]) })
	return names
}

// The events of real posts are those of the prefix engine: with rows here and there, when the device is lost on the way,
// and when it is full.
func TestEvents(t *testing.T) {
	all := realSentences(t, ira, 6000)
	similar := text.Jaccard.At(text.Threshold{Num: 3, Den: 5})
	want := play(t, similar, detector.Prefix, all, func(int) {})
	if len(want) < 100 {
		t.Fatalf("%d events: too few to say anything", len(want))
	}
	cpus := map[string]func(*hashcodes.Bounds) sigstore.Engine{
		"prefix": func(b *hashcodes.Bounds) sigstore.Engine { return prefix.New(b) },
		"scan":   func(b *hashcodes.Bounds) sigstore.Engine { return scan.New(b, 2) },
	}
	for i, c := range []struct {
		name, cpu string
		minCost   int
		lost      int // before this batch
		budget    int64
		want      string // in the log
	}{
		{name: "device", cpu: "prefix", minCost: 1},
		{name: "both", cpu: "prefix", minCost: 200_000},
		{name: "full", cpu: "prefix", minCost: 1, budget: 2 << 20, want: fullLine},
		{name: "lost to prefix", cpu: "prefix", minCost: 20_000, lost: 18, want: lostLine},
		{name: "lost to scan", cpu: "scan", minCost: 20_000, lost: 12, want: lostLine},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cudatest.New(t)
			f.Order(cudatest.Orders()[i%3])
			d := open(t, f, c.budget)
			var log bytes.Buffer
			made := 0
			got := play(t, similar, func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
				engine := gpu.New(configOf(d, b, m.Words(), cpus[c.cpu](b), &log).WithMinDeviceCost(c.minCost))
				return func(rows sigstore.Rows) sigstore.Index {
					made++
					return engine(rows)
				}
			}, all, func(batch int) {
				if c.lost > 0 && batch == c.lost {
					f.Forget = true
					f.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
				}
			})
			if !slices.Equal(got, want) {
				t.Errorf("%d events, want %d of the prefix engine, or others", len(got), len(want))
			}
			if made < 2 {
				t.Error("the window was never built anew")
			}
			if n := strings.Count(log.String(), "\n"); !strings.Contains(log.String(), c.want) || n > 1 || n > 0 && c.want == "" {
				t.Errorf("want %q in the log, got\n%s", c.want, &log)
			}
			if n := strings.Count(f.Log(), "cuLaunchKernel"); n < 10 {
				t.Errorf("%d launches: hardly a row was on the device", n)
			}
		})
	}
}

// TestEventsByMeasure: all rows on the device, the events are those of the prefix engine by every measure.
func TestEventsByMeasure(t *testing.T) {
	all := realSentences(t, ira, 2000)
	for _, s := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
		for _, threshold := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 4, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1}} {
			similar := s.At(threshold)
			t.Run(similar.String(), func(t *testing.T) {
				f := cudatest.New(t)
				d := open(t, f)
				var log bytes.Buffer
				want := play(t, similar, detector.Prefix, all, func(int) {})
				got := play(t, similar, func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
					return gpu.New(configOf(d, b, m.Words(), prefix.New(b), &log).WithMinDeviceCost(1))
				}, all, func(int) {})
				if !slices.Equal(got, want) || len(want) == 0 || log.Len() > 0 {
					t.Errorf("%d events, want %d of the prefix engine, or others; log %q", len(got), len(want), &log)
				}
				if n := strings.Count(f.Log(), "cuLaunchKernel"); n < 10 {
					t.Errorf("%d launches: hardly a row was on the device", n)
				}
			})
		}
	}
}

var full = flag.Bool("full", false, "the long versions of the tests")

// TestEventsByCodes: all rows on the device, the events are those of the prefix engine with all kinds of codes, by every kernel.
// With -full of 20,000 sentences each of tweets, Chinese posts and news, in a window that lets none of them go.
func TestEventsByCodes(t *testing.T) {
	sentences, streams, span := 1000, []string{weibo}, 700*time.Second
	if *full {
		sentences, streams, span = 20_000, []string{ira, weibo, reuters}, 87600*time.Hour
	}
	for _, stream := range streams {
		all := realSentences(t, stream, 2*sentences)
		all = all[:min(sentences, len(all))]
		for i, codes := range [][2]int{{32, 1}, {32, 2}, {64, 1}, {64, 2}, {128, 3}, {128, 4}, {256, 2}} {
			for n, tenths := range []int{5, 6, 8} {
				kernel := []string{"imma", "popcount", "imma", "bmma"}[(i+n)%4]
				t.Run(fmt.Sprintf("%s/bits %d/ones %d/threshold .%d/%s", stream, codes[0], codes[1], tenths, kernel), func(t *testing.T) {
					eventsByCodes(t, all, codes[0], codes[1], text.Jaccard.At(text.Threshold{Num: tenths, Den: 10}), span, kernel)
				})
			}
		}
	}
}

func eventsByCodes(t *testing.T, all []feed.Sentence, bits, ones int, similar text.Measure, span time.Duration, kernel string) {
	f := cudatest.New(t)
	config := cuda.Default()
	config.Library, config.Kernel = f.Library, kernel
	d := openAs(t, config)
	var log bytes.Buffer
	want := playWith(t, bits, ones, similar, span, detector.Prefix, all, func(int) {})
	got := playWith(t, bits, ones, similar, span, func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return gpu.New(configOf(d, b, m.Words(), prefix.New(b), &log).WithMinDeviceCost(1))
	}, all, func(int) {})
	if !slices.Equal(got, want) || len(want) == 0 || log.Len() > 0 {
		t.Errorf("%d events, want %d of the prefix engine, or others; log %q", len(got), len(want), &log)
	}
	if n := strings.Count(f.Log(), "cuLaunchKernel"); n < 5 {
		t.Errorf("%d launches: hardly a row was on the device", n)
	}
	t.Logf("%d events equal", len(got))
}
