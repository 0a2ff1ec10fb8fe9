package jetstream

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic/jetstream/blocks"
)

// losses are the messages of a stream that are known to be gone although nobody deleted them and no limit dropped them.
// A topic deletes nothing between its first message and its last, so what is missing there is lost.
type losses struct {
	mu     sync.Mutex
	ranges []blocks.Range
}

// add reports whether any of them was not known.
func (l *losses) add(more ...blocks.Range) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := blocks.Sum(l.ranges)
	l.ranges = blocks.Union(append(l.ranges, more...))
	return blocks.Sum(l.ranges) > before
}

func (l *losses) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return blocks.Sum(l.ranges)
}

// Lost is how many messages of the topic are lost, as far as this process knows: those that the stream lacks between its
// first and its last, those that the server dropped when it started, and those that could not be read. A message is a
// record, or up to 32 of a packed topic.
func (t *Topic) Lost() int64 { return t.lost.count() }

// notice takes in what the stream lacks.
func (t *Topic) notice(ctx context.Context) error {
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err != nil || stream.CachedInfo().State.NumDeleted == 0 {
		return err
	}
	info, err := stream.Info(ctx, js.WithDeletedDetails(true))
	if err != nil {
		return err
	}
	lacks := make([]blocks.Range, len(info.State.Deleted))
	for i, seq := range info.State.Deleted {
		lacks[i] = blocks.Range{First: seq, Last: seq}
	}
	t.lost.add(lacks...)
	return nil
}

// missed notes messages that a reader of all partitions was not given. The server leaves out those that it cannot read.
func (t *Topic) missed(first, last int64) {
	r := blocks.Range{First: uint64(first), Last: uint64(last)}
	if last >= first && t.lost.add(r) {
		t.cfg.Logger.Error("records of a topic cannot be read and are lost: its file is damaged",
			"topic", t.cfg.Name, "first", r.First, "last", r.Last, "messages", r.Len())
	}
}

// inspect looks at all streams before the server does, makes good what it would stumble over, and returns what they lack.
// What cannot be looked at is left to the server.
func inspect(dir string, log *slog.Logger) map[string][]blocks.Range {
	lost := map[string][]blocks.Range{}
	names, err := blocks.Streams(dir)
	if err != nil {
		log.Warn("streams are not looked at", "error", err)
	}
	for _, name := range names {
		if lost[name], err = inspectStream(dir, name, log); err != nil {
			log.Error("a stream is left as it is", "stream", name, "error", err)
		}
	}
	return lost
}

func inspectStream(dir, name string, log *slog.Logger) ([]blocks.Range, error) {
	s, err := blocks.Scan(dir, name, nil)
	if err != nil || len(s.Damage) == 0 {
		return nil, err // what is missing without damage the server knows
	}
	for _, d := range s.Damage {
		log.Error("a file of a stream is damaged", "stream", name, "file", d.File, "offset", d.Offset, "reason", d.Reason)
	}
	lost := s.Lost()
	if err := s.Repair(filepath.Join(dir, "damaged")); err != nil {
		return lost, err
	}
	after, err := blocks.Scan(dir, name, nil)
	if err != nil {
		return lost, err
	}
	if first := s.Damage[0].Drops.First; s.First > 1 && first < s.First {
		s.Gaps = append(s.Gaps, blocks.Range{First: first, Last: s.First - 1})
	}
	return blocks.Union(append(s.Gaps, after.Lost()...)), nil
}
