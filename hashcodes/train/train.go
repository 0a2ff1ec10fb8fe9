package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/text"
)

// Learners are the names of the learners, ours first.
var Learners = []string{"direct", "opt", "ner", "md5"}

// Config says what to learn. Default has values for all of it.
type Config struct {
	Learner    string       // one of Learners
	Bits       int          // m: 32, 64, 128 or 256
	Ones       int          // l: ones of a code, at most
	Measure    text.Measure // of the searches that the codes are for
	Vocabulary int          // tokens whose codes are learned, 1 or more at most: the most frequent
	Seed       uint64
	Lambdas    []float64               // that the learner opt tries
	Affinities []float64               // that the learner ner tries: tokens with at least that affinity share one code
	Fixed      bool                    // ner and opt choose by searches within a fixed distance, as in their paper
	KeepRecall bool                    // then ner has no class because of which such a search finds less
	Words      func(token uint64) bool // tokens whose codes may be learned; nil: of no token is it asked
	Sources    []string                // what the sentences come from, for the report
	Workers    int                     // goroutines, 1 or more
	Progress   func(string)            // told of progress; nil: none
}

// DefaultSentences is how many distinct sentences a sample has, where nobody says another number: 300,000.
const DefaultSentences = 300_000

// Default is our learner, for the searches of a window as it is by default, with all processors. The λ are such that
// with less all codes fall together, and with more they stay the hashed ones.
func Default() Config {
	return Config{
		Learner: Learners[0], Bits: hashcodes.DefaultBits, Ones: hashcodes.DefaultOnes,
		Measure: text.Jaccard.At(text.DefaultThreshold), Vocabulary: 10_000, Seed: 1, Workers: runtime.GOMAXPROCS(0),
		Lambdas: []float64{0.3, 0.5, 1, 3}, Affinities: []float64{0.3, 0.5, 0.7, 0.9},
	}
}

// Report is what a model says about how it was trained (hashcodes.Description.TrainedOn).
type Report struct {
	Sources    []string `json:"sources,omitempty"`
	Seen       int      `json:"seen"`              // sentences in the stream
	Learning   int      `json:"learning"`          // distinct sets that were learned from
	Validation int      `json:"validation"`        // and later ones that were not
	Vocabulary int      `json:"vocabulary"`        // tokens with codes of their own
	Measure    string   `json:"measure,omitempty"` // none: jaccard
	Threshold  string   `json:"threshold"`
	Ones       int      `json:"ones_asked"` // the model may state fewer
	Before     Cost     `json:"before"`     // of hashed codes, with HashedOnes, on validation sets that picked nothing
	After      Cost     `json:"after"`      // of the model, on the same

	BeforeOnes int `json:"ones_before,omitempty"` // of the hashed codes, where fewer than asked for do better

	Merged []Merged `json:"merged,omitempty"` // by the learner ner
	Solved []Solved `json:"solved,omitempty"` // by the learner opt
}

// HashedOnes is the number of ones of the hashed codes that the model is compared with.
func (r *Report) HashedOnes() int { return cmp.Or(r.BeforeOnes, r.Ones) }

// validationQueries is how many validation sets are searched for among all sets of the sample, at most: so many to pick
// the best codes by, and so many others to say in the report what those are worth.
const validationQueries = 2000

// Learn learns a model from a sample. With more than one bit a token allowed, direct tries fewer too, and the model
// states the number that did best: the radius grows with it, so that fewer are often better.
func (c Config) Learn(ctx context.Context, s *Sample) (*hashcodes.Model, *Report, error) {
	if err := c.validate(s); err != nil {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	l := newLearning(ctx, c, s)
	md5, err := l.model(c.Ones, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	m, err := l.learn(md5)
	if err == nil {
		err = l.compare(m)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("train %s: %w", c.Learner, err)
	}
	m, err = l.describe(m)
	return m, &l.report, err
}

// compare says in the report what the model is worth beside hashed codes.
func (l *learning) compare(m *hashcodes.Model) error {
	hashed, err := l.model(l.report.HashedOnes(), nil)
	if err != nil {
		return err
	}
	l.report.Before, l.report.After = l.count(hashed, l.judges), l.count(m, l.judges)
	return l.ctx.Err() // what was counted after the end of the context means nothing
}

func (c Config) validate(s *Sample) error {
	var errs []error
	if err := c.CheckLearner(); err != nil {
		errs = append(errs, err)
	}
	if c.Vocabulary < 1 {
		errs = append(errs, fmt.Errorf("vocabulary of %d tokens: want 1 or more", c.Vocabulary))
	}
	if err := c.Measure.Check(); err != nil {
		errs = append(errs, err)
	}
	if c.Learner == "opt" && len(c.Lambdas) == 0 {
		errs = append(errs, errors.New("no lambdas for the learner opt"))
	}
	if c.Learner == "ner" && len(c.Affinities) == 0 {
		errs = append(errs, errors.New("no affinities for the learner ner"))
	}
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("%d workers: want 1 or more", c.Workers))
	}
	if len(s.Learning) == 0 {
		errs = append(errs, errors.New("no sentences to learn from"))
	}
	return errors.Join(errs...)
}

// CheckLearner says whether there is such a learner.
func (c Config) CheckLearner() error {
	if !slices.Contains(Learners, c.Learner) {
		return fmt.Errorf("learner %q: want one of %s", c.Learner, strings.Join(Learners, ", "))
	}
	return nil
}

// learning is one run of a learner.
type learning struct {
	Config
	ctx      context.Context
	sample   *Sample
	vocab    []word
	all      *table                        // every set of the sample
	states   [hashcodes.MaxOnes + 1]*state // the same by ones, with what tokens outside the vocabulary set
	queries  [][]uint64                    // validation sets to pick codes by
	judges   [][]uint64                    // other ones, for the report
	progress progress
	report   Report
}

func newLearning(ctx context.Context, c Config, s *Sample) *learning {
	l := &learning{Config: c, ctx: ctx, sample: s, vocab: c.vocabulary(s)}
	l.all = newTable(slices.Concat(s.Learning, s.Validation), c.Bits/32)
	l.queries, l.judges = halve(s.Validation, c.Seed)
	l.progress = progress{logf: l.logf, start: time.Now()}
	l.report = Report{
		Sources: c.Sources, Seen: s.Seen, Learning: len(s.Learning), Validation: len(s.Validation), Vocabulary: len(l.vocab),
		Threshold: c.Measure.Threshold.String(), Ones: c.Ones,
	}
	if c.Measure.Similarity != text.Jaccard {
		l.report.Measure = c.Measure.Similarity.String()
	}
	return l
}

// vocabulary is the words whose codes are learned.
func (c Config) vocabulary(s *Sample) []word {
	words := frequent(s.Learning, math.MaxInt)
	if c.Words != nil {
		words = slices.DeleteFunc(words, func(w word) bool { return !c.Words(w.token) })
	}
	return words[:min(c.Vocabulary, len(words))]
}

// halve draws two lots of validation sets that have none in common, from early and late ones alike.
func halve(sets [][]uint64, seed uint64) (some, others [][]uint64) {
	sets = slices.Clone(sets)
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	some, others = sets[:(len(sets)+1)/2], sets[(len(sets)+1)/2:]
	return some[:min(len(some), validationQueries)], others[:min(len(others), validationQueries)]
}

func (l *learning) learn(md5 *hashcodes.Model) (m *hashcodes.Model, err error) {
	switch l.Learner {
	case "direct":
		return l.learnDirect()
	case "opt":
		m, _, err = l.opt()
	case "ner":
		m, _, err = l.ner()
	default:
		m = md5
	}
	return m, err
}

// maxHashedRatio: with so many times the false candidates of the best, the hashed codes of a number of ones are not
// tried.
const maxHashedRatio = 4

// learnDirect learns for every number of ones up to the one asked for, and returns the model that is best on the
// validation sets.
func (l *learning) learnDirect() (learnDirect *hashcodes.Model, err error) {
	numbers, err := l.onesToTry()
	if err != nil {
		return nil, err
	}
	for _, s := range schedules {
		l.progress.rounds += s.rounds * len(numbers)
	}
	var minCost Cost
	for _, ones := range numbers {
		l.logf("learning codes of %d %s a token", ones, plural(ones, "bit"))
		m, cost, err := l.direct(ones)
		if err != nil {
			return nil, err
		}
		if learnDirect == nil || cost.False < minCost.False {
			learnDirect, minCost = m, cost
		}
	}
	return learnDirect, nil
}

// onesToTry lists the numbers of ones that are worth a try by their hashed codes, and has the report compare with the
// best of these.
func (l *learning) onesToTry() (numbers []int, err error) {
	hashed, best := make([]Cost, l.Ones+1), 1
	for ones := 1; ones <= l.Ones; ones++ {
		md5, err := l.model(ones, nil)
		if err != nil {
			return nil, err
		}
		hashed[ones] = l.validate(md5)
		l.logf("%d %s a token, hashed: %s false candidates a query", ones, plural(ones, "bit"),
			units.Three(hashed[ones].PerQuery()))
		if hashed[ones].False < hashed[best].False {
			best = ones
		}
	}
	if best < l.Ones {
		l.report.BeforeOnes = best
	}
	for ones := 1; ones <= l.Ones; ones++ {
		if hashed[ones].False <= maxHashedRatio*hashed[best].False {
			numbers = append(numbers, ones)
		}
	}
	return numbers, l.ctx.Err()
}

// model makes a model of codes.
func (l *learning) model(ones int, entries []hashcodes.Entry) (*hashcodes.Model, error) {
	return hashcodes.New(hashcodes.Description{
		Bits: l.Bits, Ones: ones, Learner: l.Learner, Seed: l.Seed, TextVersion: text.Version,
	}, entries)
}

// describe returns the model with the report in it.
func (l *learning) describe(m *hashcodes.Model) (*hashcodes.Model, error) {
	about := m.Description()
	report, err := json.Marshal(l.report)
	if err != nil {
		return nil, fmt.Errorf("train: report: %w", err)
	}
	about.TrainedOn = string(report)
	return hashcodes.New(about, slices.Collect(m.Entries()))
}

// validate says what a model costs on the sets that codes are picked by.
func (l *learning) validate(m *hashcodes.Model) Cost { return l.count(m, l.queries) }

func (l *learning) count(m *hashcodes.Model, queries [][]uint64) Cost {
	s := l.states[m.Ones()]
	if s == nil {
		s = newState(l.all.sets, l.vocab, m)
		l.states[m.Ones()] = s
	}
	s.load(m)
	return s.tab.count(l.ctx, m, l.Measure, queries, l.Workers)
}

func (l *learning) logf(format string, args ...any) {
	if l.Progress != nil {
		l.Progress(fmt.Sprintf(format, args...))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
