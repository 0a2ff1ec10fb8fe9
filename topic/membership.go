package topic

import "context"

// Membership deals the parts 0 to n-1 of something out among the processes that have joined, each part to one of them as
// far as the broker can tell: the partitions of the sentence topic, or what only one process may run.
//
// It is no lock. A process that stands still loses its parts to others, and goes on with them until it hears of that: what
// is done with a part must bear to be done twice.
type Membership interface {
	// Next waits until the parts of this process are others than it last returned, the first time until they are known,
	// and returns all of them in rising order: none is an answer too. While the broker cannot be reached it goes on
	// waiting, and the parts stay; an error means that trying again cannot help, or is ctx's. One goroutine calls it.
	Next(ctx context.Context) ([]int, error)

	// Close gives all parts up at once, so that others need not wait until this process counts as dead.
	Close() error
}
