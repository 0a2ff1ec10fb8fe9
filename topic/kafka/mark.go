package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/zeebo/xxh3"

	"refrain/internal/retry"
	"refrain/topic"
)

// A topic can become another one under a reader's hands: it is deleted and made again, or the brokers come back with an
// older copy of their disks. What is appended next takes offsets that had other records, and a reader that only asks for
// its next offset would go on there as if nothing had been, and miss what lies before it. Kafka tells its own clients apart
// by topic ids and leader epochs, which the library does not hand out, and epochs come back with the disks.
//
// So a reader remembers the last record that it had of each partition, and some before it. Whenever anything has failed
// since, which no loss does without, it begins with that record instead of the next one, and goes on only if it is the same.
// If it is not, and still is not after lossAfter, the topic gets a new incarnation, which begins behind the newest record that still is, and the process
// starts again: it then compares what it has stored with the incarnations.

// mark is a record that was read.
type mark struct {
	offset int64
	stamp  time.Time
	sum    uint64 // of the value
	read   time.Time
}

func markOf(r *received, now time.Time) mark {
	return mark{offset: r.offset, stamp: r.time, sum: xxh3.Hash(r.value), read: now}
}

// matches reports whether r is the record of the mark.
func (m *mark) matches(r *received) bool {
	return r.offset == m.offset && r.time.Equal(m.stamp) && xxh3.Hash(r.value) == m.sum
}

const (
	// markEvery is how far apart older marks are, and maxMarks how many there are.
	markEvery = 2 * time.Second
	maxMarks  = 60
)

// marks are those of a partition, oldest first. The last is the last record that was read.
type marks struct {
	all     []mark
	known   bool  // the last one is where reading went on, if there is a record before that
	checked int64 // the count of interruptions when the last one was last known to be there
	loss    suspicion
}

// lossAfter is how long a topic has to look as if it had lost records. A broker that stood still may have less than those that have
// taken over from it, and answers so until it hears of them, as long as we have not heard of them either: see metadataTTL.
const lossAfter = 2 * metadataTTL

// suspicion is since when a topic looks so; zero: it does not.
type suspicion struct{ since time.Time }

// confirm notes that a topic looks so, and returns an error that is worth another look until that has lasted.
func (s *suspicion) confirm(why error) (wait error) {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if time.Since(s.since) >= lossAfter {
		return nil
	}
	return fmt.Errorf("%w: looking again whether records are lost: %w", kafka.OffsetNotAvailable, why)
}

func (s *suspicion) clear() { s.since = time.Time{} }

// append puts the last record of an answer behind the others, and in the place of one that is hardly older.
func (m *marks) append(r *received, now time.Time) {
	if n := len(m.all); n > 1 && now.Sub(m.all[n-2].read) < markEvery {
		m.all = m.all[:n-1]
	}
	if len(m.all) == maxMarks {
		m.all = slices.Delete(m.all, 0, 1)
	}
	m.all = append(m.all, markOf(r, now))
}

func (m *marks) last() *mark {
	if len(m.all) == 0 {
		return nil
	}
	return &m.all[len(m.all)-1]
}

// errOtherRecord says that a partition has another record where one was read.
var errOtherRecord = errors.New("there is another record")

// check looks whether the record of a mark is there, in a partition that has records from start up to end. Records that
// retention or compaction has dropped are no other ones.
func (l *link) check(ctx context.Context, partition int, m *mark, start, end int64, compacted bool) error {
	switch {
	case end <= m.offset:
		return beyondEnd(partition, m.offset+1, end)
	case start > m.offset:
		return nil
	}
	f, err := l.fetchNow(ctx, partition, m.offset, firstAnswer)
	switch {
	case err != nil:
		return err
	case len(f.records) > 0 && m.matches(&f.records[0]), compacted && (len(f.records) == 0 || f.records[0].offset > m.offset):
		return nil
	case len(f.records) == 0: // a new leader does not hand out yet all that the last one did
		return fmt.Errorf("partition %d at %d: %w", partition, m.offset, kafka.OffsetNotAvailable)
	}
	return fmt.Errorf("partition %d at %d: %w: %w", partition, m.offset, topic.ErrBeyondEnd, errOtherRecord)
}

// currentBounds is where the partitions begin and end now.
func (t *Topic) currentBounds(ctx context.Context) (start, end []int64, err error) {
	if start, err = t.start(ctx, 0); err == nil {
		end, err = t.ends(ctx)
	}
	return start, end, err
}

// verify checks the last records of partitions that a reader is about to go on with, if anything has failed since. Where the
// topic is another one it notes that, and the reader has ended.
func (r *reader) verify(ctx context.Context, parts []from) error {
	count := r.topic.link.interruptions.Load()
	parts = slices.DeleteFunc(slices.Clone(parts), func(p from) bool {
		m := &r.marks[p.partition]
		return m.known && m.checked == count
	})
	if len(parts) == 0 {
		return nil
	}
	start, end, err := r.topic.currentBounds(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		err := r.verifyOne(ctx, p, start[p.partition], end[p.partition])
		if errors.Is(err, topic.ErrBeyondEnd) {
			return r.confirmLoss(ctx, p.partition, err)
		}
		if err != nil {
			return err
		}
		r.marks[p.partition].known, r.marks[p.partition].checked = true, count
	}
	return nil
}

// verifyOne checks the last record of a partition, or learns which it is when the reader begins.
func (r *reader) verifyOne(ctx context.Context, p from, start, end int64) error {
	if last := r.marks[p.partition].last(); last != nil {
		return r.topic.link.check(ctx, p.partition, last, start, end, r.topic.cfg.Compact)
	}
	before := p.position - 1
	if before < start || before >= end {
		return nil // what is wrong with that the fetch will say
	}
	f, err := r.topic.link.fetchNow(ctx, p.partition, before, firstAnswer)
	if err == nil && len(f.records) > 0 && f.records[0].offset == before {
		r.appendMark(p.partition, &f.records[0])
	}
	return err
}

// appendMark remembers the last record that was read of a partition.
func (r *reader) appendMark(partition int, last *received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks[partition].append(last, time.Now())
}

// confirmLoss looks again for a while, and then takes a loss for one.
func (r *reader) confirmLoss(ctx context.Context, p int, why error) error {
	if wait := r.marks[p].loss.confirm(why); wait != nil {
		return wait
	}
	return r.recordLoss(ctx, why)
}

// recordLoss begins an incarnation of the topic, until that is durable, and ends what this process does with the topic. It
// needs the brokers for that, and they may just have come back.
func (r *reader) recordLoss(ctx context.Context, why error) error {
	t := r.topic
	for pauses := retry.Steady(); ; {
		kept, err := r.intactEnds(ctx)
		if err == nil {
			err = t.link.cluster.registry.addIncarnation(ctx, t.cfg.Name, kept)
		}
		if err == nil {
			t.link.markLost(lostRecords(t.cfg.Name, why))
			return nil
		}
		t.cfg.Logger.Error("kafka: retrying to note that a topic has lost records", "topic", t.cfg.Name, "reason", why, "error", err)
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return ctx.Err()
		}
	}
}

func lostRecords(name string, why error) error {
	return fmt.Errorf("the brokers have lost records of topic %s that were acknowledged, or somebody has made it anew: "+
		"starting again, to do again what was done with them: %w", name, why)
}

// intactEnds is up to where each partition is what it was, as far as this reader knows.
func (r *reader) intactEnds(ctx context.Context) ([]int64, error) {
	start, end, err := r.topic.currentBounds(ctx)
	if err != nil {
		return nil, err
	}
	kept := make([]int64, len(r.marks))
	for p := range kept {
		r.mu.Lock()
		all := slices.Clone(r.marks[p].all)
		r.mu.Unlock()
		for _, m := range slices.Backward(all) {
			err := r.topic.link.check(ctx, p, &m, start[p], end[p], r.topic.cfg.Compact)
			if err == nil {
				kept[p] = m.offset + 1
				break
			}
			if !errors.Is(err, topic.ErrBeyondEnd) {
				return nil, err
			}
		}
	}
	return kept, nil
}

// lineageOf makes the lineage of a topic of so many partitions from its entries.
func lineageOf(entries []entry, partitions int) (l topic.Lineage) {
	for i := range entries {
		from := slices.Clone(entries[i].From)
		for len(from) < partitions {
			from = append(from, 0)
		}
		l = append(l, topic.Incarnation{ID: entries[i].ID, From: from})
	}
	if len(l) > 0 {
		l[0].From = make([]int64, partitions)
	}
	return l
}
