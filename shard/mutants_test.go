package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/sim"
	"refrain/sigstore"
	"refrain/text"
	"refrain/topic"
)

// A mutant is a worker that breaks a rule. The code that ships knows nothing of it: the mutants are made around it, by
// a topic or a store that tells the worker something untrue, or that moves it when it is called.

// TestMutants breaks one rule at a time: the simulation has to notice.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("broken rules lose events, not races")
	}
	early := func(t text.Threshold, span, _ time.Duration) (sim.Rows, error) {
		return sim.NewBrute(t, span, 0, sim.RetainAll), nil
	}
	ends := func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
		return sim.NewBrute(t, span, lateness, sim.RetainEnds), nil
	}
	hasty := func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
		return hastyRows{sim.NewBrute(t, span, lateness, sim.RetainAll)}, nil
	}
	tests := []struct {
		name string
		seed uint64 // the first that has caught it
		s    sim.Subject
	}{
		{"look-up without reading the rows' partition first", 14, subject(openUnread, bruteRows)},
		{"vectors merged by element", 4, subject(openMerged, bruteRows)},
		{"expiry at span", 32, subject(openWorker, early)},
		{"first and last occurrence only", 3, subject(openWorker, ends)},
		{"state stored before the events are durable", 4, subject(openCommitFirst, bruteRows)},
		{"marks count when received", 15, subject(openWatermarksEarly, bruteRows)},
		{"idle here hides what is active there", 201, subject(openIdleAlone, bruteRows)},
		{"unheard of here hides what is active there", 433, subject(openUnheard, bruteRows)},
		{"a deleted author loses what he posted since", 1194, subject(openWorker, hasty)},
		{"rows not replayed", 3, subject(openReplayLate, bruteRows)},
		{"redeliveries known to the owner alone", 27, subject(openOwnerObserves, bruteRows)},
		{"redeliveries forgotten at a restart", 101, subject(openDeaf, bruteRows)},
		{"redeliveries measured from the first", 17, subject(openFirstObserves, bruteRows)},
		{"state without the event topic's end", 4, subject(openEndless, bruteRows)},
		{"newest state whatever is left", 4, subject(openNewest, bruteRows)},
		{"positions without incarnations", 193, subject(openAnyIncarnation, bruteRows)},
		{"redeliveries have no usable time either", 136, subject(openTimeComes, bruteRows)},
		{"silence by the clock", 124, subject(openClockSilence, bruteRows)},
		{"max_hold from what one partition has met", 158, subject(openHoldAlone, bruteRows)},
		{"retention without max_hold", 123, withShortRetention(subject(openWorker, bruteRows))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { wantCaught(t, test.seed, test.s) })
	}
}

// hastyRows take a tombstone for one of this moment.
type hastyRows struct{ sim.Rows }

func (r hastyRows) DeleteAuthor(source, author string, _ sigstore.Stays) {
	r.Rows.DeleteAuthor(source, author, nil)
}

// wantCaught wants a mutant to lose or invent something: at once with a seed that has caught it before, or, where the
// simulation has changed since and with -full, within some hundred.
func wantCaught(t *testing.T, known uint64, s sim.Subject) {
	t.Helper()
	if !*Full && caughtBy(t, s, known, 1) {
		return
	}
	if seeds := max(*simSeeds, 2*int(known)); !caughtBy(t, s, 1, seeds) {
		t.Errorf("survived %d interleavings", seeds)
	}
}

// caughtBy tells whether one of so many seeds catches a mutant.
func caughtBy(t *testing.T, s sim.Subject, first uint64, seeds int) (caught bool) {
	t.Helper()
	simulate(t, s, first, seeds, func(seed uint64, r *sim.Result) bool {
		if !r.OK() && !caught {
			caught = true
			t.Logf("caught by seed %d: %s", seed, r)
		}
		return !caught
	})
	return caught
}

// TestWrappersAlone: what the simulation notices of a mutant is not how it is made.
func TestWrappersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("is about TestMutants")
	}
	open := func(cfg Config) (sim.Worker, error) {
		cfg.Sentences = &readTopic{cfg.Sentences, func(*topic.Record, *topic.Batch) bool { return true }}
		cfg.Store = &alteredStore{cfg.Store, func(*State) error { return nil }}
		return openWorker(cfg)
	}
	wantAll(t, subject(open, bruteRows), 100)
}

// openUnread opens a worker that looks up without having read the rows' partition: as far as it is told, there is
// nothing in it to be read.
func openUnread(cfg Config) (sim.Worker, error) {
	sentences := &endlessTopic{Topic: cfg.Sentences}
	cfg.Sentences = sentences
	w, err := openWorker(cfg)
	sentences.opened = true
	return w, err
}

// endlessTopic hides the ends of its partitions from a worker that is open.
type endlessTopic struct {
	topic.Topic
	opened bool
}

func (t *endlessTopic) Bounds(ctx context.Context) (start, end []int64, err error) {
	start, end, err = t.Topic.Bounds(ctx)
	if t.opened {
		clear(end)
	}
	return start, end, err
}

// openMerged opens a worker that has one vector for all its partitions, the maximum of each element.
func openMerged(cfg Config) (sim.Worker, error) {
	store := cfg.Store
	cfg.Store = &alteredStore{store, func(s *State) error {
		for _, q := range cfg.Owned {
			other, err := ReadState(context.Background(), store, q)
			if err != nil || other == nil {
				return err
			}
			for p, position := range other.LookupFrom {
				s.LookupFrom[p] = max(s.LookupFrom[p], position)
			}
		}
		return nil
	}}
	return openWorker(cfg)
}

// openReplayLate opens a worker that has its rows read from where the look-ups stand, as if there were none.
func openReplayLate(cfg Config) (sim.Worker, error) {
	cfg.Store = &alteredStore{cfg.Store, func(s *State) error {
		s.ReplayFrom = s.LookupFrom[s.Partition]
		return nil
	}}
	return openWorker(cfg)
}

// openEndless opens a worker whose states do not know where the event topic ended.
func openEndless(cfg Config) (sim.Worker, error) {
	cfg.Store = &alteredStore{cfg.Store, func(s *State) error {
		clear(s.EventEnd)
		return nil
	}}
	return openWorker(cfg)
}

// openNewest opens a worker that goes on from the newest state, from the end of the sentence topic where that lies
// lower: as it was before there were older ones.
func openNewest(cfg Config) (sim.Worker, error) {
	cfg.Store = &alteredStore{cfg.Store, func(s *State) error {
		clear(s.EventEnd)
		s.Control = 0
		return lowerToEnd(cfg.Sentences, s)
	}}
	return openWorker(cfg)
}

func lowerToEnd(sentences topic.Topic, s *State) error {
	_, end, err := sentences.Bounds(context.Background())
	if err != nil {
		return err
	}
	s.SentenceTopic = sentences.Lineage().Current()
	valid, _ := topic.ValidEnds(sentences, s.SentenceTopic, end)
	for p := range s.LookupFrom {
		s.LookupFrom[p] = min(s.LookupFrom[p], valid[p])
	}
	return nil
}

// openAnyIncarnation opens a worker for which a position is a position, whatever its topic has lost and got since.
func openAnyIncarnation(cfg Config) (sim.Worker, error) {
	cfg.Store = &alteredStore{cfg.Store, func(s *State) error {
		s.SentenceTopic, s.EventTopic = cfg.Sentences.Lineage().Current(), cfg.Events.Lineage().Current()
		s.ControlTopic = cfg.Control.Lineage().Current()
		return nil
	}}
	return openWorker(cfg)
}

// alteredStore changes the states that it returns.
type alteredStore struct {
	topic.Store
	alter func(*State) error
}

func (a *alteredStore) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := a.Store.Get(ctx, key)
	if err != nil || data == nil || !strings.HasPrefix(key, "shard/") {
		return data, err
	}
	s, err := DecodeState(data)
	if err != nil {
		return nil, err
	}
	if err := a.alter(s); err != nil {
		return nil, err
	}
	return s.Append(nil), nil
}

// openCommitFirst opens a worker that stores its state before the events are durable.
func openCommitFirst(cfg Config) (sim.Worker, error) {
	events := &hookedTopic{Topic: cfg.Events, before: func(context.Context) error { return nil }} // until it is open
	cfg.Events = events
	w, err := Open(context.Background(), cfg)
	events.before = func(ctx context.Context) error { return w.commit(ctx, 0) }
	return w, err
}

// hookedTopic does something else before it appends.
type hookedTopic struct {
	topic.Topic
	before func(context.Context) error
}

func (t *hookedTopic) Append(ctx context.Context, records []topic.Record) error {
	if err := t.before(ctx); err != nil {
		return err
	}
	return t.Topic.Append(ctx, records)
}

// openWatermarksEarly opens a worker whose watermarks count when they are received.
func openWatermarksEarly(cfg Config) (sim.Worker, error) {
	var w *Worker
	cfg.Sentences = &readTopic{cfg.Sentences, func(r *topic.Record, b *topic.Batch) (changed bool) {
		w.each(func(q *partition) {
			q.state.Watermarks.observe(r.Partition, r.Time.UnixNano(), b.Watermark)
			q.advance(&w.cfg)
		})
		return false
	}}
	var err error
	w, err = Open(context.Background(), cfg)
	return w, err
}

// never is a clock that holds no window back.
const never = feed.Time(1 << 50)

// openIdleAlone opens a worker for which a source partition that is idle here and active there counts there alone.
func openIdleAlone(cfg Config) (sim.Worker, error) {
	cfg.Sentences = &readTopic{cfg.Sentences, func(_ *topic.Record, b *topic.Batch) (changed bool) {
		if b.Watermark != nil && b.Watermark.Idle {
			b.Watermark.Time, changed = never, true
		}
		return changed
	}}
	return openWorker(cfg)
}

// openUnheard opens a worker for which a source partition that has no watermark here counts where it has one.
func openUnheard(cfg Config) (sim.Worker, error) {
	w, err := Open(context.Background(), cfg)
	return unheard{w}, err
}

type unheard struct{ *Worker }

func (w unheard) Step(ctx context.Context) error {
	for _, q := range w.owned {
		for _, list := range q.state.Watermarks.writers {
			for p := range list {
				if list[p].kind == watermarkNone {
					list[p] = watermark{kind: watermarkIdle, time: never}
				}
			}
		}
	}
	return w.Worker.Step(ctx)
}

// openOwnerObserves opens a worker that looks up redeliveries of partitions that it does not own.
func openOwnerObserves(cfg Config) (sim.Worker, error) {
	cfg.Redeliveries = nil // those of a process would get the same answer
	cfg.Sentences = &readTopic{cfg.Sentences, func(r *topic.Record, b *topic.Batch) (changed bool) {
		return !slices.Contains(cfg.Owned, r.Partition) && timed(b, func(*feed.Sentence) bool { return true })
	}}
	return openWorker(cfg)
}

// timed makes sentences without a usable time look as if they had one, those that are to.
func timed(b *topic.Batch, is func(*feed.Sentence) bool) (changed bool) {
	for i := range b.Sentences {
		if s := &b.Sentences[i]; isUntimed(s) && is(s) {
			s.Untimed, s.TimeAdjusted, changed = false, false, true
		}
	}
	return changed
}

// openDeaf opens a worker that knows no redelivery of what came before it.
func openDeaf(cfg Config) (sim.Worker, error) {
	cfg.Redeliveries = nil
	cfg.Store = &alteredStore{cfg.Store, func(s *State) error {
		for p := range s.ObserveFrom {
			s.ObserveFrom[p] = observePoint{position: s.LookupFrom[p]}
		}
		s.ObserveFrom[s.Partition].position = min(s.LookupFrom[s.Partition], s.ReplayFrom)
		return nil
	}}
	return openWorker(cfg)
}

// openFirstObserves opens a worker for which a redelivery does not prolong the time in which there may be others.
func openFirstObserves(cfg Config) (sim.Worker, error) {
	cfg.Redeliveries = nil
	first, stamps := map[string]int64{}, map[int]int64{}
	cfg.Sentences = &readTopic{cfg.Sentences, func(r *topic.Record, b *topic.Batch) bool {
		stamps[r.Partition] = max(stamps[r.Partition], r.Time.UnixNano())
		now := stamps[r.Partition] / (cfg.Redelivery.Nanoseconds() / slotsWithin)
		return timed(b, func(s *feed.Sentence) bool {
			identity := fmt.Sprint(s.Source, s.Post, s.Version, s.Index)
			began, again := first[identity]
			if !again || began < now-slotsWithin {
				first[identity] = now
			}
			return again && began < now-slotsWithin
		})
	}}
	return openWorker(cfg)
}

// openTimeComes opens a worker for which a post whose time has come is another than the one that had none.
func openTimeComes(cfg Config) (sim.Worker, error) {
	cfg.Redeliveries = nil
	cfg.Sentences = &readTopic{cfg.Sentences, func(_ *topic.Record, b *topic.Batch) (changed bool) {
		for i := range b.Sentences {
			if s := &b.Sentences[i]; !isUntimed(s) {
				s.Version, changed = ^s.Version, true
			}
		}
		return changed
	}}
	return openWorker(cfg)
}

// openClockSilence opens a worker for which a gap between records counts as silence, however long it is.
func openClockSilence(cfg Config) (sim.Worker, error) {
	var w *Worker
	newest := make([]int64, cfg.Sentences.Partitions())
	cfg.Sentences = &readTopic{cfg.Sentences, func(r *topic.Record, _ *topic.Batch) (changed bool) {
		stamp, p := r.Time.UnixNano(), r.Partition
		if gap := stamp - newest[p] - maxGap.Nanoseconds(); gap > 0 && newest[p] > 0 {
			w.each(func(q *partition) { q.state.Watermarks.elapsed[p] += gap })
		}
		newest[p] = max(newest[p], stamp)
		return false
	}}
	var err error
	w, err = Open(context.Background(), cfg)
	return w, err
}

// openHoldAlone opens a worker for which the highest clock is that of any partition, whatever the others have observed.
func openHoldAlone(cfg Config) (sim.Worker, error) {
	w, err := Open(context.Background(), cfg)
	return holdAlone{w}, err
}

type holdAlone struct{ *Worker }

func (w holdAlone) Step(ctx context.Context) error {
	for _, q := range w.owned {
		for _, list := range q.state.Watermarks.writers {
			newest := slices.MaxFunc(list, func(a, b watermark) int { return cmp.Compare(a.newest, b.newest) }).newest
			for p := range list {
				list[p].newest = newest
			}
		}
	}
	return w.Worker.Step(ctx)
}

// withShortRetention has a topic that keeps its records as if no source partition ever held the window.
func withShortRetention(s sim.Subject) sim.Subject {
	s.TopicRetention = func(span, lateness, _ time.Duration) time.Duration { return span + lateness }
	return s
}

// readTopic shows see the records that its readers return, and the batch of each, which see may change.
type readTopic struct {
	topic.Topic
	see func(*topic.Record, *topic.Batch) (changed bool)
}

func (t *readTopic) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	r, err := t.Topic.Open(ctx, from)
	return &seenReader{r, t}, err
}

type seenReader struct {
	topic.Reader
	topic *readTopic
}

func (s *seenReader) Fetch(ctx context.Context) ([]topic.Record, error) {
	records, err := s.Reader.Fetch(ctx)
	records = slices.Clone(records) // they are the topic's
	for i := range records {
		b, err := topic.DecodeBatch(records[i].Data)
		if err != nil {
			return nil, err
		}
		if s.topic.see(&records[i], &b) {
			records[i].Data = b.Append(nil)
		}
	}
	return records, err
}
