package plan

import (
	"cmp"
	"sort"
)

const (
	maxRows    = 256     // of a grid
	maxWorkers = 1 << 20 // of a grid
)

// grid is a shape that does the work.
type grid struct {
	work  workload
	shape shape
}

// minGrid finds the grid: plain columns where they do, and a row more, which is a copy of the window more, only while
// it saves a quarter of the workers: about where half of what each does is reading. nil when no grid does.
func minGrid(w workload) *grid {
	var best *grid
	for rows := 1; rows <= maxRows; rows++ {
		g := w.withRows(rows)
		if best != nil && (g == nil || float64(g.workers()) > 0.75*float64(best.workers())) {
			break
		}
		best = g
	}
	return best
}

// withRows finds the least number of columns. A column more never makes a worker busier, hence by bisection.
func (w *workload) withRows(rows int) *grid {
	maxColumns := maxWorkers / rows
	columns := 1 + sort.Search(maxColumns, func(i int) bool { return w.partitions(rows, i+1) > 0 })
	if columns > maxColumns {
		return nil
	}
	return &grid{*w, shape{rows, columns, w.partitions(rows, columns)}}
}

// partitions is the least number for each worker that does, at most one for each core; 0 if none does. Every
// partition more is a look-up more for every sentence, so there are no more than it takes.
func (w *workload) partitions(rows, columns int) int {
	for p := 1; p <= w.machine.Cores; p++ {
		if w.feasible(shape{rows, columns, p}) {
			return p
		}
	}
	return 0
}

func (g *grid) workers() int { return g.shape.rows * g.shape.columns }

// cores are the cores that are busy at the peak, in all workers.
func (g *grid) cores() float64 { return sum(g.work.coreSeconds(g.shape)) * g.shape.workers() }

// isCheaperThan prefers fewer workers, then fewer cards, then fewer busy cores.
func (g *grid) isCheaperThan(o *grid) bool {
	return cmp.Or(cmp.Compare(g.workers(), o.workers()), cmp.Compare(g.gpus(), o.gpus()), cmp.Compare(g.cores(), o.cores())) < 0
}
