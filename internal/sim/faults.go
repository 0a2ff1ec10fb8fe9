package sim

import (
	"context"
	"errors"
	"time"

	"refrain/feed"
	"refrain/topic"
)

var errInjected = errors.New("injected failure")

// death is what a worker's or writer's life ends with.
type death struct{ of *agent }

// agent is one life of a worker or writer. It reaches the world only through wrappers that know it, so that it can
// die at any of its calls, and others can take turns in the middle of one.
type agent struct {
	world *world
	left  int // calls until it dies; 0: it does not
}

// call is made before and after everything that an agent does.
func (a *agent) call() {
	if a.left > 0 {
		a.left--
		if a.left == 0 {
			panic(death{a})
		}
	}
}

// fails decides whether a call fails.
func (a *agent) fails() bool { return !a.world.draining && a.world.Float64() < a.world.plan.Fail/4 }

// faultyTopic is a topic as an agent sees it.
type faultyTopic struct {
	*topic.Memory
	agent *agent
	slow  bool // others take turns between the records of an append, and readers lag
}

// Append makes records visible one after the other, partitions in any order. It may stop half-way.
func (t *faultyTopic) Append(ctx context.Context, records []topic.Record) error {
	w := t.agent.world
	begin, stop := w.now, len(records)+1
	if !w.draining && w.Float64() < w.plan.Fail {
		stop = w.IntN(len(records) + 1)
	}
	for n, i := range w.shuffled(records) {
		if n == stop || w.now.Sub(begin) > w.plan.Delta/2 { // it has taken too long: to be made again
			return errInjected
		}
		t.agent.call()
		if err := t.Memory.Append(ctx, records[i:i+1]); err != nil {
			return err
		}
		if t.slow {
			w.interleave()
		}
	}
	t.agent.call()
	if stop == len(records) {
		return errInjected // all written, not acknowledged
	}
	return nil
}

// shuffled orders records by partition at random, and keeps their order within a partition.
func (w *world) shuffled(records []topic.Record) []int {
	parts := map[int][]int{}
	var turns []int
	for i := range records {
		parts[records[i].Partition] = append(parts[records[i].Partition], i)
		turns = append(turns, records[i].Partition)
	}
	w.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	for i, p := range turns {
		turns[i] = parts[p][0]
		parts[p] = parts[p][1:]
	}
	return turns
}

func (t *faultyTopic) Bounds(ctx context.Context) (start, end []int64, err error) {
	t.agent.world.interleave()
	t.agent.call()
	if t.agent.fails() {
		return nil, nil, errInjected
	}
	return t.Memory.Bounds(ctx)
}

// Open returns a reader that sees the partitions unevenly.
func (t *faultyTopic) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	t.agent.call()
	if t.agent.fails() {
		return nil, errInjected
	}
	r := &unevenReader{agent: t.agent}
	if t.Ordered() {
		one, err := t.OpenMemory(ctx, from)
		r.parts = []*topic.MemoryReader{one}
		return r, err
	}
	for p, at := range from {
		if at < 0 {
			continue
		}
		only := make([]int64, len(from))
		for i := range only {
			only[i] = -1
		}
		only[p] = at
		one, err := t.OpenMemory(ctx, only)
		if err != nil {
			return nil, err
		}
		r.parts = append(r.parts, one)
		if t.slow {
			r.lag = append(r.lag, t.agent.world.Float64())
		}
	}
	return r, nil
}

// unevenReader reads some partitions and leaves others for later, and never waits.
type unevenReader struct {
	agent *agent
	parts []*topic.MemoryReader
	lag   []float64 // how likely a partition is left for later; none where all share one order
}

func (r *unevenReader) Fetch(context.Context) ([]topic.Record, error) {
	w := r.agent.world
	w.interleave()
	r.agent.call()
	if r.agent.fails() {
		return nil, errInjected
	}
	var all []topic.Record
	for _, i := range w.Perm(len(r.parts)) {
		if len(r.lag) > 0 && !w.draining && w.Float64() < r.lag[i] {
			continue
		}
		records, err := r.parts[i].TryFetch(1 + w.IntN(8))
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	if len(all) == 0 {
		return nil, context.DeadlineExceeded
	}
	return all, nil
}

func (r *unevenReader) Close() error { return nil }

// faultyStore fails, and lets its user die on either side of a Put.
type faultyStore struct {
	topic.Store
	agent *agent
}

func (s *faultyStore) Put(ctx context.Context, key string, value []byte) error {
	s.agent.world.interleave()
	s.agent.call()
	if s.agent.fails() {
		return errInjected
	}
	if err := s.Store.Put(ctx, key, value); err != nil {
		return err
	}
	s.agent.call()
	return nil
}

// mortalRows let their user die around every insertion and look-up.
type mortalRows struct {
	Rows
	agent *agent
}

func (r *mortalRows) Insert(x *feed.Sentence) bool {
	r.agent.call()
	return r.Rows.Insert(x)
}

func (r *mortalRows) EachMatch(x *feed.Sentence, found func(*feed.Match)) {
	r.agent.call()
	r.Rows.EachMatch(x, found)
}

// env is the world as an agent sees it.
func (w *world) env(a *agent, owned []int) Env {
	e := Env{
		Sentences: &faultyTopic{w.sentenceTopic, a, true}, Events: &faultyTopic{w.eventTopic, a, false},
		Control: &faultyTopic{w.controlTopic, a, false}, Store: &faultyStore{&loggedStore{w.store, w}, a},
		Rows: func(int) (Rows, error) {
			rows, err := w.subject.Rows(threshold, w.plan.Span, w.plan.Lateness)
			return &mortalRows{rows, a}, err
		},
		Owned: owned, Now: func() time.Time { return w.now },
		Span: w.plan.Span, Lateness: w.plan.Lateness, Delta: w.plan.Delta, MinTokens: minTokens, MaxQueue: w.plan.MaxQueue,
		MaxEvents:  w.plan.MaxEvents,
		Redelivery: w.plan.Redelivery, MaxHold: w.plan.MaxHold,
	}
	if w.plan.OneProcess {
		e.Process = w.process
	}
	return e
}
