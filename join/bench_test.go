package join

import (
	"fmt"
	"testing"

	"refrain/text"
)

// BenchmarkJoin joins real sets by one goroutine; order/op is the part of it that puts them in order.
func BenchmarkJoin(b *testing.B) {
	for _, name := range []string{"ira_2015-11", "reuters_to_0331", "zhihu_2022"} {
		c := mustSets(b, name)
		for _, threshold := range []text.Threshold{{Num: 9, Den: 10}, {Num: 4, Den: 5}, {Num: 3, Den: 5}} {
			for a := range Algorithms {
				cfg := Config{Measure: text.Jaccard.At(threshold), Algorithm: Algorithm(a), MaxDepth: 2, Workers: 1}
				b.Run(fmt.Sprintf("%s/%s/%s", name, threshold.Decimal(), cfg.Algorithm), func(b *testing.B) { benchmark(b, cfg, c) })
			}
		}
	}
}

func benchmark(b *testing.B, cfg Config, c *Collection) {
	order, look := 0.0, 0.0
	var last Stats
	for b.Loop() {
		stats, err := Self(b.Context(), cfg, c, func(Pair) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		order, look, last = order+stats.Prepare.Seconds(), look+stats.Join.Seconds(), stats
	}
	b.ReportMetric(1000*order/float64(b.N), "order-ms/op")
	b.ReportMetric(1000*look/float64(b.N), "look-ms/op")
	b.ReportMetric(float64(last.Entries), "entries")
	b.ReportMetric(float64(last.Signature), "signature")
	b.ReportMetric(float64(last.Positional), "positional")
	b.ReportMetric(float64(last.Missing), "missing")
	b.ReportMetric(float64(last.Candidates), "candidates")
	b.ReportMetric(float64(last.Pairs), "pairs")
}
