package detection_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/text"
)

type realFile struct {
	name        string
	posts, full int // posts compared by default, and with -full; 0: all
}

var realFiles = []realFile{
	{"stream/ira_2012-02_2016-08.jsonl.zst", 12_000, 200_000},
	{"stream/weibo_ced_2010-2012.jsonl.zst", 6_000, 100_000},
	{"news/reuters21578_to_1987-03-31.jsonl.gz", 1_500, 0},
}

// size is how many posts are compared. A third is enough for the race detector: ./test runs both.
func (f realFile) size() int {
	switch {
	case *e2e.Full:
		return f.full
	case testing.Short():
		return f.posts / 3
	}
	return f.posts
}

// TestDetectGivesTheEventsOfTheDefinition compares the route with the oracle on real posts.
func TestDetectGivesTheEventsOfTheDefinition(t *testing.T) {
	thresholds := []string{"0.5", "0.8", "1.0"}
	spans := []string{"1h", "87600h"}
	if *e2e.Full {
		thresholds = []string{"0.5", "0.6", "0.8", "0.9", "1.0"}
		spans = []string{"1h", "24h", "87600h"}
	}
	for _, file := range realFiles {
		posts := e2e.Lines(t, file.name, file.size())
		for _, minTokens := range []int{1, 4} {
			index, sentences := mustIndex(posts, minTokens)
			for _, threshold := range thresholds {
				for _, span := range spans {
					for _, similarity := range text.Similarities {
						name := fmt.Sprintf("%s/min-tokens %d/%s %s/span %s", filepath.Base(file.name), minTokens, similarity, threshold, span)
						t.Run(name, func(t *testing.T) {
							similar := mustMeasure(t, similarity, threshold)
							compareWithOracle(t, index, sentences, posts, minTokens, similar, span)
						})
					}
				}
			}
		}
	}
}

// mustIndex leaves out lines that are no posts, as the command does.
func mustIndex(posts []byte, minTokens int) (*oracle.Index, map[feed.Key]*feed.Sentence) {
	f := &oracle.Feed{MinTokens: minTokens}
	for p, err := range oracle.Posts(bytes.NewReader(posts), 0) {
		if err == nil {
			f.Add(&p)
		}
	}
	sentences := map[feed.Key]*feed.Sentence{}
	for _, s := range f.Sentences() {
		sentences[feed.Key{Time: s.Time, Source: s.Source, Post: s.Post, Index: s.Index}] = &s
	}
	return f.Index(), sentences
}

func mustMeasure(t *testing.T, similarity, threshold string) text.Measure {
	t.Helper()
	s, err := text.ParseSimilarity(similarity)
	theta, thresholdErr := text.ParseThreshold(threshold)
	if err := errors.Join(err, thresholdErr); err != nil {
		t.Fatal(err)
	}
	return s.At(theta)
}

func compareWithOracle(t *testing.T, index *oracle.Index, sentences map[feed.Key]*feed.Sentence, posts []byte, minTokens int, similar text.Measure,
	span string) {
	length, err := time.ParseDuration(span)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	want := oracle.IDs(index.Matches(similar, length))
	middle := time.Now()
	settings := e2e.DefaultSettings()
	settings.Window.Similarity, settings.Window.Threshold = similar.Similarity, similar.Threshold
	settings.Window.Span, settings.MinTokens = length, minTokens
	var some []feed.Match
	seen := 0
	found := e2e.Detect(t, posts, settings, func(m *feed.Match) {
		if seen++; seen%97 == 1 {
			some = append(some, *m)
		}
	})
	took := time.Since(middle)
	n := len(found)
	ids := oracle.Sorted(found)
	if len(ids) != n {
		t.Errorf("%d of %d ids were printed more than once", n-len(ids), n)
	}
	missing, extra := oracle.Diff(ids, want)
	if len(missing)+len(extra) > 0 {
		t.Errorf("%d missing, %d extra of %d", len(missing), len(extra), len(want))
		for _, m := range oracle.Explain(index.Matches(similar, length), missing, 3) {
			t.Logf("missing: %s", m)
		}
	}
	for i := range some {
		checkMatch(t, &some[i], sentences, similar, length)
	}
	t.Logf("%d events equal; oracle %v, detect %v", n, middle.Sub(begin).Round(time.Millisecond), took.Round(time.Millisecond))
}

// checkMatch holds one event to the definition: order, span, another post, and the similarity of the sentences.
func checkMatch(t *testing.T, m *feed.Match, sentences map[feed.Key]*feed.Sentence, similar text.Measure,
	span time.Duration) {
	later, earlier := m.Later.Key(), m.Earlier.Key()
	if later.Compare(earlier) <= 0 || later.SamePost(earlier) || later.Time-earlier.Time > feed.Time(span.Milliseconds()) {
		t.Errorf("event %s: %v is no repeat of %v", m.ID, later, earlier)
	}
	b, a := sentences[later], sentences[earlier]
	if a == nil || b == nil || a.Text != m.Earlier.Text || b.Text != m.Later.Text || a.Group != m.Group {
		t.Fatalf("event %s shows sentences that the posts do not have: %+v", m.ID, m)
	}
	common := text.Intersection(a.Tokens, b.Tokens)
	if !similar.Reaches(common, len(a.Tokens), len(b.Tokens)) || m.Jaccard != text.Jaccard.Of(a.Tokens, b.Tokens) {
		t.Errorf("event %s: Jaccard %v, want %v of %q and %q", m.ID, m.Jaccard, text.Jaccard.Of(a.Tokens, b.Tokens), b.Text, a.Text)
	}
	measure, value := "", 0.0
	if s := similar.Similarity; s != text.Jaccard {
		measure, value = s.String(), s.Of(a.Tokens, b.Tokens)
	}
	if m.Measure != measure || m.Similarity != value {
		t.Errorf("event %s: %s %v, want %s %v", m.ID, m.Measure, m.Similarity, measure, value)
	}
}
