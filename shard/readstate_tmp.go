package shard

import (
	"context"
	"fmt"

	"refrain/topic"
)

// ReadState reads what is stored of partition q; nil: nothing is.
func ReadState(ctx context.Context, store topic.Store, q int) (*State, error) {
	data, err := store.Get(ctx, stateKey(q))
	if err != nil || data == nil {
		return nil, err
	}
	s, err := DecodeState(data)
	if err != nil {
		return nil, fmt.Errorf("partition %d: %w", q, err)
	}
	return s, nil
}
