package train

import (
	"errors"
	"math"
	"slices"

	"refrain/hashcodes"
	"refrain/internal/units"
)

// newWeighted is the state of the sample to learn from, whose pairs of tokens are counted in sentences: #(w_i, w_j) of Zhang
// et al. A set that came a hundred times is a hundred of them.
func (l *learning) newWeighted(m *hashcodes.Model) *state {
	s := newState(l.sample.Learning, l.vocab, m)
	s.weigh(l.sample.Learning, l.sample.Counts)
	return s
}

// weigh takes how many sentences have each of the sets that the state was made of.
func (s *state) weigh(sets [][]uint64, counts []uint32) {
	if counts != nil {
		order := make([]int, len(sets)) // row -> set, as newTable sorts them
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return len(sets[a]) - len(sets[b]) })
		s.counts = make([]uint32, len(sets))
		for row, i := range order {
			s.counts[row] = counts[i]
		}
	}
	s.frequencies = make([]float64, len(s.vocab))
	for i := range s.vocab {
		for _, row := range s.holders.at(i) {
			s.frequencies[i] += float64(s.count(row))
		}
	}
}

// count is the number of sentences that have a row's set.
func (s *state) count(row uint32) uint32 {
	if s.counts == nil {
		return 1
	}
	return s.counts[row]
}

// together visits the pairs i < j of tokens of the vocabulary that are in one sentence together, with the number of such
// sentences.
func (s *state) together(visit func(i, j int, both uint32)) {
	counts := make([]uint32, len(s.vocab))
	var partners []uint32
	for i := range s.vocab {
		for _, row := range s.holders.at(i) {
			n := s.count(row)
			for _, j := range s.tokens.at(int(row)) {
				if int(j) <= i {
					continue
				}
				if counts[j] == 0 {
					partners = append(partners, j)
				}
				counts[j] += n
			}
		}
		for _, j := range partners {
			visit(i, int(j), counts[j])
			counts[j] = 0
		}
		partners = partners[:0]
	}
}

// affinity is s_ij = #(i, j) / sqrt(#i #j), #(i, j) the sentences that hold both tokens.
func (s *state) affinity(i, j int, both uint32) float64 {
	return float64(both) / math.Sqrt(s.frequencies[i]*s.frequencies[j])
}

// Merged says what one least affinity of the learner ner led to.
type Merged struct {
	Affinity float64 `json:"affinity"`
	Classes  int     `json:"classes"`           // of two tokens or more
	Largest  int     `json:"largest"`           // tokens of the largest class: chains make it large
	Tokens   int     `json:"tokens"`            // in all classes
	Dropped  int     `json:"dropped,omitempty"` // classes that cost recall and are not among these
	Cost     float64 `json:"cost"`              // candidates of a query on the validation sets, by which it is chosen; see choice
	Chosen   bool    `json:"chosen"`            // it did best on the validation sets
}

// ner gives one code to tokens that are often in one sentence: "the same hash code for the words which often occur
// together", the baseline of Zhang et al. A class has the hashed code of its most frequent token. Of several least
// affinities the one that does best on the validation sets is taken; see choice.
func (l *learning) ner() (*hashcodes.Model, Cost, error) {
	md5, err := l.model(l.Ones, nil)
	if err != nil {
		return nil, Cost{}, err
	}
	s := l.newWeighted(md5)
	best, err := l.newChoice()
	if err != nil {
		return nil, Cost{}, err
	}
	for _, c := range l.Affinities {
		merged, m, err := l.mergeAll(s, best, md5, c)
		if err != nil {
			return nil, Cost{}, err
		}
		merged.Cost = best.offer(m)
		l.report.Merged = append(l.report.Merged, merged)
		l.logf("ner, least affinity %.1f: %d tokens in %d classes, %s candidates a query", c, merged.Tokens, merged.Classes,
			units.Three(merged.Cost))
	}
	l.report.Merged[best.order].Chosen = true
	return best.chosen()
}

// mergeAll makes the model of one least affinity.
func (l *learning) mergeAll(s *state, c *choice, md5 *hashcodes.Model, affinity float64) (Merged, *hashcodes.Model, error) {
	class := s.merge(affinity)
	m, err := l.model(l.Ones, s.shared(class))
	all := describeClasses(class).Classes
	if err == nil && l.Fixed && l.KeepRecall {
		c.setBaseline(md5)
		if c.losesRecall(m) {
			class, m, err = l.harmless(s, c, class, md5)
		}
	}
	if err = errors.Join(err, l.ctx.Err()); err != nil {
		return Merged{}, nil, err
	}
	merged := describeClasses(class)
	merged.Affinity, merged.Dropped = affinity, all-merged.Classes
	return merged, m, nil
}

// harmless is those of the classes that cost no recall within a fixed distance. A class empties signatures, and where similar
// sentences differ in words that are in no class, such as the figures of a formula, these are then less often hidden by others.
func (l *learning) harmless(s *state, c *choice, class []int, md5 *hashcodes.Model) ([]int, *hashcodes.Model, error) {
	d := &dropping{learning: l, state: s, choice: c, members: membersOf(class), class: make([]int, len(class)), best: md5}
	var roots []int
	for i, root := range class {
		d.class[i] = i
		if i == root && len(d.members[i]) > 1 {
			roots = append(roots, i)
		}
	}
	err := d.add(roots)
	return d.class, d.best, err
}

// dropping is a run of harmless.
type dropping struct {
	*learning
	*state
	*choice
	members map[int][]int
	class   []int            // with the classes that stay so far
	best    *hashcodes.Model // of these
}

// add adds classes, those of the most frequent words first, but for those that cost recall together with what is there. Few do:
// so they are tried all at once, then by halves.
func (d *dropping) add(roots []int) error {
	if len(roots) == 0 || d.ctx.Err() != nil {
		return nil
	}
	class := slices.Clone(d.class)
	for _, root := range roots {
		for _, i := range d.members[root] {
			class[i] = root
		}
	}
	m, err := d.learning.model(d.Ones, d.shared(class))
	if err != nil {
		return err
	}
	if !d.losesRecall(m) {
		d.class, d.best = class, m
		return nil
	}
	if len(roots) == 1 {
		return nil
	}
	half := len(roots) / 2
	return errors.Join(d.add(roots[:half]), d.add(roots[half:]))
}

// membersOf are the tokens of each class, by the one that stands for it.
func membersOf(class []int) map[int][]int {
	members := map[int][]int{}
	for i, root := range class {
		members[root] = append(members[root], i)
	}
	return members
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
	for _, tokens := range membersOf(class) {
		if n := len(tokens); n > 1 {
			m.Classes++
			m.Tokens += n
			m.Largest = max(m.Largest, n)
		}
	}
	return m
}
