package sim

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// TestWantedAfterPowerCut: what counted where the power took it has not to come because a redelivery of the same time is
// left. Nor has what would count but for a record that was dropped before. All of that may have come.
func TestWantedAfterPowerCut(t *testing.T) {
	type write struct {
		post         string
		minute, time int // when it is appended, and its time
		timed        bool
	}
	const lateness = 5 * time.Minute
	original := write{"a", 0, 0, true}
	tests := []struct {
		name          string
		writes        []write // each a record
		purged, left  int64   // below purged they are dropped before the power cut; left are at its end
		allowed, want int     // pairs
	}{
		{"nothing is lost", []write{original, {"b", 1, 1, false}}, 0, 2, 1, 1},
		{"it is lost", []write{original, {"b", 1, 1, false}}, 0, 1, 1, 0},
		{"a redelivery is left", []write{original, {"b", 1, 1, false}, {"b", 2, 2, false}}, 0, 3, 1, 1},
		// b as of minute 3 is a redelivery at first. Beyond the 2 minutes of redelivery it is appended again, as it was
		// stamped then: a further version, that repeats c.
		{"a redelivery of its time is left", []write{{"b", 1, 1, false}, {"b", 2, 3, false}, {"c", 2, 2, true},
			{"b", 6, 3, false}}, 0, 3, 2, 1},
		{"and it", []write{{"b", 1, 1, false}, {"b", 2, 3, false}, {"c", 2, 2, true}, {"b", 6, 3, false}}, 0, 4, 2, 2},
		{"and it, too late", []write{{"b", 1, 1, false}, {"b", 2, 3, false}, {"c", 2, 2, true}, {"b", 9, 3, false}}, 0, 4, 2, 1},
		{"one with a time comes again", []write{{"b", 1, 1, true}, original, {"b", 200, 1, true}}, 0, 3, 1, 1},
		{"what it repeats is dropped", []write{{"b", 1, 1, false}, original, {"b", 2, 2, false}}, 1, 3, 1, 0},
		{"what it repeats is dropped and out of reach", []write{{"b", 1, 1, false}, original, {"b", 20, 20, false}}, 1, 3, 1, 1},
		{"a post with a time is dropped and comes again", []write{{"b", 1, 1, true}, original, {"b", 200, 1, true}}, 1, 3, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(Subject{}, rand.New(rand.NewPCG(0, 0)))
			w.plan.Partitions, w.plan.Span, w.plan.Redelivery, w.plan.Lateness = 1, time.Hour, 2*time.Minute, lateness
			w.sentenceTopic = topic.NewMemory(w.topicConfig(1))
			begin := w.now
			for _, x := range test.writes {
				w.now = begin.Add(time.Duration(x.minute) * time.Minute)
				s := feed.Sentence{Source: "s", Post: x.post, Time: feed.FromTime(begin).Add(time.Duration(x.time) * time.Minute),
					Untimed: !x.timed, Tokens: []uint64{1}}
				b := topic.Batch{Sentences: []feed.Sentence{s}}
				if err := w.sentenceTopic.Append(context.Background(), []topic.Record{{Data: b.Append(nil)}}); err != nil {
					t.Fatal(err)
				}
			}
			w.dropping(func() { w.sentenceTopic.Truncate(0, test.purged) })
			w.remember()
			w.powerCuts++
			w.sentenceTopic.Cut([]int64{test.left})
			allowed, want := w.define()
			if len(allowed) != test.allowed || len(want) != test.want {
				t.Errorf("%d pairs allowed and %d wanted, want %d and %d", len(allowed), len(want), test.allowed, test.want)
			}
		})
	}
}
