package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"refrain/internal/retry"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"
)

// ends finds where the topics end. A group that has offsets anywhere in a topic has begun before: what it has none
// for is a new partition, which is read from its beginning, lest what was written before its discovery be skipped.
func (s *Source) ends(ctx context.Context, topics []kafka.Topic) (map[string]map[int]int64, error) {
	ends := map[string]map[int]int64{}
	for _, t := range topics {
		var numbers []int
		var last []kafka.OffsetRequest
		for _, p := range t.Partitions {
			numbers = append(numbers, p.ID)
			last = append(last, kafka.LastOffsetOf(p.ID))
		}
		hasOffsets, err := s.hasOffsets(ctx, t.Name, numbers)
		if err != nil {
			return nil, err
		}
		if hasOffsets {
			continue
		}
		res, err := s.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{t.Name: last}})
		if err != nil {
			return nil, err
		}
		ends[t.Name] = map[int]int64{}
		for _, p := range res.Topics[t.Name] {
			if p.Error != nil {
				return nil, fmt.Errorf("%s/%d: %w", t.Name, p.Partition, p.Error)
			}
			ends[t.Name][p.Partition] = p.LastOffset
		}
	}
	return ends, nil
}

// hasOffsets reports whether the group has an offset in some partition of a topic. On a young cluster the coordinator of
// groups takes a moment to come up.
func (s *Source) hasOffsets(ctx context.Context, topic string, numbers []int) (bool, error) {
	ask := func() (*kafka.OffsetFetchResponse, error) {
		res, err := s.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
			GroupID: s.cfg.Group, Topics: map[string][]int{topic: numbers},
		})
		if err == nil {
			err = res.Error
		}
		var code kafka.Error
		if errors.As(err, &code) && !code.Temporary() {
			err = backoff.Permanent(err)
		}
		return res, err
	}
	res, err := backoff.Retry(ctx, ask, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(10*time.Second))
	if err != nil {
		return false, err
	}
	for _, p := range res.Topics[topic] {
		if p.CommittedOffset >= 0 {
			return true, nil
		}
	}
	return false, nil
}

// begin finds where to begin, if that is not yet known. The window, moved there, has something uncommitted, so the next
// commit stores it: else a group that never gets anything acknowledged would begin somewhere else next time.
func (p *partition) begin(ctx context.Context) error {
	at, _ := p.window.uncommitted()
	if at < 0 {
		if start, ok := p.src.starts[p.topic][p.number]; ok {
			at = start
		} else {
			first, _, err := p.bounds(ctx)
			if err != nil {
				return err
			}
			at = first
		}
	}
	p.window.reset(at)
	p.next.Store(at)
	return nil
}

// relocate finds where to go on when the log has nothing at an offset any more.
func (p *partition) relocate(ctx context.Context, at int64) error {
	first, end, err := p.bounds(ctx)
	if err != nil {
		return err
	}
	switch {
	case at < first:
		p.src.cfg.Logger.Error("kafka: records lost: retention deleted them before they were read",
			"topic", p.topic, "partition", p.number, "from", at, "to", first-1, "records", first-at)
		p.src.metrics.countLost(p.topic, first-at)
		p.advance(first)
	case at > end:
		p.src.cfg.Logger.Error("kafka: the partition ends before the offset that was reached: the topic was made anew, "+
			"or the log was cut; reading from its beginning",
			"topic", p.topic, "partition", p.number, "offset", at, "start", first, "end", end)
		p.window.reset(first)
		p.next.Store(first)
	default:
		return kafka.OffsetOutOfRange // it was a moment ago
	}
	return nil
}

func (p *partition) bounds(ctx context.Context) (first, end int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	res, err := p.src.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		p.topic: {kafka.FirstOffsetOf(p.number), kafka.LastOffsetOf(p.number)},
	}})
	if err != nil {
		return 0, 0, err
	}
	for _, o := range res.Topics[p.topic] {
		if o.Partition == p.number {
			return o.FirstOffset, o.LastOffset, o.Error
		}
	}
	return 0, 0, fmt.Errorf("list offsets: no answer for partition %d", p.number)
}
