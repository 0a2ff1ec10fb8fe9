// Package plan says what a feed takes: how many workers, how much memory, how many GPUs, and how long an event takes.
//
// It is arithmetic on three structs: what the feed is like (Feed), what a worker's machine has (Machine), and what the
// program needs for one post, one look-up and one row (Costs). Every match worker reads all sentences and looks them up
// in the rows that it owns, so a worker more makes the windows smaller and leaves the reading as it is. In a grid its
// columns share the window, its rows share the look-ups, and a column's rows hold copies of the same window; refrain serve
// runs none, so it is planned for only to say what it would take.
//
// A worker is feasible when no part of it is busier than Utilisation at the feed's peak, and what it holds fits
// (load.go). The plan is the fewest such workers without a grid (grid.go), or the smallest grid where no number of them would
// do, over the engines that the machine can run (engine.go). docs/plan.md has all formulae and the figures that they start
// from.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package plan

// Utilisation is how busy the busiest part of a worker may be at the feed's peak. The rest is for bursts within the
// peak, for catching up after a restart, and for the error of the estimates.
const Utilisation = 0.6

// Result is what a feed takes.
type Result struct {
	Engine           string `json:"engine"`  // that finds the candidates: prefix, scan or cuda
	Workers          int    `json:"workers"` // processes, each on a machine of its own: Rows × Columns
	Rows             int    `json:"rows"`    // of the grid; one row is the plain case, where every worker reads everything
	Columns          int    `json:"columns"`
	Partitions       int    `json:"partitions"`       // of the sentence topic, at least; Columns × WorkerPartitions
	WorkerPartitions int    `json:"workerPartitions"` // that a worker owns: it serves them side by side
	GPUs             int    `json:"gpus"`             // in all workers

	IsRunnable bool     `json:"isRunnable"` // refrain serve can run it; false: it takes a grid
	Grid       *Grid    `json:"grid"`       // the smallest grid, where it takes a quarter fewer workers than what is planned
	HandOver   HandOver `json:"handOver"`

	WindowRows      float64 `json:"windowRows"`      // distinct sentences in the window
	WindowSentences float64 `json:"windowSentences"` // occurrences in the window
	WindowBytes     float64 `json:"windowBytes"`     // one copy of the window
	WindowBudget    float64 `json:"windowBudget"`    // a worker's window.budget: its share of WindowBytes, and a tenth to spare
	MemoryPerWorker float64 `json:"memoryPerWorker"` // bytes, with the process and its garbage
	MemoryAtBudget  float64 `json:"memoryAtBudget"`  // bytes of a worker whose window has grown to WindowBudget
	Memory          float64 `json:"memory"`          // bytes, of all workers

	TopicBytes    float64 `json:"topicBytes"`    // that the sentence topic may grow to: span + lateness + max_hold + 1 h
	PurgedBytes   float64 `json:"purgedBytes"`   // that it takes while what no window needs is purged: no source far behind
	EventBytes    float64 `json:"eventBytes"`    // that the event topic may grow to: events of as long
	SentenceLimit float64 `json:"sentenceLimit"` // bytes that topics.sentence_bytes should be: TopicBytes, and a tenth to spare
	EventLimit    float64 `json:"eventLimit"`    // bytes that topics.event_bytes should be
	IndexBytes    float64 `json:"indexBytes"`    // of the embedded index of reuse: what the events of 5/4 of the span have told
	LetterBytes   float64 `json:"letterBytes"`   // that the dead letters of a worker may grow to
	Disk          float64 `json:"disk"`          // bytes, of all workers: both topics, the index, and dead letters
	DiskPerWorker float64 `json:"diskPerWorker"` // where each worker's machine keeps its part

	Sentences        float64 `json:"sentences"`        // compared a second, at the peak
	LookupMicros     float64 `json:"lookupMicros"`     // µs of processor (or GPU) time for one sentence in all rows of a worker
	NetworkPerWorker float64 `json:"networkPerWorker"` // bytes/s read and written by a worker, at the peak
	NetworkOut       float64 `json:"networkOut"`       // bytes/s that the brokers send to all workers, at the peak
	BrokerCores      float64 `json:"brokerCores"`      // of all brokers, busy at the peak, without copies; 0: the topics are the worker's own
	ReadShare        float64 `json:"readShare"`        // of the time of a thread of a worker, that it reads for: everything, whoever owns it

	LatencyP50  float64 `json:"latencyP50"` // seconds from a post's arrival to its event, at the peak
	LatencyP99  float64 `json:"latencyP99"`
	Utilisation float64 `json:"utilisation"` // of the busiest part of a worker that works: 0 to 1
	Bottleneck  string  `json:"bottleneck"`  // what is nearest to its limit: one of the names of Loads
	Loads       []Share `json:"loads"`       // of the limits, 0 to 1, the greatest first
	Time        []Share `json:"time"`        // cores of all workers busy at the peak, by what they do
	MemoryBy    []Share `json:"memoryBy"`    // bytes of all workers, by what is held

	Alternatives []Alternative `json:"alternatives"` // every engine that the machine can run, the chosen one first
	Warnings     []string      `json:"warnings"`
}

// Share is a part of something with its name.
type Share struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Alternative is the plan with one engine.
type Alternative struct {
	Engine       string  `json:"engine"`
	Workers      int     `json:"workers"`    // 0: no number of workers would do
	IsRunnable   bool    `json:"isRunnable"` // refrain serve can run it; false: it takes a grid, or nothing can
	GPUs         int     `json:"gpus"`
	Memory       float64 `json:"memory"` // bytes, of all workers
	LookupMicros float64 `json:"lookupMicros"`
	Cores        float64 `json:"cores"` // busy at the peak, in all workers
}

// Plan says what a feed takes on such machines. It fails when quantities make no sense, with all of them (Mistakes), or
// when no grid of workers would do (ErrTooLarge).
func Plan(f Feed, m Machine, c Costs) (Result, error) {
	if wrong := append(f.mistakes(), m.mistakes(c)...); len(wrong) > 0 {
		return Result{}, wrong
	}
	var best *grid
	var all []Alternative
	for _, e := range engines(m) {
		g := minWorkers(workload{f, m, c, e})
		all = append(all, g.alternative(e))
		if g != nil && (best == nil || g.isCheaperThan(best)) {
			best = g
		}
	}
	if best == nil {
		return Result{}, ErrTooLarge
	}
	return best.result(chosenFirst(all, best.work.engine.name())), nil
}

func chosenFirst(all []Alternative, name string) []Alternative {
	for i := range all {
		if all[i].Engine == name {
			chosen := all[i]
			copy(all[1:i+1], all[:i])
			all[0] = chosen
		}
	}
	return all
}

// Grid is rows of columns of workers: every row holds a copy of the window and looks a part of the sentences up.
type Grid struct {
	Rows    int     `json:"rows"`
	Columns int     `json:"columns"`
	Memory  float64 `json:"memory"` // bytes, of all workers
}
