// Package lines keeps logs of lines in topics: what a file in the data directory is to one process, for several that share a
// broker. A line is a record, so any client of the broker can read it.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"refrain/internal/rotated"
	"refrain/topic"
)

// Log is a log of lines in a topic of one partition. It is safe for concurrent use.
type Log struct {
	name   string
	topic  topic.Topic
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

const (
	// appendTimeout bounds one Write: who writes tries again, or says that it could not.
	appendTimeout = 30 * time.Second
	// readTimeout bounds the wait for the next records of those that are there.
	readTimeout = 30 * time.Second
	// backwardStep is how many records are read at once by who reads backwards.
	backwardStep = 1000
)

// New makes a log of a topic, which stays open.
func New(name string, t topic.Topic) (*Log, error) {
	if t.Partitions() != 1 {
		return nil, fmt.Errorf("log %s: a topic of %d partitions: want one, since lines have an order", name, t.Partitions())
	}
	l := &Log{name: name, topic: t}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// Write implements io.Writer: p is whole lines, which are durable when it returns.
func (l *Log) Write(p []byte) (int, error) {
	ctx, cancel := context.WithTimeout(l.ctx, appendTimeout)
	defer cancel()
	if err := l.topic.Append(ctx, records(p)); err != nil {
		return 0, fmt.Errorf("write %s: %w", l.name, err)
	}
	return len(p), nil
}

// records are the lines of p, without their ends.
func records(p []byte) (all []topic.Record) {
	for line := range bytes.Lines(bytes.Clone(p)) { // a topic keeps what it is given
		all = append(all, topic.Record{Data: bytes.TrimSuffix(line, []byte("\n"))})
	}
	return all
}

// Forward calls visit for the lines that are there, the oldest first, until it returns an error, which Forward returns.
func (l *Log) Forward(visit func(line []byte) error) error {
	start, end, err := l.topic.Bounds(l.ctx)
	if err == nil {
		err = l.read(start[0], end[0], func(r *topic.Record) error { return visit(r.Data) })
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", l.name, err)
	}
	return nil
}

// Backward calls visit for the lines, the latest first, with the place of each, until it returns false. It begins with the
// last one, or with the one before a place; an error that wraps rotated.ErrPlace says that this is none.
func (l *Log) Backward(before string, visit func(line []byte, place string) bool) error {
	place, err := parsePlace(before)
	if err != nil {
		return err
	}
	start, end, err := l.topic.Bounds(l.ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", l.name, err)
	}
	at := end[0]
	if before != "" {
		at = min(at, place)
	}
	for at > start[0] {
		from := max(start[0], at-backwardStep)
		var some []topic.Record
		if err := l.read(from, at, func(r *topic.Record) error { some = append(some, *r); return nil }); err != nil {
			return fmt.Errorf("read %s: %w", l.name, err)
		}
		for _, r := range slices.Backward(some) {
			if !visit(r.Data, strconv.FormatInt(r.Position, 10)) {
				return nil
			}
		}
		at = from
	}
	return nil
}

func parsePlace(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	place, err := strconv.ParseInt(s, 10, 64)
	if err != nil || place < 0 {
		return 0, fmt.Errorf("%q: %w", s, rotated.ErrPlace)
	}
	return place, nil
}

// read hands out the records in [from, to). What retention drops meanwhile is left out.
func (l *Log) read(from, to int64, each func(*topic.Record) error) error {
	if from >= to {
		return nil
	}
	r, err := l.topic.Open(l.ctx, []int64{from})
	if err != nil {
		return err
	}
	defer r.Close()
	for from < to {
		records, err := l.fetch(r)
		var truncated *topic.ErrTruncated
		if errors.As(err, &truncated) {
			from = truncated.Start
			continue
		}
		if err != nil {
			return err
		}
		for i := range records {
			if from = records[i].Position + 1; from > to {
				return nil
			}
			if err := each(&records[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Log) fetch(r topic.Reader) ([]topic.Record, error) {
	ctx, cancel := context.WithTimeout(l.ctx, readTimeout)
	defer cancel()
	return r.Fetch(ctx)
}

// Close ends what is under way. The topic stays open.
func (l *Log) Close() error {
	l.cancel()
	return nil
}
