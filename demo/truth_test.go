package demo_test

import (
	"testing"
	"time"

	"refrain/demo"
	"refrain/detector"
	"refrain/feed"
	"refrain/internal/oracle"
	"refrain/text"
)

// sentenceOf names a sentence of the feed.
type sentenceOf struct {
	post  string
	index int
}

// The labelled reuse is what the definition of a match finds: where the operation left J >= θ, an event.
func TestTruthIsFound(t *testing.T) {
	threshold, span := text.DefaultThreshold, 24*time.Hour
	f := &oracle.Feed{MinTokens: text.DefaultMinTokens}
	c := demo.Default()
	c.Seed = 8
	g, err := demo.New(c)
	if err != nil {
		t.Fatal(err)
	}
	truths := map[string]demo.Truth{}
	for range 10_000 {
		p, truth := g.Next()
		f.Add(&p)
		truths[p.ID] = truth
	}
	sentences := map[sentenceOf]feed.Sentence{}
	for _, s := range f.Sentences() {
		sentences[sentenceOf{s.Post, s.Index}] = s
	}
	found, matched := map[feed.Hash]bool{}, map[string]bool{}
	for m := range f.Index().Matches(text.Jaccard.At(threshold), span) {
		found[m.ID], matched[m.Later.Post] = true, true
	}
	similar, all := map[demo.Operation]int{}, map[demo.Operation]int{}
	newTexts, collisions := 0, 0
	for id, truth := range truths {
		if truth.Origins == nil {
			newTexts++
			if matched[id] {
				collisions++
			}
		}
		for _, o := range truth.Origins {
			a, compared := sentences[sentenceOf{o.Post, o.From}]
			b, stillCompared := sentences[sentenceOf{id, o.Sentence}]
			if !compared {
				continue
			}
			all[truth.Operation]++
			if !stillCompared || text.Jaccard.Of(a.Tokens, b.Tokens) < 0.8 {
				continue
			}
			similar[truth.Operation]++
			event := feed.EventID(detector.Scheme, b.Source, id, o.Sentence, b.Group, a.Group)
			if !found[event] {
				t.Errorf("%s: sentence %d of %s has no event with %q", truth.Operation, o.Sentence, id, a.Text)
			}
		}
	}
	t.Logf("sentences that reach θ, of those reused: %v of %v; fresh posts that collide: %d of %d",
		similar, all, collisions, newTexts)
	for _, exact := range []demo.Operation{demo.Repost, demo.Copy, demo.Quote, demo.Merge} {
		if similar[exact] != all[exact] {
			t.Errorf("%s: %d of %d sentences reach θ, want all", exact, similar[exact], all[exact])
		}
	}
	for _, near := range []demo.Operation{demo.Edit, demo.Typo, demo.Truncate} {
		if similar[near] == 0 || similar[near] == all[near] {
			t.Errorf("%s: %d of %d sentences reach θ, want some", near, similar[near], all[near])
		}
	}
	if collisions*50 > newTexts {
		t.Errorf("%d of %d fresh posts repeat something", collisions, newTexts)
	}
}
