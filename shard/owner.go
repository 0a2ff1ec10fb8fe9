package shard

import (
	"context"
	"encoding/json"
	"fmt"
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

// ReadState returns the state that the present owner of a partition has stored last; nil: nobody ever did. What it says of
// LookupFrom and Control is durable.
func ReadState(ctx context.Context, store topic.Store, q int) (*State, error) {
	data, err := store.Get(ctx, stateKey(q))
	if err != nil || data == nil {
		return nil, err
	}
	return DecodeState(data)
}
