package server

import (
	"testing"
	"time"
)

// mustFlock makes canaries of one partition that nobody sends.
func mustFlock(t *testing.T) *canaries {
	t.Helper()
	c := &canaries{maxDelay: time.Minute, start: 5 * time.Minute, partitions: 1}
	var err error
	if c.metrics, err = newCanaryMetrics(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.metrics.close)
	return c
}

// wholeAt lets the oldest pair come through whole.
func (c *canaries) wholeAt(now time.Time) {
	clear(c.pairs[0].missing)
	c.complete(0, now)
}

// TestCanariesOfTheStart: a window that takes three minutes to be read again makes no canary late, neither the first
// nor those behind it; from then on a minute does.
func TestCanariesOfTheStart(t *testing.T) {
	counts := mustMeter(t)
	c, start := mustFlock(t), time.Unix(1e9, 0)
	for i := range 4 {
		c.begin(uint64(i), start.Add(time.Duration(i)*time.Minute))
		c.countLate(start.Add(time.Duration(i) * time.Minute))
		if err := c.check(start.Add(time.Duration(i) * time.Minute)); err != nil {
			t.Errorf("after %d minutes: %v", i, err)
		}
	}
	now := start.Add(3*time.Minute + time.Second)
	for range 4 {
		c.wholeAt(now)
		c.countLate(now)
		if err := c.check(now); err != nil {
			t.Error(err)
		}
	}
	if n := counts()["refrain_server_canaries late"]; n != 0 {
		t.Errorf("%d are late", n)
	}
	c.begin(4, now)
	if err := c.check(now.Add(time.Minute + time.Second)); err == nil {
		t.Error("one that is late later is not told of")
	}
}

// TestCanariesThatNeverBegin: what hangs at the start is told of.
func TestCanariesThatNeverBegin(t *testing.T) {
	c, start := mustFlock(t), time.Unix(1e9, 0)
	c.begin(1, start)
	if c.check(start.Add(5*time.Minute)) != nil || c.check(start.Add(5*time.Minute+time.Second)) == nil {
		t.Error("want it to be late after five minutes, and not before")
	}
}
