package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// Size asks the server. It is cheap: the server keeps count.
func (t *Topic) Size(ctx context.Context) (topic.Size, error) {
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err != nil {
		return topic.Size{}, fmt.Errorf("size of topic %s: %w", t.cfg.Name, err)
	}
	state := stream.CachedInfo().State
	size := topic.Size{
		Bytes: int64(state.Bytes), MaxBytes: t.cfg.MaxBytes, Records: int64(state.Msgs),
		Dropped: max(0, int64(state.FirstSeq)-1), Appended: t.appended.Load(),
	}
	if state.Msgs > 0 {
		size.Oldest = state.FirstTime
	}
	return size, nil
}

// StreamBytes is how many bytes a topic holds that may not be open yet; 0 where there is none.
func (s *Server) StreamBytes(ctx context.Context, name string) (int64, error) {
	stream, err := s.js.Stream(ctx, name)
	if errors.Is(err, js.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("size of topic %s: %w", name, err)
	}
	return int64(stream.CachedInfo().State.Bytes), nil
}

// storedSize is what the server counts for a message: lengths, sequence, time and checksum come to what it says.
func storedSize(m *nats.Msg) int64 {
	const lengths, header = 30, 4
	return int64(lengths+header) + int64(m.Size())
}
