package plan

import "math"

// workload is a feed, on a kind of machine, by one engine.
type workload struct {
	feed    Feed
	machine Machine
	costs   Costs
	engine  engine
}

// shape is a grid of rows × columns workers, each with so many partitions.
type shape struct{ rows, columns, partitions int }

func (s shape) workers() float64 { return float64(s.rows) * float64(s.columns) }

// lookups, inserted and read are the sentences a second, at the peak, that a worker looks up (its row's share),
// inserts (its column's) and must read for both.
func (w *workload) lookups(s shape) float64  { return w.feed.sentences() / float64(s.rows) }
func (w *workload) inserted(s shape) float64 { return w.feed.sentences() / float64(s.columns) }
func (w *workload) read(s shape) float64 {
	r, c := 1/float64(s.rows), 1/float64(s.columns)
	return w.feed.sentences() * (r + c - r*c)
}

// part is how many rows one core sees to by itself: those of a partition.
func (w *workload) part(s shape) float64 {
	return w.feed.windowRows() / float64(s.columns) / float64(s.partitions)
}

// cards are those of a worker that have something to do, onCard how many partitions the busiest of them has: they are dealt
// to cards whole.
func (w *workload) cards(s shape) int { return min(w.machine.GPUs, s.partitions) }
func (w *workload) onCard(s shape) float64 {
	cards := max(1, w.cards(s))
	return float64((s.partitions + cards - 1) / cards)
}

// coreSeconds are the cores of one worker that are busy at the peak, by what they do. Splitting posts and writing
// events is shared by all workers; every sentence is looked up in each partition by itself, and read by each of its threads.
func (w *workload) coreSeconds(s shape) []Share {
	f, c := w.feed, w.costs
	const micro = 1e-6
	return []Share{
		{"look-up", w.lookups(s) * float64(s.partitions) * w.engine.core(w, w.part(s)) * micro},
		{"read", w.read(s) * float64(s.partitions) * w.readMicros(s) * micro},
		{"insert", w.inserted(s) * c.InsertMicros * micro},
		{"decode and split", f.posts() / s.workers() * (c.DecodeMicros + c.SplitMicros + w.broker(s).WriteMicros) * micro},
		{"events", w.events() / s.workers() * (c.EventMicros + c.PublishMicros) * micro},
	}
}

// events are found a second, at the peak.
func (w *workload) events() float64 { return w.feed.sentences() * w.feed.EventsPerSentence }

// turn is how busy the busiest thread of a worker is. A worker takes turns: it reads, then its partitions look up and
// insert side by side, each on a core.
func (w *workload) turn(s shape) float64 { return w.lookups(s) * w.turnMicros(s) * 1e-6 }

// turnMicros is the time of that thread for each sentence that is looked up.
func (w *workload) turnMicros(s shape) float64 {
	perLookup := 1 / w.lookups(s)
	return w.read(s)*perLookup*w.readMicros(s) + w.engine.core(w, w.part(s)) +
		w.inserted(s)*perLookup/float64(s.partitions)*w.costs.InsertMicros
}

// batch is how many sentences are looked up at once: those of BatchSeconds, at most maxBatch.
func (w *workload) batch(s shape, maxBatch float64) float64 {
	return max(1, min(maxBatch, w.lookups(s)*w.costs.BatchSeconds))
}

// cardMicros is the time of the busiest card for one look-up. A batch is a launch for each of its partitions.
func (w *workload) cardMicros(s shape) float64 {
	return w.onCard(s) * w.engine.card(w, w.part(s), w.batch(s, w.costs.GPU.Batch))
}

// recordBytes is a sentence in the sentence topic.
func (w *workload) recordBytes() float64 {
	return w.costs.RecordShare * (w.costs.RecordBytes + 8*w.feed.TokensPerSentence + w.feed.TextBytes)
}

// eventBytes is an event in the event topic.
func (w *workload) eventBytes() float64 {
	return w.costs.EventShare * (w.costs.EventBytes + 2*w.feed.TextBytes)
}

// network is what a worker reads and writes, bytes/s: the sentences of its row and its column, in every thread; and its part
// of the posts, of the sentences written, of the events.
func (w *workload) network(s shape) float64 {
	f := w.feed
	shared := f.posts()*f.PostBytes + f.sentences()*w.recordBytes() + w.events()*w.eventBytes()
	return w.readBytes(s) + shared/s.workers()
}

// readBytes is what a worker reads of the sentence topic, bytes/s.
func (w *workload) readBytes(s shape) float64 {
	return w.read(s) * float64(s.partitions) * w.recordBytes()
}

// Names of the limits.
const (
	Processor = "processor"       // all cores of a worker
	OneThread = "one thread"      // the thread that reads, with the partition that works longest
	Memory    = "memory"          // of a worker
	Network   = "network"         // of a worker
	Cards     = "GPU"             // the time of each card
	CardBytes = "memory of a GPU" // of each card
	cardShare = 0.9               // of a card's memory may be used
	maxLoad   = 1                 // of a limit
)

// loads are the shares of its limits that a worker takes: feasible is all of them at 1 or below.
func (w *workload) loads(s shape) []Share {
	m := w.machine
	loads := []Share{
		{Processor, sum(w.coreSeconds(s)) / (Utilisation * float64(m.Cores))},
		{OneThread, w.turn(s) / Utilisation},
		{Memory, w.workerBytes(s.columns) / (m.Memory * m.MemoryShare)},
		{Network, w.network(s) / m.Network},
	}
	if device := w.engine.device(w); device > 0 {
		loads = append(loads,
			Share{Cards, w.lookups(s) * w.cardMicros(s) * 1e-6 / Utilisation},
			Share{CardBytes, w.onCard(s) * w.part(s) * device / (m.GPUMemory * cardShare)})
	}
	return loads
}

func (w *workload) feasible(s shape) bool { return !(maxShare(w.loads(s)).Value > maxLoad) }

func maxShare(shares []Share) Share {
	highest := Share{Value: math.Inf(-1)}
	for _, s := range shares {
		if s.Value > highest.Value {
			highest = s
		}
	}
	return highest
}
