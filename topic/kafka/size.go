package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"

	"refrain/internal/kafkaconn/logdirs"
	"refrain/topic"
)

// Size asks each broker for what it leads: four requests. Bytes are those of one replica; without the right Describe on
// the cluster they are not known, and 0.
func (t *Topic) Size(ctx context.Context) (topic.Size, error) {
	size, err := t.size(ctx)
	if err != nil {
		return topic.Size{}, fmt.Errorf("size of topic %s: %w", t.cfg.Name, err)
	}
	return size, nil
}

func (t *Topic) size(ctx context.Context) (topic.Size, error) {
	start, end, err := t.Bounds(ctx)
	if err != nil {
		return topic.Size{}, err
	}
	size := topic.Size{MaxBytes: t.cfg.MaxBytes, Appended: t.appended.Load()}
	for p := range start {
		size.Records += end[p] - start[p]
		size.Dropped += start[p]
	}
	if size.Oldest, err = t.oldest(ctx); err != nil {
		return topic.Size{}, err
	}
	size.Bytes, err = t.bytes(ctx)
	return size, err
}

// oldest is the least stamp of the partitions' first records: the writers' clocks, not the brokers'.
func (t *Topic) oldest(ctx context.Context) (oldest time.Time, err error) {
	leaders, err := t.link.leaders(ctx)
	if err != nil {
		return oldest, err
	}
	for _, parts := range ledBy(leaders) {
		asked := make([]listoffsets.RequestPartition, len(parts))
		for i, p := range parts {
			asked[i] = listoffsets.RequestPartition{Partition: p, CurrentLeaderEpoch: -1, Timestamp: 0} // the first since 1970
		}
		m, err := t.link.roundTrip(ctx, &offsetsRequest{ReplicaID: -1,
			Topics: []listoffsets.RequestTopic{{Topic: t.cfg.Name, Partitions: asked}}})
		if err != nil {
			return oldest, t.link.explain(err)
		}
		for _, of := range m.(*listoffsets.Response).Topics {
			for _, p := range of.Partitions {
				if at := time.UnixMilli(p.Timestamp).UTC(); p.ErrorCode == 0 && p.Timestamp > 0 && (oldest.IsZero() || at.Before(oldest)) {
					oldest = at
				}
			}
		}
	}
	return oldest, nil
}

func ledBy(leaders []int32) map[int32][]int32 {
	out := map[int32][]int32{}
	for p, leader := range leaders {
		if leader >= 0 {
			out[leader] = append(out[leader], int32(p))
		}
	}
	return out
}

func (t *Topic) bytes(ctx context.Context) (sum int64, err error) {
	leaders, err := t.link.leaders(ctx)
	if err != nil {
		return 0, err
	}
	for leader, parts := range ledBy(leaders) {
		m, err := t.link.roundTrip(ctx, logdirs.Of(leader, t.cfg.Name, parts))
		if err != nil {
			return 0, t.link.explain(err)
		}
		n, known := m.(*logdirs.Response).Bytes()
		if !known {
			t.unsized.Do(func() {
				t.cfg.Logger.Warn("kafka: the sizes of topics are not known", "topic", t.cfg.Name,
					"error", fmt.Errorf("the right to Describe the cluster is missing: %w", kafka.ClusterAuthorizationFailed))
			})
		}
		sum += n
	}
	return sum, nil
}
