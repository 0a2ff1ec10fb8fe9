package shard

import (
	"testing"

	"refrain/feed"
	"refrain/topic"
)

// TestLookUpAllocatesNothing: what a look-up needs besides its rows is there already, whether it finds nothing or much.
func TestLookUpAllocatesNothing(t *testing.T) {
	q := &partition{}
	q.report = q.add
	x := &item{batch: topic.Batch{Sentences: make([]feed.Sentence, 1)}}
	nothing := func(*feed.Sentence, func(*feed.Match)) {}
	if n := testing.AllocsPerRun(100, func() { q.lookupSentence(x, 0, nothing) }); n > 0 {
		t.Errorf("%v allocations a look-up", n)
	}
}
