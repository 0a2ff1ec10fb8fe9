package topic

import "slices"

// Incarnation is a stretch of a topic's life in which nothing that was appended got lost. A topic that is kept on disks
// without waiting for them begins one whenever it is opened by the process that serves it: what the last one had
// acknowledged may have been lost with the power, and what is appended next then takes positions that had other
// records. (Kafka's leader epochs are the same thing.)
type Incarnation struct {
	ID   string  // letters and digits; of two incarnations of a topic never the same
	From []int64 // per partition, where the topic ended when it began
}

// Lineage is the incarnations of a topic that are remembered, the oldest first; the last is the present one.
type Lineage []Incarnation

// Current is the present incarnation, to be kept with every position that is to outlive this process.
func (l Lineage) Current() string {
	if len(l) == 0 {
		return ""
	}
	return l[len(l)-1].ID
}

// ValidEnds returns, per partition, up to where t, which now ends at end, still is what it was in an incarnation: a greater
// position from there may have another record now. known is false for an incarnation that is not remembered, as in a
// topic that was made anew: then no position from there means anything.
func ValidEnds(t Topic, incarnation string, end []int64) (valid []int64, known bool) {
	valid = slices.Clone(end)
	if t.Ordered() { // positions of a quiet partition pass its end
		valid = slices.Repeat([]int64{slices.Max(end)}, len(end))
	}
	for _, one := range slices.Backward(t.Lineage()) {
		if one.ID == incarnation {
			return valid, true
		}
		for p, from := range one.From {
			valid[p] = min(valid[p], from)
		}
	}
	return make([]int64, len(end)), false
}
