// Package plan says what a feed takes: how many workers, how much memory, how many GPUs, and how long an event takes.
//
// It is arithmetic on three structs: what the feed is like (Feed), what a worker's machine has (Machine), and what the
// program needs for one post, one look-up and one row (Costs). Every match worker reads all sentences and looks them up
// in the rows that it owns, so a worker more makes the windows smaller and leaves the reading as it is. Where reading
// alone is too much for one worker, workers form a grid: its columns share the window, its rows share the look-ups, and
// a column's rows hold copies of the same window.
//
// A worker is feasible when no part of it is busier than Utilisation at the feed's peak, and what it holds fits
// (load.go). The plan is the smallest grid of such workers (grid.go) over the engines that the machine can run
// (engine.go). docs/plan.md has all formulae and the figures that they start from.
package plan

import (
	"errors"
	"fmt"
	"math"
)

// Utilisation is how busy the busiest part of a worker may be at the feed's peak. The rest is for bursts within the
// peak, for catching up after a restart, and for the error of the estimates.
const Utilisation = 0.6

// Result is what a feed takes.
type Result struct {
	Engine           string // that finds the candidates: prefix, scan or cuda
	Workers          int    // processes, each on a machine of its own: Rows × Columns
	Rows, Columns    int    // of the grid; one row is the plain case, where every worker reads everything
	Partitions       int    // of the sentence topic, at least; Columns × PartitionsPerWorker
	WorkerPartitions int    // that a worker owns: it serves them side by side
	GPUs             int    // in all workers

	WindowRows      float64 // distinct sentences in the window
	WindowSentences float64 // occurrences in the window
	WindowBytes     float64 // one copy of the window
	MemoryPerWorker float64 // bytes, with the process and its garbage
	Memory          float64 // bytes, of all workers

	Sentences        float64 // compared a second, at the peak
	LookupMicros     float64 // µs of processor (or GPU) time for one sentence in all rows of a worker
	NetworkPerWorker float64 // bytes/s read and written by a worker, at the peak
	NetworkOut       float64 // bytes/s that the brokers send to all workers, at the peak

	LatencyP50, LatencyP99 float64 // seconds from a post's arrival to its event, at the peak
	Utilisation            float64 // of the busiest part of a worker that works: 0 to 1
	Bottleneck             string  // what is nearest to its limit: one of the names of Loads
	Loads                  []Share // of the limits, 0 to 1, the greatest first
	Time                   []Share // cores of all workers busy at the peak, by what they do
	MemoryBy               []Share // bytes of all workers, by what is held

	Alternatives []Alternative // every engine that the machine can run, the chosen one first
	Warnings     []string
}

// Share is a part of something with its name.
type Share struct {
	Name  string
	Value float64
}

// Alternative is the plan with one engine.
type Alternative struct {
	Engine       string
	Workers      int // 0: no number of workers would do
	GPUs         int
	Memory       float64 // bytes, of all workers
	LookupMicros float64
	Cores        float64 // busy at the peak, in all workers
}

// Plan says what a feed takes on such machines. It fails when a quantity makes no sense, naming all that do not, or
// when no grid of workers would do.
func Plan(f Feed, m Machine, c Costs) (Result, error) {
	if err := errors.Join(f.Validate(), m.Validate()); err != nil {
		return Result{}, err
	}
	var best *grid
	var all []Alternative
	for _, e := range engines(m) {
		g := smallest(workload{f, m, c, e})
		all = append(all, g.alternative(e))
		if g != nil && (best == nil || g.better(best)) {
			best = g
		}
	}
	if best == nil {
		return Result{}, fmt.Errorf("no grid of up to %d workers does it: shorten the span, raise the threshold or take larger machines", mostWorkers)
	}
	return best.result(chosenFirst(all, best.work.engine.name())), nil
}

func chosenFirst(all []Alternative, name string) []Alternative {
	for i := range all {
		if all[i].Engine == name {
			chosen := all[i]
			copy(all[1:i+1], all[:i])
			all[0] = chosen
		}
	}
	return all
}

// above says, for all that are wrong at once, that quantities must be above zero.
func above(quantities ...Share) (errs []error) {
	for _, q := range quantities {
		if !(q.Value > 0) || math.IsInf(q.Value, 0) {
			errs = append(errs, fmt.Errorf("%s %v: want more than 0", q.Name, q.Value))
		}
	}
	return errs
}
