package train

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel calls work for 0 to n-1, each once, on so many goroutines. What work writes for one number, no other reads.
func parallel(workers, n int, work func(i int)) {
	parallelUntil(context.Background(), workers, n, work)
}

// parallelUntil is parallel that begins no more work when the context has ended: the caller asks whether it has.
func parallelUntil(ctx context.Context, workers, n int, work func(i int)) {
	if workers <= 1 || n <= 1 {
		for i := 0; i < n && ctx.Err() == nil; i++ {
			work(i)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
}
