package shard

import (
	"context"
	"errors"
	"fmt"

	"refrain/topic"
)

// A power cut may take the end of the store, of the event topic and of the sentence topic, of each another piece: they
// reach the disk apart. A state that says more than the topics hold must not be resumed: the events of its look-ups
// are gone, or the records that its clock comes from. So the store retains older ones too, one a minute for an hour, and
// the newest counts that the topics confirm. Where they confirm none, everything retained is looked up again.

// maxOlderStates is how many older states there are of a partition.
const maxOlderStates = 60

func olderKey(q, slot int) string { return fmt.Sprintf("shard/%d/%d", q, slot) }

// putOlder stores the states of the owned partitions beside the current ones when that is due.
func (w *Worker) putOlder(ctx context.Context, states [][]byte) error {
	turn := w.cfg.Now().UnixNano() / w.cfg.OlderInterval.Nanoseconds()
	if turn == w.olderTurn {
		return nil
	}
	slot := int(turn % maxOlderStates)
	for i, q := range w.owned {
		if err := w.cfg.Store.Put(ctx, olderKey(q.id, slot), states[i]); err != nil {
			return fmt.Errorf("store the state of partition %d: %w", q.id, err)
		}
	}
	w.olderTurn, w.olderNeeds[slot] = turn, w.ownNeeds()
	return nil
}

// readOlder notes what the older states of a partition need.
func (w *Worker) readOlder(ctx context.Context, id int) error {
	for slot := range maxOlderStates {
		s, err := w.storedState(ctx, id, olderKey(id, slot))
		if err != nil {
			return err
		}
		switch older := w.olderNeeds[slot]; {
		case s == nil:
		case older == nil:
			w.olderNeeds[slot] = s.Needs()
		default:
			w.olderNeeds[slot] = MinPositions(older, s.Needs())
		}
	}
	return nil
}

// extent is what the topics hold at a restart.
type extent struct {
	start, end                 []int64 // of the sentence topic
	sentences, events, control reach
}

// reach is how far a topic reaches.
type reach struct {
	name       string
	topic      topic.Topic // nil: there is none
	start, end []int64
}

func (w *Worker) extent(ctx context.Context) (x extent, err error) {
	x.sentences = reach{name: "sentence topic", topic: w.cfg.Sentences}
	x.events = reach{name: "event topic", topic: w.cfg.Events}
	x.control = reach{name: "control topic", topic: w.cfg.Control}
	for _, r := range []*reach{&x.sentences, &x.events, &x.control} {
		if r.topic == nil {
			continue
		}
		if r.start, r.end, err = r.topic.Bounds(ctx); err != nil {
			return x, fmt.Errorf("get the bounds of the %s: %w", r.name, err)
		}
	}
	x.start, x.end = x.sentences.start, x.sentences.end
	return x, nil
}

// check says which topic no longer holds what s stands for; nil: all do.
func (x *extent) check(s *State) error {
	if err := x.sentences.holds(s.SentenceTopic, s.LookupFrom); err != nil {
		return err
	}
	if err := x.events.holds(s.EventTopic, s.EventEnd); err != nil {
		return err
	}
	if x.control.topic == nil {
		return nil
	}
	return x.control.holds(s.ControlTopic, []int64{s.Control})
}

// holds says why r no longer holds what lay below positions of the first partitions in an incarnation.
func (r *reach) holds(incarnation string, positions []int64) error {
	valid, _ := topic.ValidEnds(r.topic, incarnation, r.end)
	if len(positions) > len(valid) {
		return fmt.Errorf("the %s has %d partitions, it had %d", r.name, len(valid), len(positions))
	}
	for p, at := range positions {
		if at > valid[p] {
			return fmt.Errorf("partition %d of the %s is what it was up to position %d, and was known up to %d", p,
				r.name, valid[p], at)
		}
	}
	return nil
}

// load returns the newest state of a partition that the topics confirm, nil without any.
func (w *Worker) load(ctx context.Context, id int, epoch int64, x *extent) (*State, error) {
	current, err := w.storedState(ctx, id, stateKey(id, epoch))
	if err != nil {
		return nil, err
	}
	var invalid error
	if current != nil {
		if invalid = x.check(current); invalid == nil {
			return x.lower(current), nil
		}
		w.metrics.countLost(ctx, id)
	}
	older, err := w.loadOlder(ctx, id, x)
	if err != nil {
		return nil, err
	}
	switch {
	case older != nil:
		w.cfg.Logger.Error("the topics have lost records that were acknowledged: going on from an older state",
			"partition", id, "reason", invalid, "known", current != nil, "replayFrom", older.ReplayFrom)
	case invalid != nil:
		w.cfg.Logger.Error("the topics have lost records that were acknowledged: looking everything up again that they hold",
			"partition", id, "reason", invalid)
	}
	return x.lower(older), nil
}

// lower takes back what s says of rows that the topic has lost: rows get ahead of look-ups, and so does replayFrom where
// none of them has a sentence of the window. Other records may lie there now.
func (x *extent) lower(s *State) *State {
	if s != nil {
		valid, _ := topic.ValidEnds(x.sentences.topic, s.SentenceTopic, x.end)
		s.ReplayFrom = min(s.ReplayFrom, valid[s.Partition])
		for p := range s.ObserveFrom {
			s.ObserveFrom[p].position = min(s.ObserveFrom[p].position, valid[p])
		}
	}
	return s
}

// loadOlder returns the furthest of the older states that the topics confirm. Any of them would do.
func (w *Worker) loadOlder(ctx context.Context, id int, x *extent) (furthest *State, err error) {
	for slot := range maxOlderStates {
		s, err := w.storedState(ctx, id, olderKey(id, slot))
		if err != nil {
			return nil, err
		}
		if s != nil && x.check(s) == nil && (furthest == nil || sum(s.LookupFrom) > sum(furthest.LookupFrom)) {
			furthest = s
		}
	}
	return furthest, nil
}

func sum(positions []int64) (n int64) {
	for _, p := range positions {
		n += p
	}
	return n
}

// storedState returns what is stored of a partition under a key, nil where there is nothing. What a power cut has left
// unreadable is nothing.
func (w *Worker) storedState(ctx context.Context, id int, key string) (*State, error) {
	data, err := w.cfg.Store.Get(ctx, key)
	if err != nil || data == nil {
		return nil, err
	}
	state, err := DecodeState(data)
	if errors.Is(err, ErrState) {
		w.cfg.Logger.Error("a stored state cannot be read", "partition", id, "key", key, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if n := len(w.home); len(state.LookupFrom) != n || state.Partition != id {
		return nil, fmt.Errorf("the stored state is of partition %d of %d, the topic has %d: "+
			"the number of partitions cannot change while a window is kept", state.Partition, len(state.LookupFrom), n)
	}
	return state, nil
}
