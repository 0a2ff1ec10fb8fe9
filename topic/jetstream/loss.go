package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

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
// first and its last, those that its files lacked when the server started, and those that could not be read. A message is
// a record, or up to 32 of a packed topic.
func (t *Topic) Lost() int64 { return t.lost.count() }

// Lost is how many records of the store were damaged when the server started. Each was a value, or one that had been
// replaced: nobody can tell.
func (s *Store) Lost() int64 { return s.lost }

// addDeleted adds what the stream lacks.
func (t *Topic) addDeleted(ctx context.Context) error {
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

// addUnread adds messages that a reader of all partitions was not given. The server leaves out those that it cannot read.
func (t *Topic) addUnread(first, last int64) {
	r := blocks.Range{First: uint64(first), Last: uint64(last)}
	if last >= first && t.lost.add(r) {
		t.cfg.Logger.Error("records of a topic cannot be read and are lost: its file is damaged",
			"topic", t.cfg.Name, "first", r.First, "last", r.Last, "messages", r.Len())
	}
}

// inspect looks at all streams before the server does, repairs what it would fail on, and returns what each has
// lost: the sequences of a topic, a number for a store. Files of another layout are left to the server. What cannot be
// read or written ends it: the server would lose what can still be saved.
func inspect(dir string, log *slog.Logger) (map[string]damage, error) {
	streams, err := scan(dir, log)
	if err != nil {
		return nil, err
	}
	var records, damaged int64
	for _, s := range streams {
		records += s.Records
		damaged += inBlocks(s)
	}
	if records == 0 && damaged > 0 {
		log.Warn("streams are not repaired: not one record can be read, so they may be of another version of the server")
		return nil, nil
	}
	lost := map[string]damage{}
	for _, s := range streams {
		if err := repair(s, dir, log); err != nil {
			return nil, err
		}
		lost[s.Name] = lossOf(s)
	}
	return lost, nil
}

// damage is what a stream has lost.
type damage struct {
	messages []blocks.Range
	blocks   int64
}

func lossOf(s *blocks.Stream) (d damage) {
	if d.blocks = inBlocks(s); !strings.HasPrefix(s.Name, bucketPrefix) {
		d.messages = s.Missing
	}
	return d
}

// bucketPrefix begins the name of a stream that a store is in.
const bucketPrefix = "KV_"

func inBlocks(s *blocks.Stream) (n int64) {
	for _, d := range s.Damage {
		if d.Block() {
			n++
		}
	}
	return n
}

func scan(dir string, log *slog.Logger) (streams []*blocks.Stream, err error) {
	names, err := blocks.Streams(dir)
	if err != nil {
		return nil, err
	}
	begin, bytes := time.Now(), int64(0)
	for _, name := range names {
		s, err := blocks.Scan(dir, name, nil)
		var other *blocks.LayoutError
		if errors.As(err, &other) {
			log.Warn("a stream is not looked at for damage", "stream", name, "reason", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		bytes += s.Bytes
		streams = append(streams, s)
	}
	if d := time.Since(begin); d > time.Second {
		log.Info("streams looked at for damage", "bytes", bytes, "seconds", d.Seconds())
	}
	return streams, nil
}

func repair(s *blocks.Stream, dir string, log *slog.Logger) error {
	for _, d := range s.Damage {
		log.Error("a file of a stream is damaged", "stream", s.Name, "file", d.File, "offset", d.Offset, "reason", d.Reason)
	}
	if err := s.Repair(filepath.Join(dir, "damaged")); err != nil {
		return fmt.Errorf("%w: give the directory room and rights and start again, nothing is lost that was not", err)
	}
	return nil
}
