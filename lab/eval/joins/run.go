package joins

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/join"
	"refrain/lab/cpu"
	"refrain/lab/eval"
	"refrain/text"
)

// algorithms are in the order of the tables: the paper's, then ours.
var algorithms = []join.Algorithm{join.AllPairs, join.PPJoin, join.PPJoinPlus, join.Ours}

// Run is one algorithm on one collection.
type Run struct {
	Records   string     `json:"records"`
	Share     float64    `json:"share"` // of the records
	Sets      int        `json:"sets"`
	Measure   string     `json:"measure"`
	Threshold float64    `json:"threshold"`
	Algorithm string     `json:"algorithm"`
	Seconds   float64    `json:"seconds"` // of the processor, the least of the runs
	Stats     join.Stats `json:"stats"`
	Sum       uint64     `json:"sum"` // of the pairs: equal for equal pairs
}

// config is of one goroutine, and of the paper's depth of the suffix filter.
func config(m text.Measure, a join.Algorithm) join.Config {
	return join.Config{Measure: m, Algorithm: a, MaxDepth: 2, Workers: 1}
}

// All algorithms have turns, forwards and backwards; one where a turn of all takes longer than some seconds.
const (
	turns       = 2
	longSeconds = 10
)

// compare runs all algorithms in turns. It is an error when they do not find the same.
func compare(ctx context.Context, c *eval.Config, r *records, share float64, m text.Measure) ([]Run, error) {
	sets, err := r.collection(share)
	if err != nil {
		return nil, err
	}
	all := make([]Run, len(algorithms))
	seconds := 0.0
	for turn := 0; turn < turns && seconds < longSeconds; turn++ {
		for i := range algorithms {
			if turn%2 == 1 {
				i = len(algorithms) - 1 - i
			}
			c.Now("%s, %.0f %%, %s, %s: turn %d of %d", r.source, 100*share, m, algorithms[i], turn+1, turns)
			var sum uint64
			one, err := runOnce(ctx, sets, m, algorithms[i], func(p join.Pair) { sum += sumOf(p.A, p.B) })
			if err != nil {
				return nil, err
			}
			if seconds += one.Seconds; turn > 0 {
				one.Seconds = min(one.Seconds, all[i].Seconds)
			}
			one.Records, one.Share, one.Sum = r.source.String(), share, sum
			all[i] = one
		}
	}
	for _, one := range all {
		if one.Stats.Pairs != all[0].Stats.Pairs || one.Sum != all[0].Sum {
			return nil, fmt.Errorf("%s, %s: %s finds %d pairs of sum %x, %s %d of sum %x", r.source, m, one.Algorithm,
				one.Stats.Pairs, one.Sum, all[0].Algorithm, all[0].Stats.Pairs, all[0].Sum)
		}
	}
	return all, checkOrder(all)
}

// runOnce joins a collection with itself.
func runOnce(ctx context.Context, sets *join.Collection, m text.Measure, a join.Algorithm,
	visit func(join.Pair)) (Run, error) {
	one := Run{Sets: sets.Len(), Measure: m.Similarity.String(), Threshold: m.Threshold.Float(), Algorithm: a.String()}
	began := cpu.Time()
	stats, err := join.Self(ctx, config(m, a), sets, func(p join.Pair) error {
		visit(p)
		return nil
	})
	one.Seconds, one.Stats = (cpu.Time() - began).Seconds(), stats
	if ctx.Err() != nil {
		return one, eval.Interrupted(ctx)
	}
	return one, err
}

// sumOf is a pair as a number, to be added up in any order.
func sumOf(a, b int) uint64 {
	var bytes [16]byte
	binary.LittleEndian.PutUint64(bytes[:], uint64(min(a, b)))
	binary.LittleEndian.PutUint64(bytes[8:], uint64(max(a, b)))
	return xxh3.Hash(bytes[:])
}

// checkOrder wants each filter of the paper to leave no more candidates than there were without it.
func checkOrder(all []Run) error {
	paper := all[:slices.Index(algorithms, join.Ours)]
	for i := 1; i < len(paper); i++ {
		if a, b := paper[i-1], paper[i]; b.Stats.Candidates > a.Stats.Candidates {
			return fmt.Errorf("%s, %s %g: %s has %d candidates, %s %d", a.Records, a.Measure, a.Threshold, a.Algorithm,
				a.Stats.Candidates, b.Algorithm, b.Stats.Candidates)
		}
	}
	return nil
}
