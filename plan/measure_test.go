package plan_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/text"
	"refrain/topic"
)

// streams are the feeds of the data set that DefaultFeed comes from, with what a post's time tells.
var streams = []struct {
	name, file string
	hours      bool // times are finer than days
}{
	{"ira", "stream/ira_2012-02_2016-08.jsonl.zst", true},
	{"weibo", "stream/weibo_ced_2010-2012.jsonl.zst", true},
	{"weibo-hot", "stream/weibo_hot_2020-11_2023-12.jsonl.gz", false},
	{"zhihu-hot", "stream/zhihu_hot_2020-11_2022-12.jsonl.gz", false},
	{"crisislex", "stream/crisislex_t26_22events.jsonl.gz", true},
	{"pheme", "stream/pheme_ottawa_germanwings.jsonl.gz", true},
}

// BenchmarkFeed measures what a planner must know of a feed: the table of docs/plan.md is its output.
func BenchmarkFeed(b *testing.B) {
	for _, s := range streams {
		b.Run(s.name, func(b *testing.B) {
			var m measured
			for b.Loop() {
				m = measure(b, dataset.File(b, s.file), 1<<62)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(m.posts)/float64(m.days), "posts/day")
			b.ReportMetric(m.sentencesPerPost(), "sentences/post")
			b.ReportMetric(m.tokensPerSentence(), "tokens/sentence")
			b.ReportMetric(m.distinctShare(), "distinct/sentence")
			b.ReportMetric(m.textBytes(), "text-bytes/sentence")
			b.ReportMetric(m.postBytes(), "bytes/post")
			b.ReportMetric(m.recordBytes(), "record-bytes/sentence")
			b.ReportMetric(float64(len(m.ever))/float64(m.sentences), "distinct-ever/sentence")
			if s.hours {
				b.ReportMetric(m.peak(), "peak/mean")
			}
		})
	}
}

// measured are sums over a feed, a day at a time.
type measured struct {
	posts, sentences, tokens, text, bytes, records, days int
	distinct                                             int // token sets, counted once a day

	day      int64
	today    map[feed.Hash]bool
	ever     map[feed.Hash]bool
	hourly   [24]int
	busiest  float64 // sum over days of the posts of the busiest hour
	ofBusy   float64 // posts of the days that count for it
	sentence []feed.Sentence
	sizes    []int // of the token sets, each once
}

func (m *measured) sentencesPerPost() float64  { return float64(m.sentences) / float64(m.posts) }
func (m *measured) tokensPerSentence() float64 { return float64(m.tokens) / float64(m.sentences) }
func (m *measured) distinctShare() float64     { return float64(m.distinct) / float64(m.sentences) }
func (m *measured) textBytes() float64         { return float64(m.text) / float64(m.sentences) }
func (m *measured) postBytes() float64         { return float64(m.bytes) / float64(m.posts) }
func (m *measured) recordBytes() float64       { return float64(m.records) / float64(m.sentences) }

// peak is the busiest hour of a day against the mean hour of that day, over the days of at least 1,000 posts.
func (m *measured) peak() float64 { return 24 * m.busiest / max(m.ofBusy, 1) }

func measure(tb testing.TB, path string, maxPosts int) measured {
	tb.Helper()
	f, err := file.Open(file.Default(path))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	m := measured{day: -1, today: map[feed.Hash]bool{}, ever: map[feed.Hash]bool{}}
	var s text.Splitter
	for m.posts < maxPosts {
		batch, err := f.Next(context.Background())
		for i := range batch.Posts {
			m.add(&s, &batch.Posts[i])
		}
		m.endBatch()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	m.endDay()
	return m
}

func (m *measured) add(s *text.Splitter, p *feed.Post) {
	const hour = feed.Time(time.Hour / time.Millisecond)
	if day := int64(p.Time / (24 * hour)); day != m.day {
		m.endDay()
		m.day = day
	}
	m.hourly[p.Time/hour%24]++
	m.posts++
	m.bytes += len(`{"id":"","author":"","created_at":"2026-01-02T15:04:05Z","lang":"","text":""}`) +
		len(p.ID) + len(p.Author) + len(p.Lang) + len(p.Text)
	before := len(m.sentence)
	m.sentence, _ = s.Sentences(m.sentence, p, 4)
	for _, x := range m.sentence[before:] {
		m.sentences++
		m.tokens += len(x.Tokens)
		m.text += len(x.Text)
		if !m.ever[x.Group] {
			m.sizes = append(m.sizes, len(x.Tokens))
		}
		m.today[x.Group], m.ever[x.Group] = true, true
	}
}

// endBatch encodes the sentences as split does, some hundred to a record.
func (m *measured) endBatch() {
	for len(m.sentence) > 0 {
		n := min(250, len(m.sentence))
		record := topic.Batch{Sentences: m.sentence[:n], TextVersion: text.Version}
		m.records += len(record.Append(nil))
		m.sentence = m.sentence[n:]
	}
	m.sentence = nil
}

func (m *measured) endDay() {
	posts, busiest := 0, 0
	for _, n := range m.hourly {
		posts, busiest = posts+n, max(busiest, n)
	}
	if posts == 0 {
		return
	}
	m.days++
	m.distinct += len(m.today)
	if posts >= 1000 {
		m.busiest, m.ofBusy = m.busiest+float64(busiest), m.ofBusy+float64(posts)
	}
	clear(m.today)
	m.hourly = [24]int{}
}

// BenchmarkBands measures the share of the rows whose length a partner may have, over the distinct sentences of all
// streams together.
func BenchmarkBands(b *testing.B) {
	for b.Loop() {
		sizes := make([]float64, 257)
		rows := 0.0
		for _, s := range streams {
			m := measure(b, dataset.File(b, s.file), 1<<62)
			for _, n := range m.sizes {
				sizes[n]++
				rows++
			}
		}
		for _, t := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 7, Den: 10}, {Num: 4, Den: 5},
			{Num: 9, Den: 10}} {
			pairs := 0.0
			for n := 1; n < len(sizes); n++ {
				low, high := text.Jaccard.At(t).Sizes(n)
				for k := low; k <= min(high, len(sizes)-1); k++ {
					pairs += sizes[n] * sizes[k]
				}
			}
			b.ReportMetric(pairs/rows/rows, "share@"+t.String())
		}
	}
	b.ReportMetric(0, "ns/op")
}
