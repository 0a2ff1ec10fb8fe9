package lossless

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/text"
)

// Options are what a table is of. Each has its default; a table looks at those that its default has.
type Options struct {
	Corpora    []string // by name
	Bits, Ones []int    // m and l
	Thresholds []string
	Learners   []string

	Further []*hashcodes.Model // that Property checks besides, on every corpus: the program's own
}

// Quick is o for a quick run: with two corpora at most.
func (o Options) Quick() Options {
	if len(o.Corpora) > 2 {
		o.Corpora = []string{"ira", "reuters"}
	}
	return o
}

// sorted is o with its ones in ascending order.
func (o Options) sorted() Options {
	o.Ones = slices.Sorted(slices.Values(o.Ones))
	return o
}

// ParseThresholds reads the thresholds.
func (o *Options) ParseThresholds() (all []text.Threshold, err error) {
	for _, s := range o.Thresholds {
		t, err := text.ParseThreshold(s)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// sizes are how much the learners are given, and how many queries count.
type sizes struct {
	queries                   int
	sentences                 int
	vocabulary, fewVocabulary int // of direct, and of the learners of the paper
}

func sizesOf(c *eval.Config) sizes {
	return eval.Size(c, sizes{2000, 300_000, 10_000, 3_000}, sizes{100, 1_000, 100, 100})
}

// spec is the model of a learner for a corpus.
func (s *sizes) spec(c *eval.Config, corpus, learner string, bits, ones int, t text.Threshold) spec {
	words := s.fewVocabulary
	if learner == "direct" {
		words = s.vocabulary
	}
	return spec{corpus, learner, bits, ones, t, words, s.sentences, c.Seed}
}

// shares of the sentences of a corpus that are learned from, by time. Reuters has a month, of which three weeks are.
var shares = map[string]float64{"reuters": 0.7}

func share(name string) float64 {
	if s, ok := shares[name]; ok {
		return s
	}
	return 0.5
}

// halves is a corpus cut in two by time, with queries.
type halves struct {
	name           string
	earlier, later [][]uint64 // as they come; each once, and none that was there before
	queries        [][]uint64 // of the later
}

func readHalves(ctx context.Context, c *eval.Config, name string, queries int) (*halves, error) {
	s, err := c.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	h := &halves{name: name}
	h.earlier, h.later = s.Split(share(name))
	if len(h.later) == 0 {
		return nil, fmt.Errorf("%s: no sentences that are later than those to learn from", name)
	}
	h.queries = some(h.later, queries, c.Seed)
	return h, nil
}

// some draws n of the sets, perhaps one twice.
func some(sets [][]uint64, n int, seed uint64) [][]uint64 {
	r := rand.New(rand.NewPCG(seed, 2))
	picked := make([][]uint64, n)
	for i := range picked {
		picked[i] = sets[r.IntN(len(sets))]
	}
	return picked
}

// String says what is in it.
func (h *halves) String() string {
	return fmt.Sprintf("%s (%s later, first %g %% learned from)", h.name, units.Thousands(len(h.later)), 100*share(h.name))
}

func (h *halves) trainer(c *eval.Config) *trainer { return newTrainer(c, h.earlier) }

func newTrainer(c *eval.Config, earlier [][]uint64) *trainer {
	// Models of a quick run are of the first sentences only: not those of the tables.
	return &trainer{dir: c.Models, suffix: eval.Size(c, "", "-quick"), earlier: earlier, logf: c.Now}
}

// kind is what a corpus consists of.
func kind(name string) string {
	c, err := corpus.Find(name)
	if err != nil {
		return ""
	}
	return c.Kind
}

func workers() int { return runtime.GOMAXPROCS(0) }

// decimal writes a threshold as the flag takes it.
func decimal(t text.Threshold) string { return fmt.Sprintf("%.4g", t.Float()) }

func joinNames(all []*halves) string {
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.String()
	}
	return strings.Join(names, ", ")
}
