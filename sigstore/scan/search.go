package scan

import (
	"slices"
	"sync"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// minComparisons is the number of comparisons from which on a further goroutine pays: it costs a few microseconds, which is
// what so many comparisons cost.
const minComparisons = 1 << 20

// Search lists the jobs of all blocks and does them.
func (x *index) Search(queries []sigstore.Query) {
	x.batch.begin(queries, x.cfg.Bounds)
	for n, b := range x.blocks {
		x.batch.plan(b, x.first+uint32(n))
	}
	shares := x.share()
	x.workers[0].begin(len(queries))
	for i := range queries {
		x.workers[0].hits[i] = queries[i].Hits
	}
	x.do(shares, len(queries))
	for i := range queries {
		queries[i].Hits = x.gather(len(shares), i)
		queries[i].Full()
	}
	x.release()
}

// share cuts the jobs into one run for each worker that pays, of about as many comparisons.
func (x *index) share() [][]job {
	jobs, all := x.batch.jobs, 0
	if len(x.workers) > 1 {
		for i := range jobs {
			all += jobs[i].comparisons()
		}
	}
	n := min(len(x.workers), 1+all/minComparisons)
	if n == 1 {
		return [][]job{jobs}
	}
	return splitJobs(jobs, n, all)
}

// splitJobs splits jobs of so many comparisons into n runs.
func splitJobs(jobs []job, n, all int) (runs [][]job) {
	done, from := 0, 0
	for i := range jobs {
		done += jobs[i].comparisons()
		if done >= all/n*(len(runs)+1) && len(runs) < n-1 {
			runs, from = append(runs, jobs[from:i+1]), i+1
		}
	}
	return append(runs, jobs[from:])
}

// do gives each share to a worker, the first to the caller's own goroutine, and waits for all.
func (x *index) do(shares [][]job, queries int) {
	var wait sync.WaitGroup
	for i, jobs := range shares[1:] {
		w := x.workers[i+1]
		w.begin(queries)
		wait.Go(func() { w.run(jobs, x.batch.queries) })
	}
	x.workers[0].run(shares[0], x.batch.queries)
	wait.Wait()
}

// gather puts the hits of a query together, in the order of the shares.
func (x *index) gather(shares, query int) []sigstore.Row {
	hits := x.workers[0].hits[query]
	for _, w := range x.workers[1:shares] {
		hits = append(hits, w.hits[query]...)
	}
	return hits
}

// release lets go of what is the caller's, and of bands, which may be dropped.
func (x *index) release() {
	clear(x.batch.queries)
	clear(x.batch.jobs)
	clear(x.workers[0].hits)
}

// worker does jobs, in one goroutine.
type worker struct {
	kernel      hamming.Kernel
	gap         int              // rows that are sooner read than passed over
	hits        [][]sigstore.Row // by query
	runs        []run            // scratch of do
	parts       []hamming.Part   // of a job
	partQueries []*boundedQuery  // by part
	row         hashcodes.Signature
}

// begin makes room for the hits of so many queries, none yet.
func (w *worker) begin(queries int) {
	w.hits = slices.Grow(w.hits[:0], queries)[:queries]
	for i := range w.hits {
		w.hits[i] = w.hits[i][:0]
	}
}

func (w *worker) run(jobs []job, all []boundedQuery) {
	for i := range jobs {
		w.do(&jobs[i], all[jobs[i].from:jobs[i].to])
	}
}

// do asks a band.
func (w *worker) do(j *job, queries []boundedQuery) {
	w.partQueries = w.partQueries[:0]
	for i := range queries {
		w.addParts(j, &queries[i])
	}
	parts := w.parts[:len(w.partQueries)]
	w.kernel.ScanParts(j.planes, parts)
	for i := range parts {
		if len(parts[i].Hits) > 0 {
			w.collect(j, w.partQueries[i], &parts[i])
		}
	}
}

// full reports whether a query has enough hits from this worker alone.
func (w *worker) full(q *boundedQuery) bool {
	return q.StopAfter > 0 && len(w.hits[q.index]) >= q.StopAfter
}

// addParts adds the parts of a query to those of the job.
func (w *worker) addParts(j *job, q *boundedQuery) {
	if w.full(q) {
		return
	}
	radius := q.radius(j.band)
	w.runs = q.runs(w.runs[:0], j.band, radius, w.gap)
	for _, r := range w.runs {
		n := len(w.partQueries)
		w.partQueries = append(w.partQueries, q)
		if n == len(w.parts) {
			w.parts = append(w.parts, hamming.Part{})
		}
		p := &w.parts[n]
		p.Signature, p.Radius, p.Hits, p.From, p.To = q.Signature, radius, p.Hits[:0], r.from, r.to
	}
}

// collect names the rows that were hit and may match.
func (w *worker) collect(j *job, q *boundedQuery, p *hamming.Part) {
	hits := w.hits[q.index]
	for _, position := range p.Hits {
		if !w.mayMatch(j, q, position) {
			continue
		}
		hits = append(hits, sigstore.Row{Block: j.block, Row: j.rows[position]})
		if q.StopAfter > 0 && len(hits) >= q.StopAfter {
			break
		}
	}
	w.hits[q.index] = hits
}

// mayMatch looks closer at a row within a radius: that of its own size may be less, and the holders may leave it out.
func (w *worker) mayMatch(j *job, q *boundedQuery, position uint32) bool {
	w.row = j.signature(w.row[:0], position)
	return q.MayMatch(q.SizeBounds, j.size(position), w.row)
}
