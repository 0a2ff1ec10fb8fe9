package detector_test

import (
	"testing"

	"pgregory.net/rapid"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/oracle"
	"refrain/text"
)

// TestEachMatchFrom: what a window finds from a higher threshold on is what a window of that threshold finds, by every
// similarity.
func TestEachMatchFrom(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				cfg := drawConfig(r, t)
				cfg.Engine = engine
				stricter := cfg
				stricter.Threshold = drawStricter(r, cfg.Threshold)
				d, s := mustPartition(r, cfg), mustPartition(r, stricter)
				for _, x := range randomFeed(r) {
					var got []feed.Match
					d.EachMatchFrom(stricter.Threshold, &x, func(m *feed.Match) { got = append(got, *m) })
					compare(r, ids(got), oracle.Sorted(ids(s.Lookup(nil, &x))))
					d.Insert(&x)
					s.Insert(&x)
				}
			})
		})
	}
}

// drawStricter is a threshold that is at least t.
func drawStricter(r *rapid.T, t text.Threshold) text.Threshold {
	den := rapid.IntRange(1, 60).Draw(r, "den")
	least := (t.Num*den + t.Den - 1) / t.Den
	return text.Threshold{Num: rapid.IntRange(least, den).Draw(r, "num"), Den: den}
}

func mustPartition(r *rapid.T, cfg detector.Config) *detector.Partition {
	p, err := detector.NewPartition(cfg)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// TestIDsByMeasure: Jaccard has those that there always were, and two similarities none in common.
func TestIDsByMeasure(t *testing.T) {
	for s, scheme := range map[text.Similarity]string{text.Jaccard: "near", text.Cosine: "near/cosine", text.Dice: "near/dice"} {
		cfg := detector.Default()
		cfg.Similarity = s
		d, err := detector.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var matches []feed.Match
		for _, id := range []string{"a", "b"} {
			matches, err = d.Add(feed.Post{ID: id, Text: "one two three four five"})
		}
		if err != nil || len(matches) != 1 {
			t.Fatalf("%v: %d matches, %v", s, len(matches), err)
		}
		m := &matches[0]
		want := feed.EventID(scheme, "", "b", 0, m.Later.Group, m.Group)
		if m.ID != want || m.Scheme != "near" || m.Value() != 1 || m.Jaccard != 1 || (m.Measure == "") != (s == text.Jaccard) {
			t.Errorf("%v: id %v, want %v; %+v", s, m.ID, want, m)
		}
	}
}

// TestOverlapIsNoMeasureOfADetector, whose thresholds go to 1.
func TestOverlapIsNoMeasureOfADetector(t *testing.T) {
	cfg := detector.Default()
	cfg.Similarity = text.Overlap
	if _, err := detector.New(cfg); err == nil {
		t.Error("no error")
	}
}
