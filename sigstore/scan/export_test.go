package scan

import "refrain/sigstore"

// Work is what a search costs: passes through bands, and rows compared with a query.
func Work(of sigstore.Index, queries []sigstore.Query) (calls, comparisons int) {
	x := of.(*index)
	x.batch.begin(queries, x.cfg.Bounds)
	for n, b := range x.blocks {
		x.batch.plan(b, x.first+uint32(n))
	}
	for i := range x.batch.jobs {
		j := &x.batch.jobs[i]
		for _, q := range x.batch.queries[j.from:j.to] {
			for _, r := range q.runs(nil, j.band, q.radius(j.band), x.workers[0].gap) {
				comparisons += r.to - r.from
				calls++
			}
		}
	}
	return calls, comparisons
}
