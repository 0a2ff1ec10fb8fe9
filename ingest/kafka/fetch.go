package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// A quiet partition is asked with a long wait, and its first record comes at once. A busy one is asked for much, with
// a short wait: or a broker would be asked anew for every few records.
const (
	quietWait = 500 * time.Millisecond
	busyWait  = 20 * time.Millisecond
	busyBytes = 64 << 10
	// maxAnswer is how much one answer holds, and allAnswers those of all partitions, since each may hold one that nobody takes;
	// but no less than minAnswer, and a batch of records comes whole, however large.
	maxAnswer  = 1 << 20
	minAnswer  = 64 << 10
	allAnswers = 32 << 20
	// answerTimeout is how long an answer may take beyond the wait. It must do for the largest batch of records.
	answerTimeout = 30 * time.Second
)

const readCommitted = 1

// answerBytes is how much an answer holds where so many partitions are read.
func answerBytes(partitions int) int32 {
	return int32(max(minAnswer, min(maxAnswer, allAnswers/max(1, partitions))))
}

// assignedCount is how many partitions this member reads.
func (s *Source) assignedCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.assigned)
}

// fetch asks for the records of a partition from an offset on.
func (s *Source) fetch(ctx context.Context, topic string, number int, at int64, busy bool) (*fetched, error) {
	wait, minBytes := quietWait, 1
	if busy {
		wait, minBytes = busyWait, busyBytes
	}
	ctx, cancel := context.WithTimeout(ctx, wait+answerTimeout)
	defer cancel()
	limit := answerBytes(s.assignedCount())
	m, err := s.fetches.RoundTrip(ctx, s.client.Addr, &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(wait.Milliseconds()), MinBytes: int32(minBytes), MaxBytes: limit,
		IsolationLevel: readCommitted, SessionID: -1, SessionEpoch: -1,
		Topics: []fetch.RequestTopic{{Topic: topic, Partitions: []fetch.RequestPartition{{
			Partition: int32(number), CurrentLeaderEpoch: -1, FetchOffset: at, LogStartOffset: -1, PartitionMaxBytes: limit,
		}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %s/%d@%d: %w", topic, number, at, err)
	}
	res := m.(*fetch.Response)
	if res.ErrorCode != 0 {
		return nil, fmt.Errorf("fetch %s/%d@%d: %w", topic, number, at, kafka.Error(res.ErrorCode))
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("fetch %s/%d@%d: an answer to another question", topic, number, at)
	}
	part := &res.Topics[0].Partitions[0]
	if part.ErrorCode != 0 {
		return nil, fmt.Errorf("fetch %s/%d@%d: %w", topic, number, at, kafka.Error(part.ErrorCode))
	}
	return newFetched(part, at), nil
}

// fetched is the answer to one fetch: batches of records as producers have written them, and which transactions of
// them were aborted.
type fetched struct {
	highWatermark int64 // where the partition ends
	sets          []protocol.RecordReader
	next          int64 // behind what has been read

	// aborted transactions that are still to begin, in the order of their first offset
	abortedTransactions []fetch.ResponseTransaction
	abortingProducers   map[int64]bool // producers in an aborted transaction

	control, aborted int64 // records dropped
}

func newFetched(part *fetch.ResponsePartition, at int64) *fetched {
	f := &fetched{
		highWatermark: part.HighWatermark, next: at, abortedTransactions: part.AbortedTransactions,
		abortingProducers: map[int64]bool{},
	}
	slices.SortFunc(f.abortedTransactions, func(a, b fetch.ResponseTransaction) int {
		return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1))
	})
	switch r := part.RecordSet.Records.(type) {
	case nil:
	case *protocol.RecordStream:
		f.sets = r.Records
	default:
		f.sets = []protocol.RecordReader{r}
	}
	return f
}

// record returns the next record at or behind an offset that a reader is to see, nil at the end. It is valid until
// the next call.
//
// An answer may begin before the offset asked for: a batch comes whole. And it may hold nothing at or behind it, when
// compaction has taken the last records of a batch; then the offset asked for is empty, and next is the one behind it.
func (f *fetched) record(at int64) (*protocol.Record, error) {
	any := len(f.sets) > 0
	for len(f.sets) > 0 {
		r, err := f.sets[0].ReadRecord()
		if errors.Is(err, io.EOF) {
			f.next = max(f.next, base(f.sets[0]))
			f.sets = f.sets[1:]
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read record: %w", err)
		}
		drop := f.drop(r) // also asked of those before, which tell what is aborted
		if r.Offset >= at {
			f.next = r.Offset + 1
			if drop == nil {
				return r, nil
			}
			*drop++
		}
		release(r)
	}
	if any && f.next == at {
		f.next = at + 1
	}
	return nil, nil
}

// drop returns the counter of those like r that nobody is to see, or nil: r is a producer's, and not taken back.
func (f *fetched) drop(r *protocol.Record) *int64 {
	switch set := f.sets[0].(type) {
	case *protocol.ControlBatch:
		if endsAborted(r) {
			delete(f.abortingProducers, set.ProducerID)
		}
		return &f.control
	case *protocol.RecordBatch:
		for len(f.abortedTransactions) > 0 && f.abortedTransactions[0].FirstOffset <= r.Offset {
			f.abortingProducers[f.abortedTransactions[0].ProducerID] = true
			f.abortedTransactions = f.abortedTransactions[1:]
		}
		if set.Attributes.Transactional() && f.abortingProducers[set.ProducerID] {
			return &f.aborted
		}
	}
	return nil
}

// endsAborted reports whether a control record says that the transaction of its producer was aborted.
func endsAborted(r *protocol.Record) bool {
	key, err := protocol.ReadAll(r.Key)
	return err == nil && len(key) == 4 && key[2] == 0 && key[3] == 0
}

// base is the offset that a batch begins with; everything below has been in the batches before it.
func base(set protocol.RecordReader) int64 {
	if b, ok := set.(interface{ Offset() int64 }); ok {
		return b.Offset()
	}
	return 0
}

func release(r *protocol.Record) {
	if r.Key != nil {
		_ = r.Key.Close() // it only gives memory back
	}
	if r.Value != nil {
		_ = r.Value.Close()
	}
}

// close gives back the memory of what was not read.
func (f *fetched) close() {
	for _, set := range f.sets {
		for r, err := set.ReadRecord(); err == nil; r, err = set.ReadRecord() {
			release(r)
		}
	}
	f.sets = nil
}
