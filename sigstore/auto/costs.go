package auto

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
	"refrain/sigstore/prefix"
	"refrain/sigstore/scan"
	"refrain/text"
)

// Choices are the engines on the CPU, with costs that fit this machine: some constants of the model are measured, in a few
// milliseconds, when they are first asked for. The others were fitted to BenchmarkCosts.
func Choices(bounds *hashcodes.Bounds, words int) []Choice {
	return []Choice{
		{Name: "prefix", Engine: prefix.New(bounds), Cost: func(l Load) float64 { return prefixCost(speed(), l) }},
		{Name: "scan", Engine: scan.New(bounds, words), Cost: func(l Load) float64 { return scanCost(pass(words), words, l) }},
	}
}

// common is what a look-up costs besides, in ns, with whatever engine: making the query and looking at what was found.
// Beside it a small difference is no reason to change.
const common = 1000

// prefixCost is
//
//	common + speed · (probe(rows) · Probes + 2.5 ns · Postings)
//
// A probe is two or three reads of memory that is far away when the window is large: 80 ns, and up to 200 ns more at a
// million rows.
func prefixCost(speed float64, l Load) float64 {
	probe := 80 + 200*min(1, l.Rows/1e6)
	return common + speed*(probe*l.Probes+2.5*l.Postings)
}

// scanCost is
//
//	common + PerPass · passes + (PerRow + memory / Batch) · rows
//
// with passes and rows as sigstore/scan has them on real sentences: a band is not left before it has some hundred rows,
// and the higher the threshold, the more rows of a sealed band are passed over. memory is what a row costs that comes from
// beyond the second cache, once for all queries of a batch.
func scanCost(c scan.Cost, words int, l Load) float64 {
	const unforeseen = 1.5 // passes of real searches differ in length
	passes := min(l.Bands*l.Blocks, l.Compared/700+1.5*l.Blocks+l.Bands)
	rows := l.Compared * min(1, 0.2+2*(1-l.Threshold))
	memory := 0.04 * float64(words) * min(1, l.Rows/2e5)
	return common + unforeseen*c.PerPass*passes + (1.6*c.PerRow+memory/l.Batch)*rows
}

// Card is what a GPU takes of the time of a window.
type Card struct {
	Launch     float64 // ns, of a launch that compares little
	Comparison float64 // ns
	Batch      int     // queries that go in one launch at most
}

// ErrNotYet says that what a GPU takes is not known yet, and will be.
var ErrNotYet = errors.New("not measured yet")

// OnCard is the choice of an engine on a GPU. card is asked what the GPU takes when look-ups cost so much that it might be
// the better one, and then at every look at the load; after another error than ErrNotYet it is not chosen.
func OnCard(engine sigstore.Engine, card func() (Card, error)) Choice {
	return Choice{Name: "cuda", Engine: engine, Min: cardBase, Cost: func(l Load) float64 {
		c, err := card()
		switch {
		case errors.Is(err, ErrNotYet):
			return math.NaN()
		case err != nil:
			return math.Inf(1)
		}
		return cardCost(c, l)
	}}
}

// What a look-up by a GPU takes of the processor, as plan.GPUCost has it: making the query, the host path and the driver, of
// which the latter is not measured; and to find that a candidate is false, in ns.
const (
	cardBase  = 1800
	cardFalse = 700
)

// cardCost is
//
//	cardBase + Launch / Batch + Comparison · Compared + cardFalse · Near
//
// all one after the other: a window waits for the answers of a launch before it looks at them.
func cardCost(c Card, l Load) float64 {
	batch := max(1, min(l.Together, float64(c.Batch)))
	return cardBase + c.Launch/batch + c.Comparison*l.Compared + cardFalse*l.Near()
}

// pass calibrates the scan for signatures of so many words.
func pass(words int) scan.Cost {
	passes.Lock()
	defer passes.Unlock()
	c, ok := passes.costs[words]
	if !ok {
		kernels := hamming.Kernels()
		c = scan.Calibrate(kernels[len(kernels)-1], words)
		passes.costs[words] = c
	}
	return c
}

var passes = struct {
	sync.Mutex
	costs map[int]scan.Cost
}{costs: map[int]scan.Cost{}}

// reference is what a search of the trial costs on the machine where the constants were fitted (AMD EPYC of 2024), in ns.
const reference = 166

// speed is how many times slower this machine is in searching a prefix index.
var speed = sync.OnceValue(func() float64 {
	t := newTrial(2048)
	best := math.Inf(1)
	for range 64 { // 3 ms: the first ones find the processor at rest
		best = min(best, t.search())
	}
	return best / reference
})

// trial is a small window of made-up rows: ten tokens each, of which some are frequent.
type trial struct {
	index  sigstore.Index
	tokens [][]uint32
	df     []uint32
}

func newTrial(rows int) *trial {
	t := &trial{df: make([]uint32, 4*rows)}
	seed := uint64(1)
	random := func() float64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return float64(seed>>11) / (1 << 53)
	}
	for range rows {
		var set []uint32
		for range 10 {
			set = append(set, uint32(math.Pow(float64(len(t.df)), random()))-1) // Zipf's law
		}
		slices.Sort(set)
		set = slices.Compact(set)
		for _, n := range set {
			t.df[n]++
		}
		t.tokens = append(t.tokens, set)
	}
	t.index = prefix.New(hashcodes.NewBounds(text.Jaccard.At(text.Threshold{Num: 7, Den: 10}), 1))(t)
	t.index.Open()
	for _, set := range t.tokens {
		t.index.Add(set, t.Signature(set))
	}
	return t
}

func (t *trial) Frequencies() []uint32          { return t.df }
func (t *trial) Tokens(r sigstore.Row) []uint32 { return t.tokens[r.Row] }

func (t *trial) Signature(tokens []uint32) hashcodes.Signature {
	sig := hashcodes.Signature{0, 0}
	for _, n := range tokens {
		bit := n * 0x9E3779B1 >> 26
		sig[bit/32] |= 1 << (bit % 32)
	}
	return sig
}

// search is the time of a search, in nanoseconds.
func (t *trial) search() float64 {
	queries := make([]sigstore.Query, 256)
	for i := range queries {
		set := t.tokens[i*len(t.tokens)/len(queries)]
		queries[i] = sigstore.Query{Tokens: set, Size: len(set), Signature: t.Signature(set), Hits: make([]sigstore.Row, 0, 64)}
	}
	begin := time.Now()
	t.index.Search(queries)
	return float64(time.Since(begin).Nanoseconds()) / float64(len(queries))
}
