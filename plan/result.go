package plan

import (
	"fmt"
	"slices"

	"refrain/internal/units"
	"refrain/text"
)

func (g *grid) result(all []Alternative) Result {
	w, s := &g.work, g.shape
	n := s.workers()
	d := w.disk()
	r := Result{
		IsRunnable: g.isRunnable(), Grid: g.smaller(), HandOver: w.handOver(s),
		Engine: w.engine.name(), Workers: g.workers(), Rows: s.rows, Columns: s.columns,
		Partitions: s.columns * s.partitions, WorkerPartitions: s.partitions, GPUs: g.gpus(),
		WindowRows: w.feed.windowRows(), WindowSentences: w.feed.windowSentences(), WindowBytes: w.windowBytes(),
		WindowBudget: w.budget(s.columns), MemoryAtBudget: w.held(w.budget(s.columns)),
		MemoryPerWorker: w.workerBytes(s.columns), Memory: w.workerBytes(s.columns) * n,
		TopicBytes: d.sentences, PurgedBytes: d.purged, EventBytes: d.events,
		SentenceLimit: topicMargin * d.sentences, EventLimit: topicMargin * d.events,
		IndexBytes: d.index, LetterBytes: w.costs.LetterBytes, Disk: d.all() + w.costs.LetterBytes*n, DiskPerWorker: d.all()/n + w.costs.LetterBytes,
		Sentences: w.feed.sentences(), LookupMicros: g.lookupMicros(),
		NetworkPerWorker: w.network(s), NetworkOut: w.readBytes(s) * n,
		BrokerCores: w.brokerCores(s), ReadShare: w.read(s) * w.readMicros(s) * 1e-6,
		Utilisation: w.utilisation(s), Loads: descending(w.loads(s)),
		Time: descending(times(w.coreSeconds(s), n)), MemoryBy: g.memoryBy(), Alternatives: all,
	}
	r.Bottleneck = r.Loads[0].Name
	r.LatencyP50, r.LatencyP99 = w.latency(s)
	r.Warnings = g.warnings(&r)
	return r
}

func (g *grid) gpus() int {
	if g.work.engine.device(&g.work) == 0 {
		return 0
	}
	return g.workers() * g.work.cards(g.shape)
}

// lookupMicros is what one sentence costs in all rows of a worker.
func (g *grid) lookupMicros() float64 {
	w, s := &g.work, g.shape
	if w.engine.device(w) > 0 {
		return w.engine.card(w, w.part(s), w.batch(s, w.costs.GPU.Batch)) * float64(s.partitions)
	}
	return w.engine.core(w, w.part(s)) * float64(s.partitions)
}

// memoryBy is what all workers hold.
func (g *grid) memoryBy() []Share {
	w, copies := &g.work, float64(g.shape.rows)
	shares := times(w.memory(), w.feed.windowRows()*copies)
	shares = append(shares, Share{"garbage", w.windowBytes() * copies * w.costs.Garbage},
		Share{"processes", w.costs.ProcessBytes * g.shape.workers()})
	return descending(shares)
}

func (g *grid) alternative(e engine) Alternative {
	if g == nil {
		return Alternative{Engine: e.name()}
	}
	return Alternative{
		Engine: e.name(), Workers: g.workers(), IsRunnable: g.isRunnable(), GPUs: g.gpus(),
		Memory: g.work.workerBytes(g.shape.columns) * g.shape.workers(), LookupMicros: g.lookupMicros(), Cores: g.cores(),
	}
}

func times(shares []Share, factor float64) []Share {
	for i := range shares {
		shares[i].Value *= factor
	}
	return shares
}

func descending(shares []Share) []Share {
	slices.SortStableFunc(shares, func(a, b Share) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	})
	return shares
}

func brokerName(kind string) string {
	if kind == NATS {
		return "NATS"
	}
	return "Kafka"
}

// warnings say what the figures leave out.
func (g *grid) warnings(r *Result) (warnings []string) {
	w := &g.work
	if !r.IsRunnable {
		warnings = append(warnings, fmt.Sprintf("refrain serve cannot run this: it has no grid, and without one no number of workers with %s "+
			"partitions in all does, since every thread reads everything: %.0f %% of its time", units.Thousands(maxPartitions),
			100*w.feed.sentences()*w.readMicros(g.shape)*1e-6))
	}
	if r.Workers > 1 {
		warnings = append(warnings, fmt.Sprintf("what %s costs was measured with a broker of one node on the same machine: its copies of the "+
			"topics are not counted", brokerName(w.machine.Broker)))
	}
	if rows := w.part(shape{r.Rows, r.Columns, r.WorkerPartitions}); rows > measuredRows && r.Engine != "cuda" {
		warnings = append(warnings, fmt.Sprintf("look-ups were measured to %.0f M rows in a partition; here are %.3g M, "+
			"taken in proportion, so the time is an upper bound", measuredRows/1e6, rows/1e6))
	}
	if t := w.feed.jaccard(); t < 0.5 {
		warnings = append(warnings, "look-ups were not measured at thresholds below 0.5: their times are extrapolated")
	} else if w.feed.Measure != "" && w.feed.Measure != text.Jaccard.String() {
		warnings = append(warnings, fmt.Sprintf("look-ups by %s are taken to cost what was measured by Jaccard at %.3g", w.feed.Measure, t))
	}
	if r.Engine == "cuda" {
		warnings = append(warnings, "the GPU's rates are goals derived from its issue rates; nothing of this was measured on one")
	}
	if w.feed.Span < day {
		warnings = append(warnings, "the window is sized for the busiest hours of a day, since its span is shorter than one")
	}
	return warnings
}
