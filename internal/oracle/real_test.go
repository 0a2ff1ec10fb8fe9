package oracle

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"refrain/internal/dataset"
	"refrain/text"
)

func mustRead(tb testing.TB, name string, posts, minTokens int) *Feed {
	tb.Helper()
	f := &Feed{MinTokens: minTokens}
	malformed, err := f.ReadFile(dataset.File(tb, name), posts)
	if err != nil || malformed > 0 {
		tb.Fatalf("read %s: %d malformed lines, %v", name, malformed, err)
	}
	return f
}

// On real text, where token counts and frequencies are what they are, the prefixes must lose nothing either.
func TestIndexAgreesOnRealPosts(t *testing.T) {
	for _, name := range []string{"stream/ira_2012-02_2016-08.jsonl.zst", "stream/weibo_ced_2010-2012.jsonl.zst"} {
		f := mustRead(t, name, 1500, 1)
		for _, threshold := range []text.Threshold{{Num: 1, Den: 2}, {Num: 4, Den: 5}} {
			for similarity := range schemes {
				agree(t, f, similarity.At(threshold), 87600*time.Hour)
				agree(t, f, similarity.At(threshold), time.Hour)
			}
		}
	}
}

// BenchmarkIndex shows the time and the number of events of the real files; one setting an iteration.
func BenchmarkIndex(b *testing.B) {
	files := []struct {
		name  string
		posts int
	}{
		{"stream/ira_2012-02_2016-08.jsonl.zst", 200_000},
		{"stream/weibo_ced_2010-2012.jsonl.zst", 100_000},
		{"news/reuters21578_to_1987-03-31.jsonl.gz", 0},
	}
	for _, file := range files {
		for _, minTokens := range []int{1, 4} {
			index := mustRead(b, file.name, file.posts, minTokens).Index()
			for _, threshold := range []text.Threshold{{Num: 1, Den: 2}, {Num: 4, Den: 5}, {Num: 1, Den: 1}} {
				for _, span := range []time.Duration{time.Hour, 87600 * time.Hour} {
					name := filepath.Base(file.name) + fmt.Sprintf("/min=%d/θ=%d÷%d/span=%s", minTokens, threshold.Num, threshold.Den, span)
					b.Run(name, func(b *testing.B) {
						events := 0
						for b.Loop() {
							events = 0
							for range index.Matches(text.Jaccard.At(threshold), span) {
								events++
							}
						}
						b.ReportMetric(float64(events), "events")
						b.ReportMetric(float64(len(index.sentences)), "sentences")
						b.ReportMetric(float64(len(index.groups)), "groups")
					})
				}
			}
		}
	}
}
