package shard

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"refrain/feed"
	"refrain/internal/check"
)

// Redeliveries tells which sentences are redeliveries of posts without a usable time: without any, or with one in the
// future. Such a post gets another time whenever it is sent, so that its times mean nothing. What counts is the sentence
// topic: in one partition, in the order of positions, a sentence is a redelivery if one without a usable time of the same
// source, post id, version and index stands before it at most Within earlier. It may have a time itself: what lay in
// the future at the first try need not at the second. Redeliveries without one count as standing there too, so the last
// hour of a partition decides, however long somebody goes on trying. All records of one text are in one partition, and
// time is the running maximum of its append stamps: so everybody who reads the partition decides alike, owner or not,
// before and after a restart.
//
// Time is cut into slots of a twelfth of Within, and each slot is a set of hashes (see slot). So a sentence counts as
// a redelivery for at least Within, and for up to a twelfth longer.
//
// The workers of a process share one: who reads a record first decides, and the others get the same answer. It may be
// used by several goroutines.
type Redeliveries struct {
	cfg     RedeliveryConfig
	slot    int64        // nanoseconds
	limit   int64        // bytes of one partition's slots; 0: none
	seed    maphash.Seed // nobody outside can make two posts one
	parts   []observedPartition
	size    *atomic.Int64 // of all sets, those of another too
	warning rate.Sometimes

	mu        sync.Mutex // guards what follows
	observers []*observer
}

// RedeliveryConfig is what Redeliveries retains.
type RedeliveryConfig struct {
	Partitions int           // of the sentence topic, 1 or more
	Within     time.Duration // 1 ms or more
	Budget     int64         // bytes; 0: no limit
	Logger     *slog.Logger
}

// slotsWithin is how many slots Within is cut into.
const slotsWithin = 12

// NewRedeliveries returns one that has observed nothing.
func NewRedeliveries(cfg RedeliveryConfig) (*Redeliveries, error) {
	if err := errors.Join(
		check.AtLeast(1, "partitions", cfg.Partitions),
		check.AtLeast(1, "within in milliseconds", int(cfg.Within.Milliseconds())),
		check.AtLeast(0, "budget", int(cfg.Budget)), check.Set("logger", cfg.Logger != nil),
	); err != nil {
		return nil, fmt.Errorf("redeliveries: %w", err)
	}
	return &Redeliveries{
		cfg: cfg, slot: cfg.Within.Nanoseconds() / slotsWithin, limit: cfg.Budget / int64(cfg.Partitions),
		seed: maphash.MakeSeed(), size: new(atomic.Int64),
		parts: make([]observedPartition, cfg.Partitions), warning: rate.Sometimes{Interval: time.Minute},
	}, nil
}

// redeliveries are those of the configuration, or a worker's own.
func (c *Config) redeliveries(partitions int) (*Redeliveries, error) {
	if c.Redeliveries == nil {
		return NewRedeliveries(RedeliveryConfig{Partitions: partitions, Within: c.Redelivery, Logger: c.Logger})
	}
	if n := len(c.Redeliveries.parts); n != partitions {
		return nil, fmt.Errorf("redeliveries of %d partitions, the sentence topic has %d", n, partitions)
	}
	return c.Redeliveries, nil
}

// another is one like r that has observed nothing.
func (r *Redeliveries) another() *Redeliveries {
	o, _ := NewRedeliveries(r.cfg) // which has been checked
	o.size = r.size
	return o
}

// Bytes is what the sets hold.
func (r *Redeliveries) Bytes() int64 { return r.size.Load() }

// observedPartition is what has been observed of one partition.
type observedPartition struct {
	mu          sync.Mutex
	joined      bool             // somebody is about to read it
	begun       bool             // and has begun to
	next        int64            // the first position that nobody has observed
	stamp       int64            // the highest stamp before it
	slots       []slot           // that decide, ascending
	trail       []step           // where slots began
	redelivered map[int64][]bool // by position, the records with redeliveries that somebody may still read
	prunedBelow int64            // of what lies before, redeliveries may have been pruned
	sure        int64            // the first position that can be decided: enough before it is observed
}

// step is where a slot began.
type step struct {
	number   int64
	position int64 // of its first record
	before   int64 // the highest stamp before that
	untimed  bool  // some sentence in it has no usable time
}

// observePoint is where to observe a partition from: a position, and the highest stamp before it.
type observePoint struct{ position, stamp int64 }

// observe adds a record, and returns which of its sentences are redeliveries, nil if none is. Every partition is observed
// from its observer's beginning on without gaps; for what was observed before, the answer is the same again.
func (r *Redeliveries) observe(p int, position, stamp int64, sentences []feed.Sentence) []bool {
	h := &r.parts[p]
	h.mu.Lock()
	defer h.mu.Unlock()
	if position < h.next {
		return h.redelivered[position]
	}
	r.advance(h, position, stamp)
	var repeats []bool
	for i := range sentences {
		if !r.isRedelivery(h, &sentences[i]) {
			continue
		}
		if repeats == nil {
			repeats = make([]bool, len(sentences))
		}
		repeats[i] = true
	}
	if repeats != nil {
		h.redelivered[position] = repeats
	}
	return repeats
}

// isUntimed reports whether a sentence's post had no usable time.
func isUntimed(s *feed.Sentence) bool { return s.Untimed || s.TimeAdjusted }

// advance moves on to a record.
func (r *Redeliveries) advance(h *observedPartition, position, stamp int64) {
	before := h.stamp
	h.next, h.stamp = position+1, max(h.stamp, stamp)
	if h.redelivered == nil {
		h.redelivered = map[int64][]bool{}
	}
	number := h.stamp / r.slot
	if n := len(h.trail); n > 0 && h.trail[n-1].number == number {
		return
	}
	h.trail = append(h.trail, step{number: number, position: position, before: before})
	r.resized(h, func() {
		if n := len(h.slots); n > 0 {
			h.slots[n-1].close()
		}
		h.slots = slices.DeleteFunc(h.slots, func(s slot) bool { return s.number < number-slotsWithin })
	})
}

// isRedelivery reports whether a sentence stands in a slot, and puts it into the last if it has no usable time.
func (r *Redeliveries) isRedelivery(h *observedPartition, s *feed.Sentence) bool {
	if len(h.slots) == 0 && !isUntimed(s) {
		return false // as in every feed of posts with times
	}
	id := identityOf(s)
	hash := r.hash(id)
	repeat := slices.ContainsFunc(h.slots, func(s slot) bool { return s.has(hash) })
	if isUntimed(s) {
		r.add(h, hash)
	}
	if s.TimeAdjusted {
		id.dated = true
		r.add(h, r.hash(id))
	}
	return repeat
}

func (r *Redeliveries) add(h *observedPartition, hash uint64) {
	last := &h.trail[len(h.trail)-1]
	last.untimed = true
	r.resized(h, func() {
		if n := len(h.slots); n == 0 || h.slots[n-1].number != last.number {
			h.slots = append(h.slots, slot{number: last.number})
		}
		h.slots[len(h.slots)-1].add(hash)
	})
}

// resized counts the bytes that change, and lets the oldest slots go where they are too many.
func (r *Redeliveries) resized(h *observedPartition, change func()) {
	before := h.bytes()
	change()
	for r.limit > 0 && len(h.slots) > 0 && h.bytes() > r.limit {
		h.slots = slices.Delete(h.slots, 0, 1)
		r.warning.Do(func() {
			r.cfg.Logger.Warn("posts without a usable time fill their part of the window's budget: those sent again may "+
				"be taken for further versions",
				"bytes", r.Bytes(), "slots", len(h.slots))
		})
	}
	r.size.Add(h.bytes() - before)
}

func (h *observedPartition) bytes() (n int64) {
	for i := range h.slots {
		n += h.slots[i].bytes()
	}
	return n
}

// identity is what stands for a sentence in a slot, by its hash.
type identity struct {
	source, post string
	version      uint64
	index        int
	dated        bool // the post has a date: if it is in a slot, it lay in the future, and may have come since
}

func identityOf(s *feed.Sentence) identity {
	return identity{s.Source, s.Post, s.Version, s.Index, !isUntimed(s)}
}

func (r *Redeliveries) hash(id identity) uint64 { return maphash.Comparable(r.seed, id) }

// reach notes that nothing lies below a position but what was observed.
func (r *Redeliveries) reach(position int64) {
	for p := range r.parts {
		h := &r.parts[p]
		h.mu.Lock()
		h.next = max(h.next, position)
		h.mu.Unlock()
	}
}

// from is where p must be observed from to decide what lies at a position and behind it.
func (r *Redeliveries) from(p int, position int64) observePoint {
	h := &r.parts[p]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from(position)
}

func (h *observedPartition) from(position int64) observePoint {
	end := h.stepsUntil(position)
	if end == 0 && len(h.trail) > 0 {
		return h.trail[0].point() // that is all that is known
	}
	if end == 0 {
		return observePoint{min(position, h.next), h.stamp}
	}
	last := &h.trail[end-1]
	first, _ := slices.BinarySearchFunc(h.trail, last.number-slotsWithin,
		func(s step, n int64) int { return cmp.Compare(s.number, n) })
	for i := first; i < end; i++ {
		if h.trail[i].untimed {
			return h.trail[i].point()
		}
	}
	if position >= h.next {
		return observePoint{h.next, h.stamp}
	}
	return last.point()
}

// stepsUntil is how many steps begin at or before a position.
func (h *observedPartition) stepsUntil(position int64) int {
	n, found := slices.BinarySearchFunc(h.trail, position, func(s step, at int64) int { return cmp.Compare(s.position, at) })
	if found {
		n++
	}
	return n
}

func (s *step) point() observePoint { return observePoint{s.position, s.before} }

// observer is a worker that reads what others may have observed before it.
type observer struct {
	of   *Redeliveries
	next []int64 // per partition, the first position that it may read again
	need []int64 // likewise, the first that it may ask from for
}

// addObserver adds a worker that reads every partition from a position on, to decide what lies from undone on, and whose states
// need to know from where to decide what lies from needs on. It is false where others have passed that position
// long ago, so that nobody remembers what was decided there: then the worker needs Redeliveries of its own.
func (r *Redeliveries) addObserver(from []observePoint, undone, needs []int64) (*observer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range from {
		if h := &r.parts[p]; h.isPast(from[p]) {
			return nil, false
		}
	}
	o := &observer{of: r}
	for p, at := range from {
		r.parts[p].observeFrom(at, undone[p])
		o.next, o.need = append(o.next, at.position), append(o.need, min(at.position, needs[p]))
	}
	r.observers = append(r.observers, o)
	return o, true
}

func (h *observedPartition) isPast(at observePoint) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun && at.position < h.prunedBelow
}

// forget begins anew: nobody is left who knows what comes after that which was observed.
func (r *Redeliveries) forget() {
	for p := range r.parts {
		h := &r.parts[p]
		h.mu.Lock()
		r.size.Add(-h.bytes())
		h.joined, h.begun, h.next, h.stamp = false, false, 0, 0
		h.slots, h.trail, h.redelivered, h.prunedBelow = nil, nil, nil, 0
		h.mu.Unlock()
	}
}

// observeFrom makes a partition be observed from a point, unless others begin before it or have begun.
func (h *observedPartition) observeFrom(at observePoint, undone int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sure = min(h.sure, undone); !h.joined {
		h.sure = undone
	}
	if h.begun || h.joined && h.next <= at.position {
		return
	}
	h.joined, h.next, h.stamp, h.prunedBelow = true, at.position, at.stamp, at.position
}

// start begins to read: from where every partition is to be read by one that wants to go on from next, so that nothing
// is left out that nobody has observed.
func (o *observer) start(next []int64) []int64 {
	from := slices.Clone(next)
	for p := range from {
		h := &o.of.parts[p]
		h.mu.Lock()
		h.begun, from[p] = true, min(from[p], h.next)
		h.mu.Unlock()
	}
	return from
}

// passed notes how far a worker has got: what no worker can ask for again is pruned.
func (o *observer) passed(next, need []int64) {
	r := o.of
	r.mu.Lock()
	defer r.mu.Unlock()
	copy(o.next, next)
	copy(o.need, need)
	r.prune()
}

// leave removes a worker that reads no more.
func (o *observer) leave() {
	r := o.of
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observers = slices.DeleteFunc(r.observers, func(other *observer) bool { return other == o })
	if len(r.observers) == 0 {
		r.forget()
	}
	r.prune()
}

// adopt lets a worker decide for another one, too, that reads on from some positions, and whose states need others. It is
// false where that cannot be: what was decided there is forgotten, or was never known.
func (o *observer) adopt(other *observer, from, needs []int64) bool {
	if !o.cover(other.of, from, needs) {
		return false
	}
	other.leave()
	return true
}

func (o *observer) cover(of *Redeliveries, from, needs []int64) bool {
	r := o.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if of != r {
		for p := range from {
			if !r.parts[p].decides(from[p]) {
				return false
			}
		}
		for p := range from {
			r.parts[p].prepend(of.parts[p].steps())
		}
	}
	o.next, o.need = MinPositions(o.next, from), MinPositions(o.need, needs)
	return true
}

// decides reports whether it is known what is redelivered from a position on.
func (h *observedPartition) decides(position int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return position >= h.prunedBelow && position >= h.sure
}

func (h *observedPartition) steps() []step {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.trail)
}

// prepend adds the older steps of another one that has observed the same partition: the rows of its worker go further back.
// Where both know a slot, the other may have seen its beginning.
func (h *observedPartition) prepend(older []step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := h.next
	if len(h.trail) > 0 {
		end = h.trail[0].position
	}
	n, _ := slices.BinarySearchFunc(older, end, func(s step, at int64) int { return cmp.Compare(s.position, at) })
	if older = older[:n]; n == 0 {
		return
	}
	if last := &older[n-1]; len(h.trail) > 0 && last.number >= h.trail[0].number {
		last.untimed = last.untimed || h.trail[0].untimed
		h.trail = h.trail[1:]
	}
	h.trail = append(older, h.trail...)
}

// prune drops what no observer can ask for again.
func (r *Redeliveries) prune() {
	if len(r.observers) == 0 {
		return
	}
	for p := range r.parts {
		next, need := r.observers[0].next[p], r.observers[0].need[p]
		for _, o := range r.observers[1:] {
			next, need = min(next, o.next[p]), min(need, o.need[p])
		}
		r.parts[p].prune(next, need)
	}
}

func (h *observedPartition) prune(next, need int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if next > h.prunedBelow {
		h.prunedBelow = next
		for position := range h.redelivered {
			if position < next {
				delete(h.redelivered, position)
			}
		}
	}
	first := h.from(need).position
	if n := h.stepsUntil(first); n > 1 {
		h.trail = slices.Delete(h.trail, 0, n-1)
	}
}
