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

// minWorkers is the fewest workers that refrain serve can run, or the smallest grid where there are none such; nil when no
// grid does either.
func minWorkers(w workload) *grid {
	if g := w.withRows(1); g != nil && g.isRunnable() {
		return g
	}
	return minGrid(w)
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

// maxPartitions is that of topics.partitions.
const maxPartitions = 1024

// isRunnable reports whether refrain serve can run it.
func (g *grid) isRunnable() bool {
	return g.shape.rows == 1 && g.shape.columns*g.shape.partitions <= maxPartitions
}

// smaller is the grid that takes a quarter fewer workers than g; nil where none does, or g is a grid itself.
func (g *grid) smaller() *Grid {
	m := minGrid(g.work)
	if m == nil || m.shape.rows == 1 || g.shape.rows > 1 {
		return nil
	}
	return &Grid{Rows: m.shape.rows, Columns: m.shape.columns, Memory: m.work.workerBytes(m.shape.columns) * m.shape.workers()}
}

// isCheaperThan prefers what can be run, then fewer workers, then fewer cards, then fewer busy cores.
func (g *grid) isCheaperThan(o *grid) bool {
	if g.isRunnable() != o.isRunnable() {
		return g.isRunnable()
	}
	return cmp.Or(cmp.Compare(g.workers(), o.workers()), cmp.Compare(g.gpus(), o.gpus()), cmp.Compare(g.cores(), o.cores())) < 0
}
