package sim

import (
	"context"
	"slices"

	"refrain/topic"
)

// A power cut ends everybody's life at once, and leaves of each topic and of the store what one moment had made of it,
// of each another: they reach the disk apart. What a writer was told of as durable may be gone.

// put is one change of the store.
type put struct {
	key   string
	value []byte
}

// loggedStore remembers what was put.
type loggedStore struct {
	topic.Store
	world *world
}

func (s *loggedStore) Put(ctx context.Context, key string, value []byte) error {
	s.world.puts = append(s.world.puts, put{key, slices.Clone(value)})
	return s.Store.Put(ctx, key, value)
}

// powerCut happens between turns, when nobody is in the middle of a call.
func (w *world) powerCut() {
	w.powerCuts++
	for _, s := range w.slots {
		s.worker = nil
	}
	w.zombies, w.process = nil, new(any) // what a process knows is gone with it
	w.remember()
	for _, t := range []*topic.Memory{w.sentenceTopic, w.eventTopic, w.controlTopic} {
		w.truncate(t)
	}
	w.puts = w.puts[:w.survive(len(w.puts))]
	w.store = &topic.MemoryStore{}
	for _, p := range w.puts {
		if err := w.store.Put(context.Background(), p.key, p.value); err != nil {
			w.failure = err
		}
	}
	for _, writer := range w.writers {
		w.start(writer)
	}
	w.dropAcked()
}

// remember keeps what a power cut may take, for the judge.
func (w *world) remember() {
	w.beforeCut = append(w.beforeCut, w.counted(nil)...)
	w.past, w.dropped = append(w.past, w.dropped...), nil
}

// survive is how many of n survive: all, or some of them, and mostly many.
func (w *world) survive(n int) int {
	switch w.IntN(4) {
	case 0:
		return n
	case 1:
		return w.IntN(n + 1)
	}
	return n - w.IntN(min(n, 12)+1)
}

// truncate cuts off the end of every partition, of each another piece where they do not share one order.
func (w *world) truncate(t *topic.Memory) {
	start, end, err := t.Bounds(context.Background())
	if err != nil {
		w.failure = err
		return
	}
	for p := range end {
		end[p] = start[p] + int64(w.survive(int(end[p]-start[p])))
	}
	if t.Ordered() { // one piece of all
		end = slices.Repeat([]int64{slices.Max(end)}, len(end))
	}
	t.Cut(end)
}

// dropAcked makes the sources deliver nothing again that was acknowledged: what of it is lost would come too late.
func (w *world) dropAcked() {
	for _, s := range w.sources {
		s.acked = nil
		if s.pending != nil && s.pending.again {
			s.pending = nil
		}
	}
}
