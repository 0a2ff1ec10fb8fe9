package auto

import (
	"refrain/sigstore"
)

// GPU is what look-ups on a GPU cost, as it was measured.
type GPU struct {
	Launch     float64 // ns a batch
	Comparison float64 // ns a query and row
	Sharing    float64 // windows on one GPU, which work side by side
}

// What the processor does for a look-up on a GPU, in ns on the machine of reference: making the query, and taking the answer
// (sigstore/gpu, BenchmarkLookup, kernels that do nothing); and finding out of a row that it does not match.
const (
	gpuBase  = 1800
	gpuFalse = 700
)

// WithGPU adds the engine cuda, which takes so many queries at once. open is asked what it costs once it could be the
// cheapest; false: there is no GPU that works, and a window would have the first engine.
func WithGPU(choices []Choice, engine sigstore.Engine, batch int, open func() (GPU, bool)) []Choice {
	fallback := choices[0].Cost
	return append(choices, Choice{
		Name: "cuda", Engine: engine, Batch: batch,
		Floor: func(Load) float64 { return gpuBase * speed() },
		Cost: func(l Load) float64 {
			g, ok := open()
			if !ok {
				return fallback(l)
			}
			return gpuCost(speed(), g, batch, l)
		},
	})
}

// gpuCost is
//
//	speed · (1.8 µs + 0.7 µs · false candidates) + Sharing · (Launch / batch + Comparison · Compared)
//
// As long as nobody knows how many queries come at once, the batch is the largest.
func gpuCost(speed float64, g GPU, batch int, l Load) float64 {
	at := float64(batch)
	if l.Demand > 0 {
		at = min(at, l.Demand)
	}
	return speed*(gpuBase+gpuFalse*l.falseCandidates()) + g.Sharing*(g.Launch/at+g.Comparison*l.Compared)
}
