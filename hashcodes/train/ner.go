package train

import (
	"math"

	"refrain/hashcodes"
	"refrain/internal/units"
)

// together visits the pairs i < j of tokens of the vocabulary that are in one set together, with the number of such sets.
func (s *state) together(visit func(i, j int, both uint32)) {
	counts := make([]uint32, len(s.vocab))
	var partners []uint32
	for i := range s.vocab {
		for _, row := range s.holders.at(i) {
			for _, j := range s.tokens.at(int(row)) {
				if int(j) <= i {
					continue
				}
				if counts[j] == 0 {
					partners = append(partners, j)
				}
				counts[j]++
			}
		}
		for _, j := range partners {
			visit(i, int(j), counts[j])
			counts[j] = 0
		}
		partners = partners[:0]
	}
}

// affinity is s_ij = #(i, j) / sqrt(#i #j), #(i, j) the sets that hold both tokens.
func (s *state) affinity(i, j int, both uint32) float64 {
	return float64(both) / math.Sqrt(float64(s.vocab[i].frequency)*float64(s.vocab[j].frequency))
}

// minAffinities are what the learner ner tries: tokens with at least that affinity share one code.
var minAffinities = []float64{0.3, 0.5, 0.7, 0.9}

// Merged says what one least affinity of the learner ner led to.
type Merged struct {
	Affinity float64 `json:"affinity"`
	Classes  int     `json:"classes"` // of two tokens or more
	Largest  int     `json:"largest"` // tokens of the largest class: chains make it large
	Tokens   int     `json:"tokens"`  // in all classes
	Cost     float64 `json:"cost"`    // candidates of a query on the validation sets, by which it is chosen; see choice
	Chosen   bool    `json:"chosen"`  // it did best on the validation sets
}

// ner gives one code to tokens that are often in one sentence: "the same hash code for the words which often occur
// together", the baseline of Zhang et al. A class has the hashed code of its most frequent token. Of several least
// affinities the one that does best on the validation sets is taken; see choice.
func (l *learning) ner() (*hashcodes.Model, Cost, error) {
	md5, err := l.model(l.Ones, nil)
	if err != nil {
		return nil, Cost{}, err
	}
	s := newState(l.sample.Learning, l.vocab, md5)
	best, err := l.newChoice()
	if err != nil {
		return nil, Cost{}, err
	}
	for _, c := range minAffinities {
		if err := l.ctx.Err(); err != nil {
			return nil, Cost{}, err
		}
		class := s.merge(c)
		m, err := l.model(l.Ones, s.shared(class))
		if err != nil {
			return nil, Cost{}, err
		}
		merged := describeClasses(class)
		merged.Affinity, merged.Cost = c, best.offer(m)
		l.report.Merged = append(l.report.Merged, merged)
		l.logf("ner, least affinity %.1f: %d tokens in %d classes, %s candidates a query", c, merged.Tokens, merged.Classes,
			units.Three(merged.Cost))
	}
	l.report.Merged[best.order].Chosen = true
	return best.chosen()
}

// merge returns for each token the most frequent one of its class, by number. Pairs with at least that affinity are of
// one class, and so is whatever a chain of such pairs joins.
func (s *state) merge(affinity float64) []int {
	parent := make([]int, len(s.vocab))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	s.together(func(i, j int, both uint32) {
		if a, b := root(i), root(j); s.affinity(i, j, both) >= affinity {
			parent[max(a, b)] = min(a, b) // the less number is the more frequent token
		}
	})
	for i := range parent {
		parent[i] = root(i)
	}
	return parent
}

// shared are the entries of the vocabulary with the codes of the tokens that stand for them.
func (s *state) shared(class []int) []hashcodes.Entry {
	entries := s.entries()
	for i := range entries {
		entries[i].Positions = positions(s.code(class[i]))
	}
	return entries
}

func describeClasses(class []int) (m Merged) {
	size := map[int]int{}
	for _, root := range class {
		size[root]++
	}
	for _, n := range size {
		if n > 1 {
			m.Classes++
			m.Tokens += n
			m.Largest = max(m.Largest, n)
		}
	}
	return m
}
