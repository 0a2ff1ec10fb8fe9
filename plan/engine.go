package plan

import "refrain/text"

// engine says what one look-up in a partition takes, of the core and of the card that see to it.
type engine interface {
	name() string
	// core is the time of a core for a look-up in a part of so many rows, µs.
	core(w *workload, rows float64) float64
	// card is the time of a card for the same, in batches of so many, µs; 0 without one.
	card(w *workload, rows, batch float64) float64
	// index is what the index holds of a row in the worker's memory, device in the card's, bytes.
	index(w *workload) float64
	device(w *workload) float64
}

// engines are those that the machine can run. There is no other list.
func engines(m Machine) []engine {
	if m.GPUs > 0 {
		return []engine{prefixEngine{}, scanEngine{}, cudaEngine{}}
	}
	return []engine{prefixEngine{}, scanEngine{}}
}

type prefixEngine struct{}

func (prefixEngine) name() string { return "prefix" }
func (prefixEngine) core(w *workload, rows float64) float64 {
	if w.feed.Measure == text.Cosine.String() && len(w.costs.Cosine) > 0 {
		return lookupMicros(w.costs.Cosine, w.feed.Threshold, rows)
	}
	return lookupMicros(w.costs.Prefix, w.feed.jaccard(), rows)
}
func (prefixEngine) card(*workload, float64, float64) float64 { return 0 }
func (prefixEngine) index(w *workload) float64 {
	return w.costs.PrefixBytes * w.feed.prefix()
}
func (prefixEngine) device(*workload) float64 { return 0 }

type scanEngine struct{}

func (scanEngine) name() string { return "scan" }

// core is what was measured with md5 of 64 bits and one, in proportion to the bits, with the codes' false candidates in
// place of those.
func (scanEngine) core(w *workload, rows float64) float64 {
	measured := lookupMicros(w.costs.Scan, w.feed.jaccard(), rows)
	within := rows / 1e6 * atThreshold(w.costs.hashed(64, 1), w.feed.jaccard()) * w.costs.falseMicros(1)
	within = min(within, measured/2) // rounding of two fits
	return (measured-within)*float64(w.feed.Bits)/64 + w.falseIn(rows)*w.costs.falseMicros(w.feed.Ones)
}
func (scanEngine) card(*workload, float64, float64) float64 { return 0 }
func (scanEngine) index(w *workload) float64                { return w.costs.ScanBytes + float64(w.feed.Bits)/8 }
func (scanEngine) device(*workload) float64                 { return 0 }

type cudaEngine struct{}

func (cudaEngine) name() string { return "cuda" }

// core: the processor sees to the candidates, which have passed the holders on the card.
func (cudaEngine) core(w *workload, rows float64) float64 {
	return w.costs.GPU.Base + w.passingIn(rows)*w.costs.GPU.False
}
func (cudaEngine) card(w *workload, rows, batch float64) float64 {
	compared := rows * w.costs.bandShare(w.feed.jaccard())
	return compared/w.costs.GPU.Rate[w.feed.Bits] + w.costs.GPU.Launch/batch
}
func (cudaEngine) index(w *workload) float64  { return w.costs.ScanBytes + float64(w.feed.Bits)/8 }
func (cudaEngine) device(w *workload) float64 { return w.costs.GPU.Bytes + float64(w.feed.Bits)/8 }
