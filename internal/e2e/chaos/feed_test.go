package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// feeder sends posts in their order, each batch until a split has answered that all of it is in. Some are sent again: at the
// same time to another split, or once more later.
type feeder struct {
	*deployment
	client   *http.Client
	rng      *rand.Rand
	again    float64 // the part of the batches that are sent again
	repeated int
	others   sync.WaitGroup
}

// patience is how long a client waits for an answer: less than a split may stand still, so that it sends to another what the
// first has, too.
const patience = 5 * time.Second

func newFeeder(d *deployment, seed uint64, again float64) *feeder {
	return &feeder{deployment: d, client: &http.Client{Timeout: patience}, rng: rand.New(rand.NewPCG(seed, 2)), again: again}
}

// feed sends all, in about the time that it should last.
func (f *feeder) feed(ctx context.Context, lines [][]byte, lasts time.Duration) {
	const batch, remembered = 100, 20
	defer f.others.Wait()
	pace := time.NewTicker(max(time.Microsecond, lasts*batch/time.Duration(len(lines))))
	defer pace.Stop()
	var before [][][]byte
	for some := range slices.Chunk(lines, batch) {
		<-pace.C
		if f.rng.Float64() < f.again {
			f.repeat(ctx, some)
		}
		if len(before) > 0 && f.rng.Float64() < f.again {
			f.repeat(ctx, before[f.rng.IntN(len(before))])
		}
		if !f.send(ctx, some) {
			return
		}
		before = append(before, some)
		before = before[max(0, len(before)-remembered):]
	}
}

// send tries one split after the other.
func (f *feeder) send(ctx context.Context, batch [][]byte) bool {
	for f.try(ctx, f.client, f.anySplit(), batch) != nil {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (f *feeder) anySplit() *node {
	splits := f.with("split")
	return splits[f.rng.IntN(len(splits))]
}

// repeat sends a batch once, beside everything else; whether it arrives is left open.
func (f *feeder) repeat(ctx context.Context, batch [][]byte) {
	f.repeated++
	to := f.anySplit()
	f.others.Go(func() { _ = f.try(ctx, f.client, to, batch) })
}

func (f *feeder) try(ctx context.Context, client *http.Client, to *node, batch [][]byte) error {
	a, err := to.PostBy(ctx, client, batch)
	if err == nil && a.Accepted+a.Rejected != len(batch) {
		err = fmt.Errorf("%d accepted and %d rejected of %d", a.Accepted, a.Rejected, len(batch))
	}
	return err
}
