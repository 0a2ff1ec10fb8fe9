package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// A quiet topic is asked with a long wait, and its first record comes at once. A busy one is asked for much, with a short
// wait: or a broker would be asked anew for every few records.
const (
	quietWait = 500 * time.Millisecond
	busyWait  = 20 * time.Millisecond
	busyBytes = 64 << 10
	// partitionBytes is how much of one partition an answer holds at most.
	partitionBytes = 512 << 10
	// answerTimeout is how long an answer may take beyond the wait. It must do for the largest batch of records.
	answerTimeout = 15 * time.Second
)

// from is a partition to be read from a position on.
type from struct {
	partition int
	position  int64
}

// fetched is what an answer holds of one partition.
type fetched struct {
	partition int
	records   []received
	next      int64 // behind what was read
	start     int64 // the log's
	end       int64
	err       error
}

// fetch asks one broker for partitions that it leads, those that come first first.
func (l *link) fetch(ctx context.Context, parts []from, wait time.Duration, minBytes, maxBytes int) ([]fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerTimeout)
	defer cancel()
	asked := make([]fetch.RequestPartition, len(parts))
	positions := make(map[int32]int64, len(parts))
	for i, p := range parts {
		asked[i] = fetch.RequestPartition{Partition: int32(p.partition), CurrentLeaderEpoch: -1, FetchOffset: p.position,
			LogStartOffset: -1, PartitionMaxBytes: int32(min(partitionBytes, maxBytes))}
		positions[int32(p.partition)] = p.position
	}
	m, err := l.roundTrip(ctx, &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(wait.Milliseconds()), MinBytes: int32(min(minBytes, maxBytes)), MaxBytes: int32(maxBytes),
		SessionID: -1, SessionEpoch: -1, Topics: []fetch.RequestTopic{{Topic: l.topic, Partitions: asked}},
	})
	if err != nil {
		return nil, err
	}
	res := m.(*fetch.Response)
	if res.ErrorCode != 0 {
		return nil, kafka.Error(res.ErrorCode)
	}
	if len(res.Topics) != 1 {
		return nil, errors.New("an answer to another question")
	}
	var out []fetched
	for i := range res.Topics[0].Partitions {
		p := &res.Topics[0].Partitions[i]
		at, ok := positions[p.Partition]
		if !ok {
			return nil, errors.New("an answer to another question")
		}
		out = append(out, read(p, at))
	}
	return out, nil
}

// fetchNow fetches what a partition has at a position, which is not its end.
func (l *link) fetchNow(ctx context.Context, partition int, at int64, maxBytes int) (*fetched, error) {
	all, err := l.fetch(ctx, []from{{partition, at}}, quietWait, 1, maxBytes)
	if err == nil && len(all) != 1 {
		err = errors.New("an answer to another question")
	}
	if err == nil {
		err = all[0].err
	}
	if err != nil {
		err = l.explainFetch(err)
		l.note("fetch", err)
		return nil, fmt.Errorf("fetch from topic %s: %w", l.topic, err)
	}
	l.note("fetch", nil)
	return &all[0], nil
}

func (l *link) explainFetch(err error) error {
	if errors.Is(err, kafka.TopicAuthorizationFailed) {
		return l.denied("Read", err)
	}
	return l.explain(err)
}

// read takes the records of an answer from a position on. An answer may begin before it: a batch comes whole. And it may
// hold nothing there: what marks the ends of transactions is no record, and compaction takes some.
func read(p *fetch.ResponsePartition, at int64) fetched {
	f := fetched{partition: int(p.Partition), next: at, start: p.LogStartOffset, end: p.HighWatermark}
	if p.ErrorCode != 0 {
		f.err = kafka.Error(p.ErrorCode)
		return f
	}
	sets := recordSets(p)
	for _, set := range sets {
		if f.err = f.readSet(set, at); f.err != nil {
			break
		}
	}
	if f.err != nil && len(f.records) > 0 {
		f.err = nil // these first
	}
	if len(sets) > 0 && f.next == at && f.err == nil {
		f.next = at + 1 // the rest of the batch was compacted away
	}
	return f
}

func recordSets(p *fetch.ResponsePartition) []protocol.RecordReader {
	switch r := p.RecordSet.Records.(type) {
	case nil:
		return nil
	case *protocol.RecordStream:
		return r.Records
	default:
		return []protocol.RecordReader{r}
	}
}

func (f *fetched) readSet(set protocol.RecordReader, at int64) error {
	_, control := set.(*protocol.ControlBatch)
	if b, ok := set.(interface{ Offset() int64 }); ok {
		f.next = max(f.next, b.Offset())
	}
	for {
		r, err := set.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read record: %w", err)
		}
		if err := f.add(r, at, control); err != nil {
			return err
		}
	}
}

func (f *fetched) add(r *protocol.Record, at int64, control bool) (err error) {
	defer release(r)
	if r.Offset < at {
		return nil
	}
	f.next = r.Offset + 1
	if control {
		return nil
	}
	one := received{partition: f.partition, offset: r.Offset, time: r.Time, headers: r.Headers}
	if one.key, err = bytesOf(r.Key); err == nil {
		one.value, err = bytesOf(r.Value)
	}
	if err != nil {
		return fmt.Errorf("record at %d: %w", r.Offset, err)
	}
	f.records = append(f.records, one)
	return nil
}

// bytesOf is nil for null.
func bytesOf(b protocol.Bytes) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	out, err := protocol.ReadAll(b)
	return notNil(out), err
}

// release gives memory back.
func release(r *protocol.Record) {
	for _, b := range []protocol.Bytes{r.Key, r.Value} {
		if b != nil {
			_ = b.Close() // it only gives memory back
		}
	}
}
