package shard

import (
	"context"
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/topic"
)

// CopiedTopics are topics that were copied from others, where everything had been looked up.
type CopiedTopics struct{ Sentences, Events, Control topic.Topic }

// PutCopied stores a state of partition q for the worker that goes on with copied topics: all that they hold is to be
// inserted, and none of it to be looked up, for every two sentences of it have met before. clock is W of then, 0 where it
// is not known.
func PutCopied(ctx context.Context, store topic.Store, q int, t CopiedTopics, clock feed.Time) error {
	start, end, err := t.Sentences.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("sentence topic: %w", err)
	}
	_, events, err := t.Events.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("event topic: %w", err)
	}
	_, control, err := t.Control.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("control topic: %w", err)
	}
	s := newState(q, start)
	s.LookupFrom, s.EventEnd, s.Control = slices.Clone(end), events, control[0]
	s.Watermarks.clock, s.Watermarks.known = clock, clock != 0
	s.SentenceTopic, s.EventTopic, s.ControlTopic = t.Sentences.Lineage().Current(), t.Events.Lineage().Current(), t.Control.Lineage().Current()
	return store.Put(ctx, stateKey(q, 0), s.Append(nil))
}
