package jetstream

import (
	"context"
	"errors"
	"fmt"

	js "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Bounds implements topic.Topic: two small reads for each partition that holds records.
func (t *Topic) Bounds(ctx context.Context) (start, end []int64, err error) {
	start, end, err = t.bounds(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("bounds of topic %s: %w", t.cfg.Name, err)
	}
	return start, end, nil
}

func (t *Topic) bounds(ctx context.Context) (start, end []int64, err error) {
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err != nil {
		return nil, nil, err
	}
	info, err := stream.Info(ctx, js.WithSubjectFilter(t.cfg.Name+".*"))
	if err != nil {
		return nil, nil, err
	}
	start, end = make([]int64, t.cfg.Partitions), make([]int64, t.cfg.Partitions)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for p := range start {
		start[p], end[p] = t.begin(info.State.LastSeq+1), t.begin(info.State.LastSeq+1)
		if info.State.Subjects[t.subject(p)] == 0 {
			continue
		}
		g.Go(func() error { return t.boundsOf(gctx, stream, info.State.FirstSeq, p, &start[p], &end[p]) })
	}
	return start, end, g.Wait()
}

// boundsOf leaves start and end alone when the records have been dropped meanwhile.
func (t *Topic) boundsOf(ctx context.Context, stream js.Stream, from uint64, partition int, start, end *int64) error {
	last, err := stream.GetLastMsgForSubject(ctx, t.subject(partition))
	if errors.Is(err, js.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("newest record of partition %d: %w", partition, err)
	}
	*start, *end = t.begin(last.Sequence+1), t.begin(last.Sequence+1)
	first, err := stream.GetMsg(ctx, from, js.WithGetMsgSubject(t.subject(partition)))
	if errors.Is(err, js.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("oldest record of partition %d: %w", partition, err)
	}
	// A record appended since may be the only one left, and so lie behind last.
	*start, *end = t.position(first.Sequence, t.packed(first.Header)-1), max(*end, t.begin(first.Sequence+1))
	return nil
}
