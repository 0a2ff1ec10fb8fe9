package joins

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
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

// All algorithms have turns, forwards and backwards, and no more of them once they have taken some seconds together.
const (
	turns       = 6
	longSeconds = 5
)

// contest is all algorithms on one collection.
type contest struct {
	*eval.Config
	records *records
	share   float64
	measure text.Measure
	sets    *join.Collection
	all     []Run // by algorithm
}

// compare runs all algorithms in turns. It is an error when they do not find the same.
func compare(ctx context.Context, c *eval.Config, r *records, share float64, m text.Measure) ([]Run, error) {
	sets, err := r.collection(share)
	if err != nil {
		return nil, err
	}
	k := contest{c, r, share, m, sets, make([]Run, len(algorithms))}
	for turn, seconds := 0, 0.0; turn < turns && seconds < longSeconds; turn++ {
		took, err := k.turn(ctx, turn)
		if err != nil {
			return nil, err
		}
		seconds += took
	}
	return k.all, errors.Join(checkPairs(k.all), checkOrder(k.all))
}

// turn runs all algorithms once, every other time backwards.
func (k *contest) turn(ctx context.Context, turn int) (seconds float64, err error) {
	for i := range algorithms {
		if turn%2 == 1 {
			i = len(algorithms) - 1 - i
		}
		k.Now("%s, %.0f %%, %s, %s: turn %d", k.records.source, 100*k.share, k.measure, algorithms[i], turn+1)
		var sum uint64
		one, err := runOnce(ctx, k.sets, k.measure, algorithms[i], func(p join.Pair) { sum += sumOf(p.A, p.B) })
		if err != nil {
			return 0, err
		}
		seconds += one.Seconds
		if turn > 0 {
			one.Seconds = min(one.Seconds, k.all[i].Seconds)
			one.Stats.Prepare = min(one.Stats.Prepare, k.all[i].Stats.Prepare)
		}
		one.Records, one.Share, one.Sum = k.records.source.String(), k.share, sum
		k.all[i] = one
	}
	return seconds, nil
}

// checkPairs wants the same pairs of all.
func checkPairs(all []Run) error {
	for _, a := range all {
		if b := all[0]; a.Stats.Pairs != b.Stats.Pairs || a.Sum != b.Sum {
			return fmt.Errorf("%s, %s %g: %s finds %d pairs of sum %x, %s %d of sum %x", a.Records, a.Measure,
				a.Threshold, a.Algorithm, a.Stats.Pairs, a.Sum, b.Algorithm, b.Stats.Pairs, b.Sum)
		}
	}
	return nil
}

// runOnce joins a collection with itself.
func runOnce(ctx context.Context, sets *join.Collection, m text.Measure, a join.Algorithm,
	visit func(join.Pair)) (Run, error) {
	one := Run{Sets: sets.Len(), Measure: m.Similarity.String(), Threshold: m.Threshold.Float(), Algorithm: a.String()}
	runtime.GC() // what another one has left behind is not this one's work
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
