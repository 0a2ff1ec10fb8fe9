package server

import (
	"testing"
	"time"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/shard"
	"refrain/split"
)

// send has l take batches of so many sentences as long as it is not full, and returns how many sentences got in.
func send(l *backlog, batch int64) (sent int64) {
	for !l.full(time.Second) {
		l.add(time.Now(), batch)
		sent += batch
	}
	return sent
}

// lookUp has all workers look everything up, at so much a sentence, as a turn does: some records at a time.
func lookUp(l *backlog, cost time.Duration) {
	for l.waiting() > 0 {
		n := int(min(100, l.waiting()))
		for w := range l.workers {
			l.workers[w].learn(&shard.Spent{Sentences: n, Took: time.Duration(n) * cost})
		}
	}
}

// TestBacklogGrowsWithWhatIsLookedUp: a sender begins with little, and in some rounds of cheap look-ups has room for all that
// they can be behind.
func TestBacklogGrowsWithWhatIsLookedUp(t *testing.T) {
	l := newBacklog(2)
	for round, want := range []int64{512, 1600, 4096, 4096} {
		if sent := send(l, 64); sent < want-want/2 || sent > want+64 {
			t.Errorf("round %d: %d sentences, want about %d", round, sent, want)
		}
		lookUp(l, 20*time.Microsecond)
	}
}

// TestBacklogNarrowsWithTheCost: what a sender may have waiting takes no longer than a quarter of the pace, by its dearest
// sentences; one that was cheap meanwhile is not trusted at once, and one whose every sentence takes long gets on all the same.
func TestBacklogNarrowsWithTheCost(t *testing.T) {
	l := newBacklog(2)
	for _, c := range []struct {
		cost     time.Duration
		min, max int64
	}{
		{20 * time.Microsecond, 4096, 4096 + 64}, {time.Millisecond, 250, 250 + 64}, {20 * time.Microsecond, 250, 400},
		{time.Second, minCostly, minCostly + 64}, {time.Second, minCostly, minCostly + 64},
	} {
		for range 6 { // of the first cost, until it has all the room
			lookUp(l, c.cost)
			if c.cost < time.Millisecond && l.cost() < 1e5 {
				send(l, 64)
			}
		}
		send(l, 64)
		lookUp(l, c.cost)
		if sent := send(l, 64); sent < c.min || sent > c.max {
			t.Errorf("after look-ups of %v: %d sentences, want %d to %d", c.cost, sent, c.min, c.max)
		}
	}
}

// TestBacklogSettles: nobody waits for ever for records that are lost, nor gets room from those that were appended although
// that had failed.
func TestBacklogSettles(t *testing.T) {
	l := newBacklog(2)
	send(l, 64)
	l.reconcile(l.last)
	if !l.full(time.Second) {
		t.Error("taken for looked up before its last record is")
	}
	l.reconcile(l.last.Add(1))
	if l.waiting() != 0 {
		t.Errorf("%d wait, and newer records are looked up everywhere", l.waiting())
	}
	for w := range l.workers {
		l.workers[w].learn(&shard.Spent{Sentences: 10_000})
	}
	l.reconcile(l.last)
	if l.waiting() != 0 {
		t.Errorf("%d wait, after look-ups that nobody is known to have sent", l.waiting())
	}
}

// TestBacklogFollowsTheDearestWorker: where all that a text repeats lies in the rows of one worker, its look-ups say what may
// wait, however cheap those of the others are.
func TestBacklogFollowsTheDearestWorker(t *testing.T) {
	l := newBacklog(8)
	for range 1000 {
		l.add(time.Now(), 10)
		for w := range l.workers {
			cost := 10 * time.Microsecond
			if w == 3 {
				cost = time.Millisecond
			}
			l.workers[w].learn(&shard.Spent{Sentences: 10, Took: 10 * cost})
		}
	}
	if sent := send(l, 10); sent > 260 {
		t.Errorf("%d sentences, which take the slowest worker %v", sent, time.Duration(sent)*time.Millisecond)
	}
}

// TestOthersLookUpsMakeNoRoom: what another process lets in for the same sender is looked up here too. Nobody has room for it
// here, though it is always sending.
func TestOthersLookUpsMakeNoRoom(t *testing.T) {
	p := mustPace(func() time.Duration { return 0 })
	p.lookedUpTo = func() time.Time { return time.Time{} }
	always := func(quota.Usage) bool { return true }
	b := &ingest.Batch{Sender: "token:busy", Posts: make([]feed.Post, 100)}
	p.reserve(b, always)
	p.spent(0, []shard.Spent{{Origin: b.Sender, Sentences: 100_000}})
	p.reserve(b, always)
	p.appended(b.Sender, &split.Written{Stamp: time.Now(), BySource: map[string]quota.Usage{"": {Sentences: 2 * maxBacklog}}})
	if _, ok, _ := p.reserve(b, always); ok {
		t.Errorf("let in while %d sentences wait", 2*maxBacklog)
	}
}

// TestWhoWaitsIsWokenForItsRoom, and not by the look-ups of others: hundreds of uploads may wait, and a turn take a
// millisecond.
func TestWhoWaitsIsWokenForItsRoom(t *testing.T) {
	p := mustPace(func() time.Duration { return 0 })
	always := func(quota.Usage) bool { return true }
	flood := &ingest.Batch{Sender: "token:flood", Posts: make([]feed.Post, 600)}
	release, _, _ := p.reserve(flood, always)
	_, ok, changed := p.reserve(flood, always)
	p.appended(flood.Sender, &split.Written{Stamp: time.Now().Add(time.Hour),
		BySource: map[string]quota.Usage{"": {Sentences: 600}}})
	p.spent(0, []shard.Spent{{Origin: "token:other", Sentences: 10}, {Origin: flood.Sender, Sentences: 10}})
	if ok || closed(changed) {
		t.Fatalf("let in: %t, woken: %t; there is no room", ok, closed(changed))
	}
	p.spent(0, []shard.Spent{{Origin: flood.Sender, Sentences: 590}})
	if !closed(changed) {
		t.Error("not woken when all is looked up")
	}
	p.reserve(flood, always)
	_, ok, changed = p.reserve(flood, always)
	if release(); ok || !closed(changed) {
		t.Errorf("let in: %t, or not woken when what was under way is not any more", ok)
	}
}

// TestDearPostsWaitAtAnyRate: how many posts somebody may send a second says nothing of what they cost. But while look-ups stand
// for another reason, who sends slowly is let in: a window that is read again takes minutes.
func TestDearPostsWaitAtAnyRate(t *testing.T) {
	p := mustPace(func() time.Duration { return 0 })
	never := func(quota.Usage) bool { return false }
	b := &ingest.Batch{Sender: "token:slow", Posts: make([]feed.Post, 10)}
	let := 0
	for ; let < 10_000; let += len(b.Posts) {
		if _, ok, _ := p.reserve(b, never); !ok {
			break
		}
	}
	if let > minBacklog+len(b.Posts) {
		t.Errorf("%d posts are let in before one is looked up", let)
	}
	p.stands = func() bool { return true }
	if _, ok, _ := p.reserve(b, never); !ok {
		t.Error("refused while look-ups stand")
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return c != nil
	default:
		return false
	}
}
