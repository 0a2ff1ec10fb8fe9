package main

import (
	"refrain/internal/units"
	"refrain/plan"
)

// printCluster says what it costs that several workers share the window, and when they would better be a grid.
func printCluster(line func(name, format string, args ...any), r *plan.Result) {
	line("reading", "%s sentences/s in every thread of every worker, whoever owns them: %.0f %% of the thread's time", units.Count(readRate(r)),
		100*r.ReadShare)
	if r.Workers > 1 {
		line("broker", "%s cores busy at the peak, in all brokers; its copies of the topics not counted", units.Three(r.BrokerCores))
	}
	printGrid(line, r)
	printHandOver(line, r)
}

// readRate is what each thread reads, sentences/s.
func readRate(r *plan.Result) float64 {
	rows, columns := float64(r.Rows), float64(r.Columns)
	return r.Sentences * (1/rows + 1/columns - 1/(rows*columns))
}

// printGrid says why the plan is plain, or is not.
func printGrid(line func(name, format string, args ...any), r *plan.Result) {
	switch {
	case !r.IsRunnable:
		line("grid", "needed: without one every thread of every worker reads everything, and refrain serve has none")
	case r.Grid != nil:
		line("grid", "would take %s workers in %d rows of %d, %s in all, since it divides the reading as well; refrain serve has none",
			units.Thousands(r.Grid.Rows*r.Grid.Columns), r.Grid.Rows, r.Grid.Columns, units.Bytes(int64(r.Grid.Memory)))
	default:
		line("grid", "none: it would divide the reading, and save less than a quarter of the workers for a copy of the window more")
	}
}

// printHandOver says how long a part of the window is looked up in by nobody.
func printHandOver(line func(name, format string, args ...any), r *plan.Result) {
	h := r.HandOver
	line("restart", "%s until a worker that was stopped has read its rows back", hours(h.Return/3600))
	if h.Restore > 0 {
		line("", "%s with a snapshot", hours(h.Restore/3600))
	}
	if r.Workers > 1 {
		line("", "%s and cluster.handover_grace until the others have the rows of one that is gone", hours(h.Others/3600))
	}
}
