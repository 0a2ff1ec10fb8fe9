package detector_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/detector"
	"refrain/feed"
)

// dress gives sentences the links, meta and cuts that their posts have: every third neither, none the same as another's.
func dress(all []feed.Sentence) {
	for i := range all {
		x := &all[i]
		name := fmt.Sprintf("%s/%d/%d", x.Post, x.Time, x.Version)
		n := len(name) + int(x.Post[len(x.Post)-1]) + int(x.Version)
		if n%3 != 0 {
			x.Link = "https://example.org/" + name
		}
		if n%3 != 1 {
			x.Meta = fmt.Sprintf(`{"n":%q}`, name)
		}
		x.TextCut = (n+x.Index)%2 == 0
		x.TimeAdjusted = n%5 == 0
	}
}

// sentencesByKey are the sentences of a feed by what an event calls them; versions may share a name.
type sentencesByKey map[feed.Key][]*feed.Sentence

func newSentencesByKey(all []feed.Sentence) sentencesByKey {
	s := sentencesByKey{}
	for i := range all {
		x := &all[i]
		k := feed.Key{Time: x.Time, Source: x.Source, Post: x.Post, Index: x.Index}
		s[k] = append(s[k], x)
	}
	return s
}

// check holds both sides of a match to the sentences that they are of.
func (s sentencesByKey) check(m *feed.Match) error {
	later := func(x *feed.Sentence) bool {
		l := &m.Later
		return l.Link == x.Link && l.Meta == x.Meta && l.Group == x.Group && l.TextCut == x.TextCut && m.TimeAdjusted == x.TimeAdjusted
	}
	if !slices.ContainsFunc(s[m.Later.Key()], later) {
		return fmt.Errorf("later %+v is none of %d sentences", m.Later, len(s[m.Later.Key()]))
	}
	e := m.Earlier
	if e.Link != "" || e.Meta != "" || e.Group != (feed.Hash{}) {
		return fmt.Errorf("earlier has what only a later one has: %+v", e)
	}
	if !slices.ContainsFunc(s[e.Key()], func(x *feed.Sentence) bool { return e.TextCut == x.TextCut && m.Group == x.Group }) {
		return fmt.Errorf("earlier %+v is none of %d sentences", e, len(s[e.Key()]))
	}
	return nil
}

// TestEventsHaveTheLaterPostsFields: whichever of two sentences came first, an event has the link, meta, group and cut of
// the one that is later in the order of the feed.
func TestEventsHaveTheLaterPostsFields(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg, all := drawConfig(r, t), randomFeed(r)
		cfg.OmitTexts = rapid.Bool().Draw(r, "no texts")
		dress(all)
		p, err := detector.NewPartitions(cfg, rapid.IntRange(1, 3).Draw(r, "partitions"), 2)
		if err != nil {
			r.Fatal(err)
		}
		want, got := newSentencesByKey(all), []feed.Match(nil)
		for batch := range slices.Chunk(rapid.Permutation(all).Draw(r, "arrival"), rapid.IntRange(1, 20).Draw(r, "batch")) {
			got, _ = p.Detect(got[:0], batch)
			for i := range got {
				if err := want.check(&got[i]); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}

// TestFieldsSurviveTime: groups that many said are thinned, blocks go, texts that live on move; late sentences make
// older rows the later ones all the while.
func TestFieldsSurviveTime(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			cfg := detector.Default()
			cfg.Span, cfg.Lateness, cfg.Engine = 1000*time.Second, 100*time.Second, engine
			all := longFeed()
			want := newSentencesByKey(all)
			d, err := detector.NewPartition(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var got []feed.Match
			backward := 0
			for i := range all {
				x := &all[i]
				got = d.Lookup(got[:0], x)
				for j := range got {
					if err := want.check(&got[j]); err != nil {
						t.Fatal(err)
					}
					if got[j].Later.Post != x.Post {
						backward++
					}
				}
				d.Insert(x)
				d.Advance(all[max(0, i-20)].Time)
			}
			s := d.Stats()
			if s.Groups > 200 || backward < 500 || s.Occurrences > len(all)/2 {
				t.Errorf("%d texts, %d events of older rows, and %d of %d occurrences left: nothing was put to the test", s.Groups, backward, s.Occurrences, len(all))
			}
		})
	}
}

// longFeed begins with texts that are said once, so many that the window numbers its tokens anew when they have gone; then
// it says some texts over and over and others now and then. Every tenth sentence comes late, after one that repeats it.
func longFeed() []feed.Sentence {
	all := make([]feed.Sentence, 6000)
	for i := range all {
		n, late := i, feed.Time(0)
		if i%10 == 4 {
			n, late = i-5-i/10%2, 15_000
		}
		said := uint64(n % 3)
		switch {
		case n < 2000:
			said = uint64(1000 + n)
		case n%2 == 0:
			said = uint64(n % 98)
		}
		all[i] = sentence(feed.Time(max(i, 2000)*1000)-late, fmt.Sprintf("p%d", i), 0, uint64(i), said+100, 1, 2, 3, 4)
	}
	dress(all)
	return all
}
