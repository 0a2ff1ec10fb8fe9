package kafka

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"refrain/feed"
)

// TestAlignment reads partitions at any pace, and makes their batches durable at any pace, of which some fail and are
// read again: nobody gets further ahead of what another has still to make durable than is allowed, and everybody comes to
// the end.
func TestAlignment(t *testing.T) {
	const maxAhead = 10
	rapid.Check(t, func(r *rapid.T) {
		readers := make([]*reader, rapid.IntRange(1, 4).Draw(r, "partitions"))
		a := newAlignment(maxAhead * time.Millisecond)
		for i := range readers {
			readers[i] = drawReader(r, a.join(), maxAhead/2)
		}
		synctest.Test(t, func(t *testing.T) {
			a.changed = make(chan struct{}) // of this bubble
			var all sync.WaitGroup
			for _, one := range readers {
				all.Go(func() { one.run(t, readers, maxAhead) })
			}
			all.Wait()
		})
	})
}

// reader plays one partition with posts at some times.
type reader struct {
	lane       *lane
	batches    [][2]feed.Time // begin and end of each
	read, keep time.Duration  // a batch takes to be read, and to be made durable
	fails      int            // the batch that fails once; -1: none

	mu      sync.Mutex
	durable int // batches
}

func drawReader(r *rapid.T, l *lane, longest int64) *reader {
	at := int64(0)
	var batches [][2]feed.Time
	for range rapid.IntRange(0, 20).Draw(r, "batches") {
		at += rapid.SampledFrom([]int64{0, 1, 2, 50}).Draw(r, "gap")
		end := at + rapid.Int64Range(0, longest).Draw(r, "length")
		batches = append(batches, [2]feed.Time{feed.Time(at), feed.Time(end)})
		at = end
	}
	pace := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Millisecond})
	return &reader{lane: l, batches: batches, read: pace.Draw(r, "reading"), keep: pace.Draw(r, "writing"),
		fails: rapid.IntRange(-1, 20).Draw(r, "fails")}
}

func (r *reader) run(t *testing.T, all []*reader, maxAhead feed.Time) {
	var writing sync.WaitGroup
	for i := 0; i < len(r.batches); i++ {
		time.Sleep(r.read) // it takes so long, in made-up time
		done, err := r.lane.wait(t.Context(), r.batches[i][0], r.batches[i][1])
		if err != nil {
			t.Error(err)
		}
		for _, other := range all {
			if first, ok := other.first(); ok && r.batches[i][1] > first+maxAhead {
				t.Errorf("a batch that ends at %d is handed on, and %d is not durable", r.batches[i][1], first)
			}
		}
		if i == r.fails {
			done(errors.New("not durable"))
			writing.Wait()
			r.lane.restart()
			r.fails, i = -1, r.made()-1
			continue
		}
		writing.Go(func() {
			time.Sleep(r.keep) // likewise
			r.make(i)
			done(nil)
		})
	}
	writing.Wait()
	r.lane.leave()
}

// make makes a batch durable, and with it those before.
func (r *reader) make(batch int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durable = max(r.durable, batch+1)
}

func (r *reader) made() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.durable
}

// first is where the first batch begins that is not durable.
func (r *reader) first() (feed.Time, bool) {
	if made := r.made(); made < len(r.batches) {
		return r.batches[made][0], true
	}
	return 0, false
}

// TestAlignmentWaitsThroughARestart: a partition that cannot be read holds the others back, but not for long.
func TestAlignmentWaitsThroughARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAlignment(time.Hour)
		failing, other := &partition{lane: a.join()}, a.join()
		began := time.Now()
		var attempts sync.WaitGroup
		defer attempts.Wait()
		attempts.Go(func() {
			for range 100 {
				failing.noteFailure(time.Now())
				time.Sleep(time.Second) // the pause between two attempts, in made-up time
			}
		})
		if _, err := other.wait(t.Context(), 0, 0); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < maxOutage || waited > maxOutage+2*time.Second {
			t.Errorf("waited %v, want %v", waited, maxOutage)
		}
	})
}
