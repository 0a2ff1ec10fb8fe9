package shard

import "time"

// A turn is to take about so long, however costly its look-ups are: between two of them the metrics move, the state is
// stored, and whoever asks for the rows gets them. So what one turn receives is bounded by sentences, and the bound follows
// the time that turns take. It never is more than twice what the last turn received: many dear sentences may come after a
// long time of few cheap ones.
const (
	turnTime         = 500 * time.Millisecond
	minTurnSentences = 64
	maxTurnSentences = 1 << 16
)

// turnBound is how many sentences a turn receives, at most, but for its last record.
type turnBound int

// fit adapts the bound to a turn that received something.
func (b *turnBound) fit(sentences int, took time.Duration) {
	switch {
	case sentences == 0:
	case took > turnTime:
		*b = turnBound(max(minTurnSentences, min(int(*b), sentences)/2))
	case took < turnTime/2:
		*b = turnBound(max(minTurnSentences, min(maxTurnSentences, 2*sentences)))
	}
}

func sentencesOf(items []*item) (n int) {
	for _, x := range items {
		n += len(x.batch.Sentences)
	}
	return n
}
