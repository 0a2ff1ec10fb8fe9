package edit

import (
	"context"
	"sync"
)

// chunk is rows that one goroutine looks up, and what it finds, in order. What is found is closed at their end.
type chunk struct {
	from, to int
	found    chan []Pair
}

// chunkRows is how many rows a chunk has.
const chunkRows = 64

// chunksAhead is how many chunks for each worker wait for those before them.
const chunksAhead = 4

// search looks up the rows of a tier, by all workers, and visits what they find in the order of the rows.
func (t *tier) search(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	ordered, todo := make(chan chunk, chunksAhead*t.Workers), make(chan chunk)
	wait.Go(func() { t.deal(ctx, ordered, todo) })
	for range t.Workers {
		s := &searcher{tier: t, ctx: ctx, band: band{ctx: ctx}, tried: make([]uint32, len(t.rows))}
		wait.Go(func() { s.run(todo) })
	}
	for c := range ordered {
		if err := t.visitAll(ctx, c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// deal cuts the rows into chunks, for those who search them and for the one who waits for what they find. That one's
// queue bounds how far they may be ahead.
func (t *tier) deal(ctx context.Context, ordered, todo chan<- chunk) {
	defer close(ordered)
	defer close(todo)
	for from := t.first; from < len(t.rows); from += chunkRows {
		c := chunk{from, min(from+chunkRows, len(t.rows)), make(chan []Pair, 1)}
		for _, to := range []chan<- chunk{ordered, todo} {
			select {
			case to <- c:
			case <-ctx.Done():
				return
			}
		}
	}
}

// visitAll visits what is found in a chunk, until its end or that of ctx.
func (t *tier) visitAll(ctx context.Context, c chunk) error {
	for {
		select {
		case found, more := <-c.found:
			if !more {
				return nil
			}
			for _, p := range found {
				if err := t.visit(p); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
