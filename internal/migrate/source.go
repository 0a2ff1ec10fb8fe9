package migrate

import (
	"context"
	"errors"

	"refrain/topic"
)

// source is a stretch of a topic: per partition, the positions from from to end.
type source struct {
	topic     topic.Topic
	from, end []int64
}

// records is how many there are, at most: positions have gaps.
func (s source) records() (n int64) {
	if s.topic.Ordered() { // all partitions draw from one sequence
		for p := range s.end {
			n = max(n, s.end[p]-s.from[p])
		}
		return n
	}
	for p := range s.end {
		n += s.end[p] - s.from[p]
	}
	return n
}

// each visits the records in the order in which they were appended: by position where that is one order, else by their
// stamps, and within a partition always as they lie there.
func (s source) each(ctx context.Context, visit func(topic.Record) error) error {
	var lanes []*lane
	defer func() {
		for _, l := range lanes {
			_ = l.reader.Close() // only read
		}
	}()
	for p := range s.end {
		if s.from[p] >= s.end[p] {
			continue
		}
		l, err := s.open(ctx, p)
		if err != nil {
			return err
		}
		lanes = append(lanes, l)
	}
	for {
		next, err := s.next(ctx, lanes)
		if err != nil || next == nil {
			return err
		}
		if err := visit(next.take()); err != nil {
			return err
		}
	}
}

// open opens a reader of one partition.
func (s source) open(ctx context.Context, p int) (*lane, error) {
	from := make([]int64, len(s.end))
	for i := range from {
		from[i] = -1
	}
	from[p] = s.from[p]
	reader, err := s.topic.Open(ctx, from)
	return &lane{reader: reader, end: s.end[p]}, err
}

// next is the lane with the record that was appended first, nil when there is no more.
func (s source) next(ctx context.Context, lanes []*lane) (first *lane, err error) {
	for _, l := range lanes {
		ok, err := l.fill(ctx)
		if err != nil {
			return nil, err
		}
		if ok && (first == nil || s.before(&l.records[0], &first.records[0])) {
			first = l
		}
	}
	return first, nil
}

func (s source) before(a, b *topic.Record) bool {
	if s.topic.Ordered() {
		return a.Position < b.Position
	}
	return a.Time.Before(b.Time)
}

// lane is one partition, read up to its end.
type lane struct {
	reader  topic.Reader
	end     int64
	records []topic.Record
	done    bool
}

// fill reports whether there is a record left.
func (l *lane) fill(ctx context.Context) (bool, error) {
	for len(l.records) == 0 && !l.done {
		records, err := l.reader.Fetch(ctx)
		var truncated *topic.ErrTruncated
		if errors.As(err, &truncated) { // retention goes on
			l.done = truncated.Start >= l.end
			continue
		}
		if err != nil {
			return false, err
		}
		l.records = records
	}
	if len(l.records) > 0 && l.records[0].Position >= l.end {
		l.records, l.done = nil, true
	}
	return len(l.records) > 0, nil
}

func (l *lane) take() topic.Record {
	r := l.records[0]
	l.records = l.records[1:]
	l.done = r.Position+1 >= l.end
	if l.done {
		l.records = nil
	}
	return r
}
