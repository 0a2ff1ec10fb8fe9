package shard

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"time"

	"refrain/internal/chunks"
	"refrain/internal/sim"
	"refrain/sigstore"
	"refrain/text"
	"refrain/topic"
)

// TestSnapshotMutants breaks a rule of snapshots at a time: the simulation has to notice.
func TestSnapshotMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("broken rules lose events, not races")
	}
	tests := []struct {
		name string
		seed uint64 // the first that has caught it
		s    sim.Subject
	}{
		{"rows of the snapshot before", 9, crews(openCrew, staleRows)},
		{"newer than the state", 151, crews(lossyCrew(func(h *snapshotHead) {
			h.known = false
			clear(h.lookupFrom)
		}), bruteRows)},
		{"redeliveries known from the snapshot on", 91, crews(alteredHeads(func(h *snapshotHead) {
			h.observe = snapshotPoint{observePoint: observePoint{position: min(h.insert, h.lookupFrom[h.partition])}}
		}), bruteRows)},
		{"deletions told again", 93, crews(alteredHeads(func(h *snapshotHead) { h.deletedTo = 0 }), bruteRows)},
		{"the window forgotten", 20, crews(alteredHeads(func(h *snapshotHead) { h.window = nil }), bruteRows)},
		{"whatever the topics have lost", 150, crews(openAnyTopic, bruteRows)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { wantCaught(t, test.seed, test.s) })
	}
}

// TestLossyStoreAlone: what the simulation notices of a mutant is not that the store loses states.
func TestLossyStoreAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("is about TestSnapshotMutants")
	}
	wantAll(t, crews(lossyCrew(func(*snapshotHead) {}), bruteRows), 100)
}

// stale are rows whose capture is the one before.
type stale struct {
	sim.Rows
	last *sigstore.Capture
}

func staleRows(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
	rows, err := bruteRows(t, span, lateness)
	return &stale{Rows: rows}, err
}

func (s *stale) Capture() *sigstore.Capture {
	last := s.last
	if s.last = s.Rows.Capture(); last == nil {
		return s.last
	}
	return last
}

// alteredHeads opens a crew that reads other heads of snapshots than were written.
func alteredHeads(alter func(*snapshotHead)) func(CrewConfig) (sim.Crew, error) {
	return func(cfg CrewConfig) (sim.Crew, error) {
		if s := cfg.Worker.Snapshots; s != nil {
			s.cfg.Files = &alteredFiles{s.cfg.Files, alter}
		}
		return openCrew(cfg)
	}
}

// openAnyTopic opens a crew for which a position of a snapshot is a position, whatever its topic has lost and got since.
func openAnyTopic(cfg CrewConfig) (sim.Crew, error) {
	return alteredHeads(func(h *snapshotHead) {
		h.sentenceTopic, h.controlTopic = cfg.Worker.Sentences.Lineage().Current(), cfg.Worker.Control.Lineage().Current()
	})(cfg)
}

// lossyCrew is one whose store has most states only for so long as it lives.
func lossyCrew(alter func(*snapshotHead)) func(CrewConfig) (sim.Crew, error) {
	return func(cfg CrewConfig) (sim.Crew, error) {
		cfg.Worker.Store = &lossyStore{Store: cfg.Worker.Store}
		return alteredHeads(alter)(cfg)
	}
}

// lossyStore acknowledges most states without storing them, as a disk may that then loses its power.
type lossyStore struct {
	topic.Store
	puts int
}

func (l *lossyStore) Put(ctx context.Context, key string, value []byte) error {
	if l.puts++; strings.HasPrefix(key, "shard/") && l.puts%8 > 0 {
		if s, err := l.Store.Get(ctx, key); err != nil || s != nil {
			return err
		}
	}
	return l.Store.Put(ctx, key, value)
}

type alteredFiles struct {
	SnapshotFiles
	alter func(*snapshotHead)
}

func (a *alteredFiles) Open(name string) (io.ReadCloser, error) {
	f, err := a.SnapshotFiles.Open(name)
	if err != nil || !strings.HasSuffix(name, headKind) {
		return f, err
	}
	h, rows, err := readHead(f)
	if err != nil {
		return a.SnapshotFiles.Open(name)
	}
	a.alter(h)
	var altered bytes.Buffer
	w := chunks.NewWriter(&altered, headMagic, sigstore.SnapshotFormat)
	meta := h.append(nil)
	if _, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(meta))), meta...)); err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, rows); err != nil {
		return a.SnapshotFiles.Open(name) // damaged: as it is
	}
	return io.NopCloser(&altered), w.Close()
}
