package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"golang.org/x/sync/semaphore"

	"refrain/topic"
)

// Store is a topic.Store in a compacted topic of one partition: a value is a record under its key, and the last record of a
// key counts. It holds all values in memory, as they were when a Get last asked.
//
// There is no compare-and-swap, and a Put that was given up may still get there and replace a later one, within some
// seconds: whoever shares a key with others, or with a former self, tells them apart by what is in it.
type Store struct {
	name   string
	link   *link
	room   *semaphore.Weighted // bytes of values being put
	logger *slog.Logger

	reading chan struct{} // holds one while nobody reads
	at      int64         // what is below it has been read
	known   bool          // at is
	size    answerSize
	marks   marks

	mu     sync.Mutex
	values map[string][]byte
	next   *reading // the one that is still to begin; nil: none is wanted
}

var _ topic.Store = (*Store)(nil)

// reading is one look at the end of the topic, shared by the Gets that began before it.
type reading struct {
	done chan struct{}
	err  error
}

const (
	// maxValue bounds a value.
	maxValue = 8 << 20
	// readTimeout bounds one reading after the first.
	readTimeout = 30 * time.Second
)

// OpenStore opens a store, creating its topic if need be, and reads it.
func (c *Cluster) OpenStore(ctx context.Context, name string) (*Store, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("open store %q: a name is letters, digits, - and _, 249 at most", name)
	}
	l, err := c.link(name)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", name, err)
	}
	s := &Store{name: name, link: l, reading: make(chan struct{}, 1), room: semaphore.NewWeighted(maxInFlight), logger: c.cfg.Logger,
		values: map[string][]byte{}}
	s.reading <- struct{}{}
	if _, err = c.ensure(ctx, l, &spec{name: name, partitions: 1, made: 1, settings: c.storeSettings()}); err == nil {
		err = s.read(ctx)
	}
	if err != nil {
		c.drop(l)
		return nil, fmt.Errorf("open store %s: %w", name, err)
	}
	l.opened.Store(true)
	return s, nil
}

// storeSettings: the stamps are the brokers', so that every Put tells how far our clock is from theirs.
func (c *Cluster) storeSettings() []setting {
	s := append(c.commonSettings(maxValue), compacted()...)
	return append(s, setting{"message.timestamp.type", "LogAppendTime", equal("LogAppendTime"), false})
}

// Get implements topic.Store: it asks where the topic ends, and reads up to there.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := errors.Join(ctx.Err(), topic.CheckKey(key)); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	r := s.join()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("get %s from store %s: %w", key, s.name, ctx.Err())
	}
	if r.err != nil {
		return nil, fmt.Errorf("get %s from store %s: %w", key, s.name, r.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	if !ok {
		return nil, nil
	}
	return append([]byte{}, value...), nil
}

// join returns the reading that begins next.
func (s *Store) join() *reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &reading{done: make(chan struct{})}
		go s.run(s.next)
	}
	return s.next
}

// run waits for the reading before r. Gets that begin from then on want another one.
func (s *Store) run(r *reading) {
	<-s.reading
	defer func() { s.reading <- struct{}{} }()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.link.ctx, readTimeout)
	defer cancel()
	r.err = s.read(ctx)
	close(r.done)
}

// read reads to the end. Only the holder of reading, and OpenStore, call it. Where records seem to be lost it looks again for a
// while, and then takes that for a loss.
func (s *Store) read(ctx context.Context) error {
	err := s.catchUp(ctx)
	if err == nil {
		s.marks.loss.clear()
	}
	if !errors.Is(err, topic.ErrBeyondEnd) {
		return err
	}
	s.link.interruptions.Add(1) // or the last record would not be looked at again
	if wait := s.marks.loss.confirm(err); wait != nil {
		return wait
	}
	s.link.markLost(lostRecords(s.name, err))
	return s.link.lossErr()
}

func (s *Store) catchUp(ctx context.Context) error {
	if err := s.verify(ctx); err != nil {
		return err
	}
	ends, err := s.bounds(ctx)
	if err != nil {
		return err
	}
	for s.at < ends {
		f, err := s.link.fetchNow(ctx, 0, s.at, s.size.next())
		if err != nil {
			return err
		}
		s.size.note([]fetched{*f})
		s.put(f.records)
		s.at = f.next
		if n := len(f.records); n > 0 {
			s.marks.append(&f.records[n-1], time.Now())
		}
	}
	return nil
}

// verify looks whether the last record that was read is still there, if anything has failed since.
func (s *Store) verify(ctx context.Context) error {
	count := s.link.interruptions.Load()
	if last := s.marks.last(); last != nil && s.marks.checked != count {
		end, err := s.bounds(ctx)
		if err == nil {
			err = s.link.check(ctx, 0, last, 0, end, true)
		}
		if err != nil {
			return err
		}
	}
	s.marks.checked = count
	return s.link.lossErr()
}

// bounds returns the end, and at first begins at the start. Compaction takes records, but moves no beginning.
func (s *Store) bounds(ctx context.Context) (int64, error) {
	ends, err := s.link.offsets(ctx, kafka.LastOffset, 1)
	if err != nil {
		return 0, err
	}
	if ends[0] < s.at {
		return 0, beyondEnd(0, s.at, ends[0])
	}
	if !s.known {
		starts, err := s.link.offsets(ctx, kafka.FirstOffset, 1)
		if err != nil {
			return 0, err
		}
		s.at, s.known = starts[0], true
	}
	return ends[0], nil
}

func (s *Store) put(records []received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range records {
		if key := string(records[i].key); records[i].value == nil {
			delete(s.values, key)
		} else {
			s.values[key] = records[i].value
		}
	}
}

// Put implements topic.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	if err := errors.Join(ctx.Err(), topic.CheckKey(key)); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if len(value) > maxValue {
		return fmt.Errorf("put %s into store %s: %w: %d bytes, it may have %d", key, s.name, topic.ErrTooLarge, len(value), maxValue)
	}
	now := s.link.cluster.cfg.Now
	sent := now()
	w := work{}
	w.add(0, protocol.Record{
		Time: sent, Key: protocol.NewBytes([]byte(key)), Value: protocol.NewBytes(append([]byte{}, value...)),
	}, len(key)+len(value)+64)
	ack, err := s.link.write(ctx, w, s.room)
	if err != nil {
		return fmt.Errorf("put %s into store %s: %w", key, s.name, err)
	}
	if !ack.time.IsZero() {
		s.link.cluster.measure(sent, ack.time, now())
	}
	return nil
}
