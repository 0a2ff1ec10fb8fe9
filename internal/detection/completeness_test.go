package detection_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
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
	{"stream/ira_2012-02_2016-08.jsonl.zst", 6_000, 200_000},
	{"stream/weibo_ced_2010-2012.jsonl.zst", 3_000, 100_000},
	{"news/reuters21578_to_1987-03-31.jsonl.gz", 750, 0},
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

// TestDetectGivesTheEventsOfTheDefinition compares the route with the oracle on real posts: every measure, threshold, span and
// engine. By default the engines take turns.
func TestDetectGivesTheEventsOfTheDefinition(t *testing.T) {
	g := grid{thresholds: []string{"0.5", "0.8", "1.0"}, spans: []string{"1h", "87600h"}}
	switch {
	case testing.Short(): // for the race detector
		g = grid{thresholds: []string{"0.8"}, spans: []string{"87600h"}}
	case *e2e.Full:
		g = grid{thresholds: []string{"0.9", "0.8", "0.6", "0.5", "1.0"}, spans: []string{"1h", "24h", "87600h"}}
	}
	g.progress = openProgress(t, "definition")
	for _, file := range realFiles {
		for _, minTokens := range []int{4, 1} {
			t.Run(fmt.Sprintf("%s/min-tokens %d", filepath.Base(file.name), minTokens), func(t *testing.T) {
				g.compare(t, file, minTokens)
			})
		}
	}
}

// grid is what is compared of each file.
type grid struct {
	thresholds, spans []string
	progress          *progress
	runs              int
}

// engines are those of one cell of the grid. Which words are compared is no matter of theirs, so that for few words one is enough.
func (g *grid) engines(minTokens int) []string {
	all := []string{"auto", "prefix", "scan"}
	if *e2e.Full && minTokens == text.DefaultMinTokens {
		return all
	}
	g.runs++
	return all[g.runs%len(all):][:1]
}

// compare finds what is similar at a threshold once, by the widest measure.
func (g *grid) compare(t *testing.T, file realFile, minTokens int) {
	posts := e2e.Lines(t, file.name, file.size())
	c := sync.OnceValue(func() *content { return newContent(posts, minTokens) })
	for _, threshold := range g.thresholds {
		widest := mustMeasure(t, "cosine", threshold)
		pairs := sync.OnceValue(func() *oracle.Pairs { return c().index.Pairs(widest) })
		for _, similarity := range slices.Backward(text.Similarities) {
			for _, span := range g.spans {
				s := e2e.DefaultSettings()
				s.Window.Similarity, s.Window.Threshold = mustMeasure(t, similarity, threshold).Similarity, widest.Threshold
				s.Window.Span, s.MinTokens = mustDuration(t, span), minTokens
				want := sync.OnceValue(func() []feed.Hash { return oracle.IDs(pairs().Matches(s.Window.Measure(), s.Window.Span)) })
				for _, engine := range g.engines(minTokens) {
					g.progress.run(t, fmt.Sprintf("%s %s/%s/%s", similarity, threshold, span, engine), func(t *testing.T) (events int) {
						s := s
						s.Window.Engine = mustEngine(t, engine)
						return c().compare(t, s, pairs(), want())
					})
				}
			}
		}
	}
}

// content is posts with what the oracle knows of them.
type content struct {
	posts     []byte
	index     *oracle.Index
	sentences map[feed.Key]*feed.Sentence
}

// newContent leaves out lines that are no posts, as the command does.
func newContent(posts []byte, minTokens int) *content {
	f := &oracle.Feed{MinTokens: minTokens}
	for p, err := range oracle.Posts(bytes.NewReader(posts), 0) {
		if err == nil {
			f.Add(&p)
		}
	}
	c := &content{posts, f.Index(), map[feed.Key]*feed.Sentence{}}
	for _, s := range f.Sentences() {
		c.sentences[feed.Key{Time: s.Time, Source: s.Source, Post: s.Post, Index: s.Index}] = &s
	}
	return c
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

func mustDuration(t *testing.T, span string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(span)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// compare runs the route, and returns the number of events. A sample of them is looked at.
func (c *content) compare(t *testing.T, s e2e.Settings, pairs *oracle.Pairs, want []feed.Hash) (events int) {
	similar := s.Window.Measure()
	s.Sample = 97
	found := e2e.Detect(t, c.posts, s, func(m *feed.Match) { checkMatch(t, m, c.sentences, similar, s.Window.Span) })
	events = len(found)
	ids := oracle.Sorted(found)
	if len(ids) != events {
		t.Errorf("%d of %d ids were printed more than once", events-len(ids), events)
	}
	missing, extra := oracle.Diff(ids, want)
	if len(missing)+len(extra) == 0 {
		return events
	}
	t.Errorf("%d missing, %d extra of %d", len(missing), len(extra), len(want))
	for _, m := range oracle.Explain(pairs.Matches(similar, s.Window.Span), missing, 3) {
		t.Logf("missing: %s", m)
	}
	return events
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
