package shard

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"refrain/sigstore"
)

// loadSnapshots restores the rows of the owned partitions from their newest snapshots, as far as there are any that fit.
// What is left is replayed.
func (w *Worker) loadSnapshots(ctx context.Context, x *extent) {
	s := w.cfg.Snapshots
	if s == nil {
		return
	}
	if s.cfg.InTurn {
		for _, q := range w.owned {
			s.load(ctx, w, q, x)
		}
		return
	}
	var all sync.WaitGroup
	for _, q := range w.owned {
		all.Go(func() { s.load(ctx, w, q, x) })
	}
	all.Wait()
}

// load restores q from the newest snapshot that fits, and logs why others do not.
func (s *Snapshots) load(ctx context.Context, w *Worker, q *partition, x *extent) {
	q.snapshots.fileName = fileName{partition: q.id, epoch: q.epoch, writer: s.cfg.Writer}
	q.snapshots.begun = s.cfg.Now()
	heads, err := s.heads(q.id)
	if err != nil {
		s.cfg.Logger.Error("snapshots cannot be read: replaying the sentence topic", "partition", q.id, "error", err)
	}
	for _, name := range heads {
		if ctx.Err() != nil {
			return
		}
		if err = s.loadOne(w, q, x, name); err == nil {
			s.metrics.count("restored")
			return
		}
		s.metrics.count("refused")
		s.cfg.Logger.Warn("a snapshot is not used", "partition", q.id, "file", name, "reason", err)
	}
}

// heads are the snapshots of a partition, the newest first.
func (s *Snapshots) heads(partition int) (names []string, err error) {
	all, err := s.cfg.Files.Names()
	if err != nil {
		return nil, err
	}
	var heads []fileName
	for _, name := range all {
		if n, ok := parseFileName(name); ok && n.partition == partition && n.kind == headKind {
			heads = append(heads, n)
		}
	}
	slices.SortFunc(heads, func(a, b fileName) int {
		return -cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.number, b.number), cmp.Compare(a.writer, b.writer))
	})
	for _, n := range heads {
		names = append(names, n.String())
	}
	return names, nil
}

func (s *Snapshots) loadOne(w *Worker, q *partition, x *extent, name string) error {
	f, err := s.cfg.Files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h, rows, err := readHead(f)
	if err != nil {
		return err
	}
	if err := h.checkFits(&q.state, x, w.cfg.TextVersion); err != nil {
		return err
	}
	pieces, err := q.rows.Restore(rows, s.cfg.Files.Open, w.cfg.Tombstones.HasPost)
	if err != nil {
		return err
	}
	q.resume(h)
	s.link(q, pieces)
	return nil
}

// resume takes over what q knew when the snapshot was made. Where the state's window begins behind that, what lies between is
// not needed any more, and may be purged: then q is observed as for a replay.
func (q *partition) resume(h *snapshotHead) {
	q.stamp, q.deletedTo = h.stamp, h.deletedTo
	q.window, q.young.sentences = h.window, h.young
	for _, y := range h.young {
		q.young.newest = max(q.young.newest, y.stamp)
	}
	if q.state.ReplayFrom > h.insert {
		return
	}
	q.insert, q.snapshots.observe = h.insert, &h.observe
}

// link gives pieces names of our own, so that nobody else removes them. One that cannot be linked is written anew.
func (s *Snapshots) link(q *partition, pieces []*sigstore.Piece) {
	for _, p := range pieces {
		name := q.snapshots.next(pieceKind)
		if err := s.cfg.Files.Link(p.Name, name); err != nil {
			s.cfg.Logger.Warn("a piece of a snapshot will be written anew", "partition", q.id, "file", p.Name, "error", err)
			name = ""
		}
		p.Name = name
	}
}

// observeFrom is from where p is observed for what q has still to insert and to look up.
func (q *partition) observeFrom(p int) observePoint {
	if p == q.id && q.snapshots.observe != nil {
		return q.snapshots.observe.observePoint
	}
	return q.state.ObserveFrom[p]
}

// prependSteps tells of the slots that began before q is observed: its rows go further back.
func (w *Worker) prependSteps() {
	for _, q := range w.owned {
		if q.snapshots.observe != nil {
			w.redeliveries.of.parts[q.id].prepend(q.snapshots.observe.steps)
			q.snapshots.observe.steps = nil
		}
	}
}
