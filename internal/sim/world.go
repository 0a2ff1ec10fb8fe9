package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

const minTokens = 4

var threshold = text.Threshold{Num: 4, Den: 5}

// world is one simulation.
type world struct {
	*rand.Rand
	subject  Subject
	plan     plan
	now      time.Time
	draining bool // no more faults: everything that was accepted comes to its end
	depth    int  // of turns within turns

	sentenceTopic, eventTopic, controlTopic *topic.Memory
	store                                   *topic.MemoryStore
	puts                                    []put // into the store, all of them
	powerCuts                               int
	dropped                                 []topic.Record // of the sentence topic, dropped since the last power cut
	past                                    []topic.Record // dropped before it
	beforeCut                               []sentence     // what there was before a power cut

	feeder  feeder
	sources []*source
	writers []*writer
	done    time.Time // when everything was last through

	disks map[string]*disk // of snapshots, by name
	lives int              // of crews

	slots   []*slot
	zombies []*slot
	process *any // of all slots
	crashes int

	accepted []feed.Post
	deleted  []deletion
	failure  error
}

// slot is that of a worker: some partitions, and who serves them now.
type slot struct {
	owned  []int
	worker Worker // nil: dead
	agent  *agent
	busy   bool
	lazy   float64 // how likely its turn passes
	turns  int     // left to live, for a zombie

	name string // of its process, for a crew
	told []int  // what a crew has been told to serve
}

func newWorld(subject Subject, r *rand.Rand) *world {
	w := &world{Rand: r, subject: subject, plan: drawPlan(r, subject.Crew != nil), now: time.Unix(1_700_000_000, 0)}
	w.done = w.now
	n := w.plan.Partitions
	w.sentenceTopic = topic.NewMemory(w.sentenceConfig(n))
	w.eventTopic = topic.NewMemory(w.topicConfig(1 + r.IntN(3)))
	w.controlTopic = topic.NewMemory(w.topicConfig(1))
	w.store = &topic.MemoryStore{}
	w.feeder = feeder{Rand: r, newest: feed.FromTime(w.now)}
	if !w.plan.Live { // an old feed: dates are years behind the wall clock
		w.feeder.newest = w.feeder.newest.Add(-10_000 * time.Hour)
	}
	for range w.plan.Writers {
		w.writers = append(w.writers, &writer{})
	}
	for i := range w.plan.Sources {
		w.sources = append(w.sources, &source{name: fmt.Sprintf("s%d", i), writer: w.writers[i%len(w.writers)], dropped: true})
	}
	return w
}

// topicConfig is that of a topic whose partitions share no order.
func (w *world) topicConfig(partitions int) topic.MemoryConfig {
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Ordered, cfg.Now = partitions, false, func() time.Time { return w.now }
	return cfg
}

func (w *world) sentenceConfig(partitions int) topic.MemoryConfig {
	cfg := w.topicConfig(partitions)
	cfg.Ordered = w.plan.Ordered
	return cfg
}

func (w *world) run() error {
	for _, writer := range w.writers {
		w.start(writer)
	}
	w.assign()
	for range w.plan.Turns {
		for _, writer := range w.writers {
			w.expected(writer)
		}
		w.turn()
		if w.plan.PowerCuts && w.IntN(30) == 0 {
			w.powerCut()
		}
		if w.failure != nil {
			return w.failure
		}
	}
	if err := w.drain(); err != nil {
		return err
	}
	return w.isWritten()
}

// turn lets something happen.
func (w *world) turn() {
	switch n := w.IntN(40); {
	case n < 4 && w.plan.Live:
		w.redeliver(w.sources[w.IntN(len(w.sources))])
	case n < 12:
		w.write(w.sources[w.IntN(len(w.sources))])
	case n < 30:
		w.work(w.slots[w.IntN(len(w.slots))])
	case n < 33:
		w.tick()
	case n < 36:
		w.pass()
	case n < 37 && w.subject.Crew != nil:
		w.reassign()
	case n < 37:
		w.handOver()
	case n < 38 && w.depth == 0:
		w.start(w.writers[w.IntN(len(w.writers))])
	case n < 39:
		w.redeliver(w.sources[w.IntN(len(w.sources))])
	default:
		w.purge()
	}
	if w.plan.Deletions && w.IntN(12) == 0 {
		w.delete()
	}
	if w.subject.Crew != nil && w.IntN(8) == 0 {
		w.tell(w.slots[w.IntN(len(w.slots))])
	}
	if len(w.zombies) > 0 {
		w.haunt()
	}
}

// interleave lets something else happen in the middle of a call.
func (w *world) interleave() {
	if w.draining || w.depth >= 2 || w.Float64() >= w.plan.Interleave || w.isLong() {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.goBy(time.Duration(w.IntN(500)) * time.Millisecond)
	for range 1 + w.IntN(3) {
		w.turn()
	}
}

// isLong tells that there is enough to do: what happens in the middle of calls makes calls of its own, now and then without an
// end.
func (w *world) isLong() bool {
	_, ends, err := w.sentenceTopic.Bounds(context.Background())
	return err != nil || slices.Max(ends) > 5000
}

// assign deals the partitions out to new workers.
func (w *world) assign() {
	w.slots, w.process = nil, new(any)
	for range w.plan.Workers {
		w.slots = append(w.slots, &slot{lazy: 0.8 * w.Float64()})
	}
	for q := range w.plan.Partitions {
		s := w.slots[w.IntN(len(w.slots))]
		s.owned = append(s.owned, q)
	}
	if w.subject.Crew == nil {
		w.slots = slices.DeleteFunc(w.slots, func(s *slot) bool { return len(s.owned) == 0 })
	}
	for i, s := range w.slots {
		s.name, s.told = fmt.Sprintf("process %d", i), s.owned
	}
}

// handOver gives the partitions to new workers, while the old ones go on for a while, not knowing.
func (w *world) handOver() {
	for _, s := range w.slots {
		s.turns = w.IntN(6)
		if s.worker != nil {
			w.zombies = append(w.zombies, s)
		}
	}
	w.assign()
}

func (w *world) haunt() {
	s := w.zombies[w.IntN(len(w.zombies))]
	s.turns--
	if s.turns < 0 {
		w.zombies = slices.DeleteFunc(w.zombies, func(z *slot) bool { return z == s })
		return
	}
	if s.worker != nil {
		w.work(s)
	}
}

// work lets a worker take a turn, or brings one up.
func (w *world) work(s *slot) {
	if s.busy || !w.draining && w.Float64() < s.lazy {
		return
	}
	s.busy = true
	defer func() {
		s.busy = false
		r := recover()
		if r == nil {
			return
		}
		if d, died := r.(death); !died || d.of != s.agent {
			panic(r) // not one of ours
		}
		s.worker = nil
		w.crashes++
	}()
	if s.worker == nil {
		w.open(s)
	}
	if s.worker == nil {
		return
	}
	s.agent.left = w.life()
	if err := s.worker.Step(context.Background()); err != nil && !errors.Is(err, errInjected) {
		w.failure = err
	}
}

func (w *world) open(s *slot) {
	s.agent = &agent{world: w, left: w.life()}
	worker, err := w.openWorker(s)
	if err == nil {
		s.worker = worker
	} else if !errors.Is(err, errInjected) {
		w.failure = err
	}
}

func (w *world) openWorker(s *slot) (Worker, error) {
	env := w.env(s.agent, s.owned)
	if w.subject.Crew == nil {
		return w.subject.Worker(env)
	}
	env.Name, env.Grace, env.Workers, env.Process = s.name, w.plan.Grace, w.plan.Common, nil
	w.lives++
	env.Snapshots, env.SnapshotEvery, env.Life = w.filesOf(s), 1+w.IntN(12), fmt.Sprint(w.lives)
	crew, err := w.subject.Crew(env)
	if err == nil {
		crew.Assign(s.told)
	}
	return crew, err
}

// reassign gives some partitions to other processes, which hear of it at once or later. Now and then one is another process by
// its name when it starts again.
func (w *world) reassign() {
	for q := range w.plan.Partitions {
		if w.IntN(3) > 0 {
			continue
		}
		for _, s := range w.slots {
			s.owned = slices.DeleteFunc(slices.Clone(s.owned), func(o int) bool { return o == q })
		}
		to := w.slots[w.IntN(len(w.slots))]
		to.owned = append(to.owned, q)
	}
	for _, s := range w.slots {
		if w.IntN(2) == 0 {
			w.tell(s)
		}
	}
	if s := w.slots[w.IntN(len(w.slots))]; w.IntN(8) == 0 && !s.busy {
		s.worker, s.name = nil, s.name+"'"
	}
}

// tell tells a process what it has to serve.
func (w *world) tell(s *slot) {
	s.told = s.owned
	if s.worker != nil {
		s.worker.(Crew).Assign(s.told)
	}
}

// life is how many calls an agent may make in this turn before it dies.
func (w *world) life() int {
	if w.draining || w.Float64() >= w.plan.Crash {
		return 0
	}
	return 1 + w.IntN(30)
}

// drain brings what was accepted to its end, without faults.
func (w *world) drain() error {
	w.draining, w.zombies = true, nil
	w.deliverAll()
	return w.finish()
}

// deliverAll delivers what is pending.
func (w *world) deliverAll() {
	for _, s := range w.sources {
		if s.pending != nil && w.expected(s.writer) {
			w.deliver(s)
		}
	}
}

// finish lets the workers take turns until they are through.
func (w *world) finish() error {
	_, ends, err := w.sentenceTopic.Bounds(context.Background())
	if err != nil {
		return err
	}
	if w.subject.Crew != nil {
		for _, s := range w.slots {
			w.tell(s)
		}
	}
	for range 10_000 + 10*len(records(w.sentenceTopic)) { // a turn looks a few up
		if w.failure != nil || w.through(ends) {
			return w.failure
		}
		for _, s := range w.slots {
			w.work(s)
		}
		if w.subject.Crew != nil { // a grace ends
			w.now = w.now.Add(100 * time.Millisecond)
		}
	}
	return errors.New("the workers do not come to the end")
}

func (w *world) through(ends []int64) bool {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range w.slots {
		if s.worker == nil || s.worker.WaitFor(ended, ends) != nil {
			return false
		}
	}
	return true
}
