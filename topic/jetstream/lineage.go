package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// A stream's incarnations (topic.Incarnation) are kept in its metadata, as ID:SEQUENCE with commas between, the oldest
// first. So they live and die with its messages.
//
// A server in this process begins one whenever it opens a stream for the first time after its start, before anything is
// appended: whether the last one ended well or with the power makes no difference, and nobody has to find out. A stream
// on a remote server keeps the one that it was made with, what is appended there is for that server to keep; only who finds
// that it has not done so begins another (watch).

const metadataLineage = metadataPrefix + "incarnations"

// maxIncarnations bounds what is remembered, 25 bytes each. Whoever comes with an older one begins with the oldest record.
const maxIncarnations = 100

type incarnation struct {
	id  string
	seq uint64 // of the first message that was appended in it
}

type lineage []incarnation

func newIncarnation(seq uint64) incarnation { return incarnation{rand.Text()[:12], seq} }

func (l lineage) String() string {
	words := make([]string, len(l))
	for i, one := range l {
		words[i] = one.id + ":" + strconv.FormatUint(one.seq, 10)
	}
	return strings.Join(words, ",")
}

func parseLineage(s string) (l lineage, err error) {
	for word := range strings.SplitSeq(s, ",") {
		id, number, _ := strings.Cut(word, ":")
		seq, err := strconv.ParseUint(number, 10, 62)
		if err != nil || id == "" {
			return nil, fmt.Errorf("metadata %s: %q is not ID:SEQUENCE: start with an empty data directory", metadataLineage, word)
		}
		l = append(l, incarnation{id, seq})
	}
	return l, nil
}

// next is l with one more incarnation, of the messages from seq on.
func (l lineage) next(seq uint64) lineage {
	l = append(slices.Clone(l), newIncarnation(seq))
	return l[max(0, len(l)-maxIncarnations):]
}

// continues tells whether l is before with more incarnations behind it, or with fewer that are remembered.
func (l lineage) continues(before lineage) bool {
	return slices.Contains(l, before[len(before)-1])
}

// Lineage implements topic.Topic.
func (t *Topic) Lineage() topic.Lineage {
	l := make(topic.Lineage, len(t.lineage))
	for i, one := range t.lineage {
		l[i] = topic.Incarnation{ID: one.id, From: slices.Repeat([]int64{t.begin(one.seq)}, t.cfg.Partitions)}
	}
	return l
}

// beginIncarnation begins one in the stream of t, unless this server has done so. It is on the disk before anything can
// be appended in it.
func (s *Server) beginIncarnation(ctx context.Context, t *Topic) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.begun[t.cfg.Name] {
		return nil
	}
	end, err := t.endSequence(ctx)
	if err != nil {
		return err
	}
	t.lineage = t.lineage.next(end)
	if _, err := t.js.UpdateStream(ctx, t.cfg.stream(t.lineage)); err != nil {
		return fmt.Errorf("begin incarnation: %w", err)
	}
	if err := s.syncMetadata(t.cfg.Name); err != nil {
		return fmt.Errorf("begin incarnation: %w", err)
	}
	s.begun[t.cfg.Name] = true
	return nil
}

// endSequence is the one after the last message. After a power cut the server may remember a greater sequence than it has
// messages for, and goes on behind that: what lay between is lost all the same.
func (t *Topic) endSequence(ctx context.Context) (uint64, error) {
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err != nil {
		return 0, err
	}
	last, err := stream.GetLastMsgForSubject(ctx, t.cfg.Name+".*")
	if errors.Is(err, js.ErrMsgNotFound) {
		return t.endOfEmpty(&stream.CachedInfo().State), nil
	}
	if err != nil {
		return 0, fmt.Errorf("newest message: %w", err)
	}
	return last.Sequence + 1, nil
}

// endOfEmpty is where a stream ends from which retention has dropped everything. One with a younger message, as far as the
// server remembers, has lost it.
func (t *Topic) endOfEmpty(state *js.StreamState) uint64 {
	if t.cfg.MaxAge > 0 && t.cfg.Now().Sub(state.LastTime) >= t.cfg.MaxAge {
		return state.LastSeq + 1
	}
	return 1
}

// syncMetadata makes the metadata of a stream reach the disk. The server has replaced the files by renaming others.
func (s *Server) syncMetadata(stream string) error {
	dir := filepath.Join(s.nats.JetStreamConfig().StoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream)
	for _, name := range []string{server.JetStreamMetaFile, server.JetStreamMetaFileSum, "."} {
		if err := syncFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
