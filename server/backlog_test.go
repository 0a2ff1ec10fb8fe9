package server

import (
	"testing"
	"time"

	"refrain/shard"
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
		for w := range l.lookedUp {
			l.learn(w, &shard.Spent{Sentences: n, Took: time.Duration(n) * cost})
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
			if c.cost < time.Millisecond && l.cost < 1e5 {
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
	l.settle(l.last)
	if !l.full(time.Second) {
		t.Error("taken for looked up before its last record is")
	}
	l.settle(l.last.Add(1))
	if l.waiting() != 0 {
		t.Errorf("%d wait, and newer records are looked up everywhere", l.waiting())
	}
	for w := range l.lookedUp {
		l.learn(w, &shard.Spent{Sentences: 10_000})
	}
	l.settle(l.last)
	if l.waiting() != 0 {
		t.Errorf("%d wait, after look-ups that nobody is known to have sent", l.waiting())
	}
}
