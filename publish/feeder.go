package publish

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"refrain/topic"
)

const (
	// pieceBytes is how much a stream takes at a time: what is on its way to a client that does not read is no more than
	// a few pieces.
	pieceBytes = 16 << 10
	// maxReaders bounds the readers of streams that are behind what the hub holds, each with some MB read ahead.
	maxReaders = 8
	// maxReaderWait is how long a reader waits for a client that does not read, before another stream has its turn.
	maxReaderWait = 250 * time.Millisecond
)

// readerTurn is how long a stream has a reader, and how long that waits for records. It is a variable for tests.
var readerTurn = 2 * time.Second

// feed brings what a stream is to send, a piece at a time: from a reader of its own as long as it is behind, then from
// the hub, which all streams share.
func (s *stream) feed(ctx context.Context) {
	f := &feeder{stream: s, at: offsets{slices.Clone(s.at.next), s.at.ordered, s.at.incarnation}}
	for number := int64(-1); ; {
		records, next, err := s.hub.next(ctx, &f.at, number)
		number = next
		if !errors.Is(err, errBehind) {
			f.pending = &fetched{records, err}
		} else if err := f.catchUp(ctx); err != nil {
			f.pending = &fetched{err: err}
		}
		if !f.offerPending(ctx) {
			return
		}
	}
}

// feeder is how far feed has got: what is at the sending loop, or pending, has been read.
type feeder struct {
	*stream
	at      offsets
	pending *fetched // not handed to the sending loop yet
}

// offerPending waits until the sending loop accepts what is pending; it is false when nothing is to follow.
func (f *feeder) offerPending(ctx context.Context) bool {
	if f.pending == nil {
		return ctx.Err() == nil
	}
	select {
	case f.batches <- *f.pending:
	case <-ctx.Done():
		return false
	}
	var gap *topic.ErrTruncated
	more := f.pending.err == nil || errors.As(f.pending.err, &gap)
	f.read(f.pending.records)
	f.pending = nil
	return more
}

func (f *feeder) read(records []topic.Record) {
	for i := range records {
		f.at.read(records[i].Partition, records[i].Position)
	}
}

// catchUp reads until the hub holds what follows, the client does not read, nothing comes, or its turn is over: others
// wait for the reader, also where the client reads a little all the time. Where there are many, all get on in turn.
func (f *feeder) catchUp(ctx context.Context) error {
	if err := f.readers.Acquire(ctx, 1); err != nil {
		return err
	}
	defer f.readers.Release(1)
	reader, err := openNarrow(ctx, f.cfg.Topic, slices.Clone(f.at.next))
	if err != nil {
		return err
	}
	defer reader.Close()
	for end := time.Now().Add(readerTurn); !f.hub.covers(&f.at) && f.pending == nil && time.Now().Before(end); {
		turn, cancel := context.WithTimeout(ctx, readerTurn)
		records, err := reader.Fetch(turn)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil
		}
		var gap *topic.ErrTruncated
		if err != nil && !errors.As(err, &gap) {
			return err
		}
		if gap != nil {
			f.at.skip(gap)
		}
		f.offer(ctx, records, err)
	}
	return ctx.Err()
}

// offer offers records piece by piece, until the client reads one too slowly: that is pending then, and those behind it are
// read again.
func (f *feeder) offer(ctx context.Context, records []topic.Record, err error) {
	timer := time.NewTimer(maxReaderWait)
	defer timer.Stop()
	for first := true; first || len(records) > 0; first = false {
		n := pieceOf(records)
		timer.Reset(maxReaderWait)
		select {
		case f.batches <- fetched{records[:n], err}:
			f.read(records[:n])
			records = records[n:]
		case <-timer.C:
			f.pending = cloned(records[:n], err)
			return
		case <-ctx.Done():
			return
		}
	}
}

// pieceOf is how many of the records make a piece.
func pieceOf(records []topic.Record) (n int) {
	for bytes := int64(0); n < len(records) && bytes < pieceBytes; n++ {
		bytes += recordBytes(&records[n])
	}
	return n
}

// cloned is a piece that holds nothing but its own bytes: those of a reader lie in larger messages.
func cloned(records []topic.Record, err error) *fetched {
	records = slices.Clone(records)
	for i := range records {
		records[i].Data = bytes.Clone(records[i].Data)
	}
	return &fetched{records, err}
}
