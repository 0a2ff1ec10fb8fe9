// Package topic holds append-only, partitioned logs of records.
//
// A topic is how the stages of the route talk to each other: split appends batches of sentences, workers read
// them, and what is appended stays until retention drops it. Order, durability and replay belong to the broker
// behind the interface (topic/jetstream, later topic/kafka); Memory is the same thing inside one process, for
// the simulation and for tests. Every implementation passes the suite in topic/conformance.
package topic

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Record is one entry of a topic.
type Record struct {
	Partition int
	// Position is the record's place in its partition. Append ignores it: the topic gives it.
	Position int64
	// Time is the append stamp by the writer's clock, never the event time of what is inside. Append stamps
	// records whose Time is zero; a reader gets it back cut to nanoseconds or coarser, in UTC.
	Time time.Time
	// Trace is a W3C traceparent, and behind a space its tracestate if it has one; "" without.
	Trace string
	// Origin says whom what is inside is counted for, "" for nobody in particular: printable, without line ends.
	Origin string
	// Data belongs to the topic after Append, and to everybody who reads it: nobody changes it.
	Data []byte
}

// Topic is an append-only log in partitions.
//
// Positions. Within a partition positions rise, with gaps: the next record's position is at least the last one
// plus one, and there is no other promise. They start at 0 or above. In an ordered topic all partitions draw from
// one sequence, so positions also compare across partitions, and "appended before" means "smaller position".
//
// A position may be used as "from here on" whether or not a record lies at it. A reader of all partitions of an
// ordered topic that was handed the record at n has been handed everything below n too, and may take up every
// partition at n+1. It should: a quiet partition's own last position grows old, and retention cannot tell "you
// missed records" from "there were none".
//
// All methods may be called by several goroutines.
type Topic interface {
	// Partitions is the number of partitions; it never changes.
	Partitions() int

	// Ordered says that the positions of all partitions share one order.
	Ordered() bool

	// Append adds records, in their order within each partition, and returns nil once every one of them is
	// durable: whoever reads from now on, also after a crash of this process, gets them.
	//
	// After an error any of them may be in the topic or not; the caller appends all of them again, so readers
	// must bear repetition. Records of other callers may come between. ErrFull and ErrTooLarge are wrapped where
	// they are the cause.
	Append(ctx context.Context, records []Record) error

	// Bounds returns, for each partition, the position of the oldest record kept and the position after the
	// newest. It sees every Append that returned before the call. A partition that holds nothing has two equal
	// positions, and whatever is appended to it later lies there or above.
	Bounds(ctx context.Context) (start, end []int64, err error)

	// Lineage says since when the topic has lost nothing that was acknowledged, and where it may have before. A position
	// that is stored for another process means something only together with the incarnation it comes from: see ValidEnds.
	Lineage() Lineage

	// Open starts a reader. from holds one position per partition, inclusive; a negative one leaves the
	// partition out. At least one partition must be read. A position beyond the end gives ErrBeyondEnd: the topic
	// is not the one, or not all of the one, that the position came from. The ctx is for opening alone.
	Open(ctx context.Context, from []int64) (Reader, error)
}

// Purger is a topic that can drop records sooner than retention does.
type Purger interface {
	// Purge drops records below the positions, one a partition, as far as that is cheap: some may stay. A reader that was
	// still to be given one of them gets an *ErrTruncated.
	Purge(ctx context.Context, before []int64) error
}

// Reader hands out the records of some partitions. It belongs to one goroutine; only Close may be called by another.
type Reader interface {
	// Fetch returns the next records, in order within each partition (and across them in an ordered topic). It
	// blocks until there is at least one; when ctx ends first it returns the error of ctx, and the next call
	// goes on as if nothing had happened.
	//
	// When retention has dropped records that the reader was still to be given, Fetch returns an *ErrTruncated
	// without records, once for each partition and gap; the next call goes on behind the gap. On a reader that is
	// closed it returns ErrClosed.
	Fetch(ctx context.Context) ([]Record, error)

	// Close ends the reader and everything it runs. A Fetch that waits returns ErrClosed.
	Close() error
}

// Store keeps small values by key: the positions and leases of the workers. A key is letters, digits and any of
// "-_=./", begins and ends with none of the dots, and is not empty.
type Store interface {
	// Get returns the last value put, which is the caller's to keep; nil and no error when there is none.
	Get(ctx context.Context, key string) ([]byte, error)

	// Put replaces the value, whole: it is durable on return, and no reader ever sees a part of it.
	Put(ctx context.Context, key string, value []byte) error
}

var (
	// ErrClosed is returned by a reader or topic that has been closed.
	ErrClosed = errors.New("closed")
	// ErrFull says that a limit on the topic's size, or the disk, leaves no room; nothing was dropped for it.
	ErrFull = errors.New("topic full")
	// ErrBeyondEnd says that a position to read from lies after the end: the topic has been made anew or has lost
	// its newest records.
	ErrBeyondEnd = errors.New("position beyond the end of the topic")
	// ErrTooLarge says that a single record exceeds what the topic takes.
	ErrTooLarge = errors.New("record too large")
)

// ErrTruncated says that a reader could not be given records from From on, because the topic keeps only those
// from Start on. Where positions are shared between partitions it may name positions of others: it says
// "records may be missing", never the reverse.
type ErrTruncated struct {
	Partition   int
	From, Start int64
}

func (e *ErrTruncated) Error() string {
	return fmt.Sprintf("partition %d: records from position %d are gone, the oldest kept is at %d: retention is "+
		"shorter than the reader's lag",
		e.Partition, e.From, e.Start)
}

// CheckFrom reports what is wrong with the positions given to Open.
func CheckFrom(from []int64, partitions int) error {
	if len(from) != partitions {
		return fmt.Errorf("%d positions for %d partitions", len(from), partitions)
	}
	for _, f := range from {
		if f >= 0 {
			return nil
		}
	}
	return errors.New("no partition to read: every position is negative")
}

// CheckPartitions reports the first record whose partition the topic does not have.
func CheckPartitions(records []Record, partitions int) error {
	for i := range records {
		if p := records[i].Partition; p < 0 || p >= partitions {
			return fmt.Errorf("record %d: partition %d of %d", i, p, partitions)
		}
	}
	return nil
}
