package plan

import "refrain/internal/units"

// memory is what the window holds, in bytes for each of its distinct sentences, by what it is.
//
//	window = rows · (row + table + set + tokens · token + occurrences/rows · occurrence + text + dictionary + index)
//
// A group thins its older occurrences, so theirs is an upper bound: it is reached where few texts come more than a
// few times in span/16.
func (w *workload) memory() []Share {
	f, c := w.feed, w.costs
	shares := []Share{
		{"index", w.engine.index(w)},
		{"occurrences", c.OccurrenceBytes / f.DistinctShare},
		{"token sets", c.SetBytes + c.TokenBytes*f.TokensPerSentence},
		{"rows and their table", c.RowBytes + c.TableBytes},
		{"dictionary", c.DictionaryBytes},
	}
	if f.Texts {
		shares = append(shares, Share{"texts", c.TextBytes + f.TextBytes})
	}
	return shares
}

// windowBytes is one copy of the window.
func (w *workload) windowBytes() float64 { return w.feed.windowRows() * sum(w.memory()) }

// workerBytes is what a worker of c columns holds.
func (w *workload) workerBytes(columns int) float64 {
	return w.held(w.windowBytes() / float64(columns))
}

// held is what a process with such a window holds: process + window · (1 + garbage).
func (w *workload) held(window float64) float64 {
	return w.costs.ProcessBytes + window*(1+w.costs.Garbage)
}

// budget is what to allow the window of such a worker: what it is expected to hold, and a tenth for the error of that.
func (w *workload) budget(columns int) float64 {
	return max(units.MinBudget, 1.1*w.windowBytes()/float64(columns))
}

func sum(shares []Share) (total float64) {
	for _, s := range shares {
		total += s.Value
	}
	return total
}
