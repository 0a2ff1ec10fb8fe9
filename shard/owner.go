package shard

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"refrain/topic"
)

// Owner is what the others are told of a partition: who serves it, and since which epoch. It is put every few seconds.
type Owner struct {
	Worker   string    `json:"worker"`   // CrewConfig.Name
	Address  string    `json:"address"`  // where it is reached
	Epoch    int64     `json:"epoch"`    // grows with every owner
	Released bool      `json:"released"` // it has given the partition up, all that it did is stored
	Time     time.Time `json:"time"`     // when it was put, by its own clock
	Mark     string    `json:"mark"`     // CrewConfig.Mark
}

func ownerKey(q int) string { return fmt.Sprintf("owner/%d", q) }

// ReadOwner returns who says that it owns a partition; nil: nobody ever did.
func ReadOwner(ctx context.Context, store topic.Store, q int) (*Owner, error) {
	data, err := store.Get(ctx, ownerKey(q))
	if err != nil || data == nil {
		return nil, err
	}
	var o Owner
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", ownerKey(q), err)
	}
	return &o, nil
}

func putOwner(ctx context.Context, store topic.Store, q int, o *Owner) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return store.Put(ctx, ownerKey(q), data)
}

// Each owner of a partition stores its states under a key of its own, which the number of its epoch is in. Who takes a
// partition over goes on from the state of the epoch that was, stores it as the first of the next, and then says that this
// epoch has begun. So a worker that goes on with what it has lost writes where nobody reads any more: its late states would
// be as right as any, but everything since would be looked up again. Two that take over at once write to the same key; then
// the last one counts, which is right too.

// epochKeys is how many keys the states of a partition have: a store has no end of them otherwise, and nothing is ever
// removed from it. What a worker stores that is so many owners behind is read, and right as any.
const epochKeys = 8

func epochKey(q int) string { return fmt.Sprintf("epoch/%d", q) }

// stateKey is where the owner of an epoch stores its states. Before there were epochs there was one key.
func stateKey(q int, epoch int64) string {
	if epoch == 0 {
		return fmt.Sprintf("shard/%d", q)
	}
	return fmt.Sprintf("shard/%d/e%d", q, epoch%epochKeys)
}

// readEpoch returns which epoch of a partition has begun last; 0: none has.
func readEpoch(ctx context.Context, store topic.Store, q int) (int64, error) {
	data, err := store.Get(ctx, epochKey(q))
	if err != nil || data == nil {
		return 0, err
	}
	epoch, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", epochKey(q), err)
	}
	return epoch, nil
}

// ReadState returns the state that the present owner of a partition has stored last; nil: nobody ever did. What it says of
// LookupFrom and Control is durable.
func ReadState(ctx context.Context, store topic.Store, q int) (*State, error) {
	epoch, err := readEpoch(ctx, store, q)
	if err != nil {
		return nil, err
	}
	data, err := store.Get(ctx, stateKey(q, epoch))
	if err != nil || data == nil {
		return nil, err
	}
	return DecodeState(data)
}

// takeOver begins the next epoch of a partition, with the state to go on from.
func (w *Worker) takeOver(ctx context.Context, id int, x *extent) (*State, int64, error) {
	last, err := readEpoch(ctx, w.cfg.Store, id)
	if err != nil {
		return nil, 0, err
	}
	state, err := w.load(ctx, id, last, x)
	if err != nil {
		return nil, 0, err
	}
	if state == nil {
		state = newState(id, x.start)
		state.SentenceTopic, state.EventTopic, state.ControlTopic = w.topics[0], w.topics[1], w.topics[2]
	}
	epoch := last + 1
	if err := w.cfg.Store.Put(ctx, stateKey(id, epoch), state.Append(nil)); err != nil {
		return nil, 0, err
	}
	return state, epoch, w.cfg.Store.Put(ctx, epochKey(id), strconv.AppendInt(nil, epoch, 10))
}

// isSuperseded reports whether somebody has taken the partition over since.
func (q *partition) isSuperseded(ctx context.Context, store topic.Store) (bool, error) {
	epoch, err := readEpoch(ctx, store, q.id)
	return epoch > q.epoch, err
}
