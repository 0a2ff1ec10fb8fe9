package plan

import "math"

// Several workers share the topics of a broker, and each reads everything: a look-up is made in all partitions, whoever owns
// them. In a process every partition is served by a thread (the setting workers), which reads for itself. A grid would cut the
// reading as well, and is not there: package plan knows what it would take, so as to say when it is missed.

// onBroker reports whether the topics of a shape are on a broker: one process has its own.
func onBroker(s shape) bool { return s.workers() > 1 }

// broker is what the topics of a shape cost besides.
func (w *workload) broker(s shape) BrokerCost {
	if !onBroker(s) {
		return BrokerCost{}
	}
	return w.costs.broker(w.machine.Broker)
}

func (c *Costs) broker(kind string) BrokerCost {
	if kind == NATS {
		return c.NATS
	}
	return c.Kafka
}

// readMicros is the time of a thread for a sentence that it reads.
func (w *workload) readMicros(s shape) float64 {
	if onBroker(s) {
		return w.broker(s).ReadMicros
	}
	return w.costs.ReadMicros
}

// hop is the way around the window: the median, and what 99 in 100 do not exceed, seconds.
func (w *workload) hop(s shape) (median, tail float64) {
	if onBroker(s) {
		return w.broker(s).HopSeconds, w.broker(s).HopTail
	}
	return w.costs.HopSeconds, w.costs.HopTail
}

// brokerCores are the cores of all brokers that are busy at the peak, but for their copies of the topics.
func (w *workload) brokerCores(s shape) float64 {
	b, readers := w.broker(s), s.workers()*float64(s.partitions)
	return (w.feed.posts()*b.TakeMicros + w.read(s)*readers*b.HandMicros) * 1e-6
}

// HandOver is how long the look-ups in a part of the window wait, seconds.
type HandOver struct {
	Return  float64 `json:"return"`  // its worker returns: it reads its rows back, all its threads side by side
	Others  float64 `json:"others"`  // it does not: the others share its rows, each with one thread, when the grace is over
	Restore float64 `json:"restore"` // its worker returns, with a snapshot
}

// handOver is that of a worker's part. Beside the rows, what came meanwhile has to be looked up: a worker that is busy for
// Utilisation of its time at the peak is through with it after less than twice as long again.
func (w *workload) handOver(s shape) HandOver {
	sentences := w.feed.windowSentences() / float64(s.columns)
	threads, others := float64(s.partitions), max(1, float64(s.columns-1))
	replay := sentences * w.replayMicros(s) * 1e-6
	return HandOver{
		Return:  replay / threads,
		Others:  replay / others,
		Restore: sentences * w.costs.RestoreMicros * 1e-6 / threads,
	}
}

// replayMicros is the time of a thread for a sentence that it reads again and inserts. The window is taken to be full all the
// while, which errs on the long side.
func (w *workload) replayMicros(s shape) float64 {
	return w.readMicros(s) + w.costs.InsertMicros*math.Pow(max(1, w.part(s)/1e6), w.costs.InsertGrowth)
}

// Deployment is a feed's processes as they stand, for PostMicros.
type Deployment struct {
	Broker     string  // kafka, nats, or "" for topics of its own
	Workers    int     // processes with the role match alone, beside one for split and one for publish; 0: one for everything
	Threads    int     // match workers in each process
	Partitions int     // of the window
	Rows       float64 // distinct sentences in all of it
}

// PostMicros is what a post takes of each process, µs of a core.
type PostMicros struct {
	Split   float64 `json:"split"`
	Match   float64 `json:"match"` // each
	Publish float64 `json:"publish"`
	Broker  float64 `json:"broker"`
	All     float64 `json:"all"`
}

// PostMicros is what a post of a feed takes in a deployment, by the prefix engine, as Plan reckons.
func (c Costs) PostMicros(f Feed, d Deployment) PostMicros {
	w := &workload{feed: f, costs: c, engine: prefixEngine{}}
	n, owned := float64(max(1, d.Workers)), float64(d.Partitions)/float64(max(1, d.Workers))
	read, b := c.ReadMicros, BrokerCost{}
	if d.Broker != "" {
		b = c.broker(d.Broker)
		read = b.ReadMicros
	}
	lookup := owned * w.engine.core(w, d.Rows/float64(d.Partitions))
	events := f.SentencesPerPost * f.EventsPerSentence
	out := PostMicros{
		Split:   c.DecodeMicros + c.SplitMicros + b.WriteMicros,
		Match:   f.SentencesPerPost*(float64(d.Threads)*read+lookup+c.InsertMicros/n) + events*c.EventMicros/n,
		Publish: events * c.PublishMicros,
		Broker:  b.TakeMicros + f.SentencesPerPost*n*float64(d.Threads)*b.HandMicros,
	}
	out.All = out.Split + n*out.Match + out.Publish + out.Broker
	return out
}
