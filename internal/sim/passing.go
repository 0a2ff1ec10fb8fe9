package sim

import (
	"context"
	"slices"
	"time"

	"refrain/feed"
)

// pass lets time go by: now and then more than a source may be silent. Either all goes on meanwhile but the posts, or
// nothing does, for minutes.
func (w *world) pass() {
	n := w.IntN(6)
	if w.plan.Apart && w.IntN(3) == 0 {
		n = 1
	}
	switch n {
	case 0:
		for range 8 + w.IntN(16) {
			w.goBy(time.Duration(1+w.IntN(5)) * time.Second)
			w.tick()
		}
	case 1:
		w.standStill(time.Duration(w.IntN(600)) * time.Second)
	default:
		w.goBy(time.Duration(w.IntN(4000)) * time.Millisecond)
	}
}

// standStill lets time go by without anything happening. In the present it may last long, and the topic then drops
// what is older than it keeps.
func (w *world) standStill(d time.Duration) {
	if w.plan.Live && w.depth == 0 && (w.plan.Apart || w.IntN(2) == 0) && w.ready() {
		d = time.Duration(30+w.IntN(25)) * time.Minute
		defer w.expire()
	}
	w.goBy(d)
}

// ready brings everything through, and one source into the present: retention asks that much of a service, or the
// topic drops what is still needed.
func (w *world) ready() bool {
	w.draining, w.zombies = true, nil
	defer func() { w.draining = false }()
	if w.deliverAll(); !w.present(w.sources[0]) {
		return false
	}
	w.goBy(time.Second) // a watermark is due
	w.tick()
	if w.finish() != nil || w.failure != nil {
		return false
	}
	w.done = w.now
	return true
}

// present lets a source have posts of now.
func (w *world) present(s *source) bool {
	now := feed.FromTime(w.now)
	if !w.expected(s.writer) || now > w.limit(s) {
		return false
	}
	d := &delivery{oldest: now}
	for range 3 {
		p := w.feeder.post(s)
		p.Time, p.Timed = now, true
		d.posts = append(d.posts, p)
	}
	w.feeder.newest, s.level, s.pending = max(w.feeder.newest, now), max(s.level, now), d
	w.deliver(s)
	return s.pending == nil
}

// expire is retention: records go by their age.
func (w *world) expire() {
	if w.now.Sub(w.done) > retentionMargin-2*time.Minute { // posts may be a minute ahead
		return
	}
	retention := w.plan.Span + w.plan.Lateness + w.plan.MaxHold
	if w.subject.TopicRetention != nil {
		retention = w.subject.TopicRetention(w.plan.Span, w.plan.Lateness, w.plan.MaxHold)
	}
	w.dropping(func() { w.sentenceTopic.Expire(w.now.Add(-retention - retentionMargin)) })
	w.restart() // rows come from the topic again
}

// goBy keeps the present where it makes no post on its way too late.
func (w *world) goBy(d time.Duration) {
	if w.plan.Live && w.now.Add(d).After(w.limit(nil).Time()) {
		return
	}
	w.now = w.now.Add(d)
}

// purge drops what no worker needs any more, as the service does: some may have stored an older state again.
func (w *world) purge() {
	if !w.allTold() {
		return
	}
	before := slices.Repeat([]int64{1 << 60}, w.plan.Partitions)
	for _, s := range w.slots {
		if s.worker == nil {
			return // what it needs is not known
		}
		needed := s.worker.Needed()
		if needed == nil && len(s.owned) > 0 {
			return
		}
		for p, n := range needed {
			before[p] = min(before[p], n)
		}
	}
	if w.plan.Ordered { // one stream, cut at one place
		before = slices.Repeat([]int64{slices.Min(before)}, len(before))
	}
	w.dropping(func() {
		if err := w.sentenceTopic.Purge(context.Background(), before); err != nil {
			w.failure = err
		}
	})
}

// restart makes all rows come from the topic again.
func (w *world) restart() {
	if w.subject.Crew == nil {
		w.handOver()
		return
	}
	for _, s := range w.slots {
		if !s.busy {
			s.worker = nil
		}
	}
}

// allTold reports whether every partition is served by one process, as far as they know.
func (w *world) allTold() bool {
	return !slices.ContainsFunc(w.slots, func(s *slot) bool { return !slices.Equal(s.told, s.owned) })
}

// dropping remembers what f makes the sentence topic drop: its events have to have come all the same.
func (w *world) dropping(f func()) {
	all := records(w.sentenceTopic)
	f()
	start, _, err := w.sentenceTopic.Bounds(context.Background())
	if err != nil {
		w.failure = err
		return
	}
	for _, r := range all {
		if r.Position < start[r.Partition] {
			w.dropped = append(w.dropped, r)
		}
	}
}
