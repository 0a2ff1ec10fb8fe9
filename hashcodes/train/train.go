package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"refrain/hashcodes"
	"refrain/text"
)

// Learners are the names of the learners, ours first.
var Learners = []string{"direct", "opt", "ner", "md5"}

// Config says what to learn.
type Config struct {
	Learner    string // one of Learners
	Bits       int    // m
	Ones       int    // l: ones of a code, at most
	Threshold  text.Threshold
	Vocabulary int // tokens whose codes are learned, at most: the most frequent
	Seed       uint64
	Lambdas    []float64               // that the learner opt tries; nil: proximities
	Fixed      bool                    // ner and opt choose by searches within a fixed distance, as their paper measures, not the lossless radius
	Words      func(token uint64) bool // tokens whose codes may be learned; nil: all
	Sources    []string                // what the sentences come from, for the report
	Workers    int                     // goroutines; 0: as many as may run at once
	Say        func(string)            // hears of progress; may be nil
}

// Report is what a model says about how it was trained (hashcodes.Description.TrainedOn).
type Report struct {
	Sources    []string `json:"sources,omitempty"`
	Seen       int      `json:"seen"`       // sentences in the stream
	Learning   int      `json:"learning"`   // distinct sets that were learned from
	Validation int      `json:"validation"` // and later ones that were not
	Vocabulary int      `json:"vocabulary"` // tokens with codes of their own
	Threshold  string   `json:"threshold"`
	Ones       int      `json:"ones_asked"` // the model may state fewer
	Before     Cost     `json:"before"`     // of md5 with that many ones, on the validation sets
	After      Cost     `json:"after"`      // of the model

	Merged []Merged `json:"merged,omitempty"` // by the learner ner
	Solved []Solved `json:"solved,omitempty"` // by the learner opt
}

// validationQueries is how many validation sets are searched for, at most, among all sets of the sample.
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
	l.report.Before = l.validate(md5)
	l.say("md5: %.2f false candidates a query", l.report.Before.PerQuery())
	m, cost, err := l.learn(md5)
	if err != nil {
		return nil, nil, fmt.Errorf("train %s: %w", c.Learner, err)
	}
	l.report.After = cost
	m, err = l.describe(m)
	return m, &l.report, err
}

func (c Config) validate(s *Sample) error {
	var errs []error
	if err := c.CheckLearner(); err != nil {
		errs = append(errs, err)
	}
	if c.Vocabulary < 1 {
		errs = append(errs, fmt.Errorf("vocabulary of %d tokens: want 1 or more", c.Vocabulary))
	}
	if c.Threshold.Num < 1 || c.Threshold.Num > c.Threshold.Den {
		errs = append(errs, fmt.Errorf("threshold %v: want more than 0 and at most 1", c.Threshold))
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
	ctx     context.Context
	sample  *Sample
	vocab   []word
	workers int
	all     *table     // every set of the sample
	queries [][]uint64 // validation sets
	report  Report
}

func newLearning(ctx context.Context, c Config, s *Sample) *learning {
	l := &learning{Config: c, ctx: ctx, sample: s, vocab: c.vocabulary(s), workers: c.Workers}
	if l.workers < 1 {
		l.workers = runtime.GOMAXPROCS(0)
	}
	l.all = newTable(slices.Concat(s.Learning, s.Validation), c.Bits/32)
	l.queries = s.Validation[:min(len(s.Validation), validationQueries)]
	l.report = Report{
		Sources: c.Sources, Seen: s.Seen, Learning: len(s.Learning), Validation: len(s.Validation), Vocabulary: len(l.vocab),
		Threshold: c.Threshold.String(), Ones: c.Ones,
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

func (l *learning) learn(md5 *hashcodes.Model) (*hashcodes.Model, Cost, error) {
	switch l.Learner {
	case "direct":
		return l.best()
	case "opt":
		return l.opt()
	case "ner":
		return l.ner()
	default:
		return md5, l.report.Before, nil
	}
}

// hopeless: with so many times the false candidates of the best, the hashed codes of a number of ones are not tried.
const hopeless = 4

// best learns for every number of ones up to the one asked for, and returns the best on the validation sets.
func (l *learning) best() (best *hashcodes.Model, least Cost, err error) {
	hashed := make([]Cost, l.Ones+1)
	for ones := 1; ones <= l.Ones; ones++ {
		md5, err := l.model(ones, nil)
		if err != nil {
			return nil, Cost{}, err
		}
		hashed[ones] = l.validate(md5)
	}
	limit := hopeless * slices.MinFunc(hashed[1:], func(a, b Cost) int { return a.False - b.False }).False
	for ones := 1; ones <= l.Ones; ones++ {
		if hashed[ones].False > limit {
			continue
		}
		m, cost, err := l.direct(ones)
		if err != nil {
			return nil, Cost{}, err
		}
		if best == nil || cost.False < least.False {
			best, least = m, cost
		}
	}
	return best, least, nil
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

func (l *learning) validate(m *hashcodes.Model) Cost {
	return l.all.count(m, l.Threshold, l.queries, l.workers)
}

func (l *learning) say(format string, args ...any) {
	if l.Say != nil {
		l.Say(fmt.Sprintf(format, args...))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
