package train

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/dataset"
	"refrain/internal/oracle"
	"refrain/text"
)

var (
	cells      = flag.String("cells", "", "only the cells of BenchmarkLater whose name contains this")
	vocabulary = flag.Int("vocabulary", 10_000, "tokens that BenchmarkLater learns codes of")
	sentences  = flag.Int("sentences", 300_000, "sentences that BenchmarkLater learns from")
	say        = flag.Bool("say", false, "say what BenchmarkLater does")
)

// corpus is a file cut in two by time.
type corpus struct {
	name, file string
	earlier    float64 // share of the sentences that are learned from
}

var corpora = []corpus{
	{"ira", "stream/ira_2012-02_2016-08.jsonl.zst", 0.5},
	{"weibo", "stream/weibo_ced_2010-2012.jsonl.zst", 0.5},
	{"hot", "stream/weibo_hot_2020-11_2023-12.jsonl.gz", 0.5},
	{"reuters", "news/reuters21578_to_1987-03-31.jsonl.gz", 0.7},
	{"20ng", "news/20ng_10groups_A.jsonl.gz", 0.5},
}

// halves reads the token sets of a corpus: the earlier ones as they come, and the later ones, each once and none that
// was there before.
func (c *corpus) halves(tb testing.TB) (earlier, later [][]uint64) {
	tb.Helper()
	f := &oracle.Feed{MinTokens: 4}
	if _, err := f.ReadFile(dataset.File(tb, c.file), 0); err != nil {
		tb.Fatal(err)
	}
	sentences := f.Sentences()
	cut := int(c.earlier * float64(len(sentences)))
	seen := map[feed.Hash]bool{}
	for i, s := range sentences {
		switch {
		case i < cut:
			earlier = append(earlier, s.Tokens)
		case !seen[s.Group]:
			later = append(later, s.Tokens)
		}
		seen[s.Group] = true
	}
	return earlier, later
}

// BenchmarkLater prints the false candidates of a query under hashed and learned codes among sentences later than
// those that were learned from: up to 2,000 queries in all later sets, counted exactly.
func BenchmarkLater(b *testing.B) {
	for _, c := range corpora {
		var earlier, later, queries [][]uint64
		for _, bits := range []int{32, 64} {
			for _, ones := range []int{1, 2} {
				for _, t := range []text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}} {
					name := fmt.Sprintf("%s/m=%d/l=%d/θ=%.1f", c.name, bits, ones, t.Float())
					if !strings.Contains(name, *cells) {
						continue
					}
					if earlier == nil {
						earlier, later = c.halves(b)
						queries = some(later, 2000)
					}
					b.Run(name, func(b *testing.B) { measure(b, bits, ones, t, earlier, later, queries) })
				}
			}
		}
	}
}

func some(sets [][]uint64, n int) [][]uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	picked := make([][]uint64, n)
	for i := range picked {
		picked[i] = sets[r.IntN(len(sets))]
	}
	return picked
}

func measure(b *testing.B, bits, ones int, t text.Threshold, earlier, later, queries [][]uint64) {
	c := Config{Learner: "direct", Bits: bits, Ones: ones, Threshold: t, Vocabulary: *vocabulary, Seed: 1}
	if *say {
		c.Say = func(s string) { fmt.Println("   ", s) }
	}
	for b.Loop() {
		start := time.Now()
		sample := Collect(slices.Values(earlier), *sentences, 1)
		m, _, err := c.Learn(b.Context(), sample)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s-training")
		hashed, learned := Count(mustMD5(b, bits, ones), t, queries, later), Count(m, t, queries, later)
		b.ReportMetric(hashed.PerQuery(), "false-md5")
		if m.Ones() != ones {
			fewer := Count(mustMD5(b, bits, m.Ones()), t, queries, later)
			b.ReportMetric(fewer.PerQuery(), "false-md5-fewer-ones")
		}
		b.ReportMetric(learned.PerQuery(), "false-learned")
		b.ReportMetric(hashed.PerQuery()/learned.PerQuery(), "ratio")
		b.ReportMetric(float64(learned.True)/float64(len(queries)), "true")
		b.ReportMetric(float64(m.Ones()), "ones")
		b.ReportMetric(float64(len(later)), "later")
		b.ReportMetric(0, "ns/op")
	}
}
