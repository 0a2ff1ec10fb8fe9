package peers

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"refrain/feed"
)

// merge puts answers together: what is most alike first, whoever owns it, and while there is room sentence by sentence. A
// partition that two have answered for, one of which has lost it meanwhile, counts once; nil answers are those that did not
// come.
func merge(n int, answers []*Answer, limit int, reasons []error) Result {
	m := merger{sentences: map[int]*Sentence{}, answered: make([]bool, n)}
	for _, a := range answers {
		if a != nil {
			m.add(a)
		}
	}
	r := Result{Reasons: reasons}
	for _, i := range slices.Sorted(maps.Keys(m.sentences)) {
		r.Sentences = append(r.Sentences, m.sentences[i].cut(&limit))
	}
	for q, ok := range m.answered {
		if !ok {
			r.Missing = append(r.Missing, q)
		}
	}
	return r
}

type merger struct {
	sentences map[int]*Sentence
	answered  []bool
}

func (m *merger) add(a *Answer) {
	for _, q := range a.Partitions {
		if q >= 0 && q < len(m.answered) {
			m.answered[q] = true
		}
	}
	for i := range a.Sentences {
		s := &a.Sentences[i]
		to := m.sentences[s.Index]
		if to == nil {
			to = &Sentence{Index: s.Index}
			m.sentences[s.Index] = to
		}
		to.Matches, to.Truncated = append(to.Matches, s.Matches...), to.Truncated || s.Truncated
	}
}

// cut puts the matches of a sentence in order, and takes those that there is room for.
func (s *Sentence) cut(room *int) Sentence {
	slices.SortFunc(s.Matches, func(a, b feed.Match) int {
		return cmp.Or(cmp.Compare(b.Value(), a.Value()), bytes.Compare(a.ID[:], b.ID[:]))
	})
	s.Matches = slices.CompactFunc(s.Matches, func(a, b feed.Match) bool { return a.ID == b.ID })
	if len(s.Matches) > *room {
		s.Matches, s.Truncated = s.Matches[:max(0, *room)], true
	}
	*room -= len(s.Matches)
	return *s
}

// Answer is r as the answer of one owner of n partitions, for another round.
func (r *Result) Answer(n int) *Answer {
	a := &Answer{Sentences: r.Sentences}
	for q := range n {
		if !slices.Contains(r.Missing, q) {
			a.Partitions = append(a.Partitions, q)
		}
	}
	return a
}
