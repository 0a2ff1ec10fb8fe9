package plan

import "math"

// latency is how long a post's events take, in seconds, with the shares 0.5 and 0.99 of them quicker:
//
//	way around the window + waiting for the batch to fill + waiting for earlier batches + the batch itself
//
// A batch fills for T = min(BatchSeconds, MaxBatch / look-ups a second): half of it in the median, all of it at
// worst. It takes S, the sentences in it times the time of the busiest thread for each (and of the card). Batches wait
// for each other as in an M/D/1 queue that is busy for the share ρ of its time. The share 0.99 adds the shares 0.99 of
// the parts, which is more than that of the sum.
func (w *workload) latency(s shape) (p50, p99 float64) {
	c := w.costs
	maxBatch := c.MaxBatch
	if w.engine.device(w) > 0 {
		maxBatch = c.GPU.Batch
	}
	n := w.batch(s, maxBatch)
	fill := min(c.BatchSeconds, n/w.lookups(s))
	service := n * max(w.turnMicros(s), w.cardMicros(s)) * 1e-6
	utilisation := w.utilisation(s)
	hop, tail := w.hop(s)
	p50 = hop + fill/2 + wait(0.5, utilisation, service) + service
	p99 = tail + fill + wait(0.99, utilisation, service) + service
	return p50, p99
}

// utilisation is the share of its time that the busiest thread, the processor as a whole, or the card works.
func (w *workload) utilisation(s shape) float64 {
	cores := sum(w.coreSeconds(s)) / float64(w.machine.Cores)
	return max(w.turn(s), cores, w.lookups(s)*w.cardMicros(s)*1e-6)
}

// wait is the time that the share q of the customers of an M/D/1 queue do not exceed: it is busy for the share ρ of its
// time, and serves each for s. The mean is ρs / 2(1−ρ); the tail is taken to be exponential with the mean that it has
// among those who wait, P(wait > t) = ρ exp(−2(1−ρ)t/s), which errs on the long side: by a fifth at ρ = 0.6, by nothing
// near 1.
func wait(q, rho, s float64) float64 {
	if rho <= 1-q {
		return 0
	}
	return s / (2 * (1 - rho)) * math.Log(rho/(1-q))
}
