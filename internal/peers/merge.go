package peers

import (
	"cmp"
	"maps"
	"slices"
)

// merge puts answers together as one process would give them: in the order of the partitions. A partition that two have
// answered for, one of which has lost it meanwhile, counts once; nil answers are those that did not come.
func merge(n int, answers []*Answer, limit int, reasons []error) Result {
	answers = slices.DeleteFunc(slices.Clone(answers), func(a *Answer) bool { return a == nil || len(a.Partitions) == 0 })
	slices.SortStableFunc(answers, func(a, b *Answer) int { return cmp.Compare(slices.Min(a.Partitions), slices.Min(b.Partitions)) })
	m := merger{sentences: map[int]*Sentence{}, answered: make([]bool, n), room: limit}
	for _, a := range answers {
		m.add(a)
	}
	r := Result{Reasons: reasons}
	for _, i := range slices.Sorted(maps.Keys(m.sentences)) {
		r.Sentences = append(r.Sentences, *m.sentences[i])
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
	room      int // for matches
}

func (m *merger) add(a *Answer) {
	again := true // all of it is known
	for _, q := range a.Partitions {
		if q >= 0 && q < len(m.answered) {
			again = again && m.answered[q]
			m.answered[q] = true
		}
	}
	if again {
		return
	}
	for i := range a.Sentences {
		m.addSentence(&a.Sentences[i])
	}
}

func (m *merger) addSentence(s *Sentence) {
	to := m.sentences[s.Index]
	if to == nil {
		to = &Sentence{Index: s.Index}
		m.sentences[s.Index] = to
	}
	to.Truncated = to.Truncated || s.Truncated
	for i := range s.Matches {
		if m.room <= 0 {
			to.Truncated = true
			return
		}
		if to.has(s.Matches[i].ID) {
			continue
		}
		to.Matches = append(to.Matches, s.Matches[i])
		m.room--
	}
}
