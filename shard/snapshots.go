package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"refrain/internal/check"
	"refrain/sigstore"
)

// SnapshotFiles are a folder of files, which several processes may use at a time. An error of any of it costs time at a
// restart, nothing else.
type SnapshotFiles interface {
	Names() ([]string, error)
	// Write makes a file of what write writes, whole or not at all, and durable on return.
	Write(name string, write func(io.Writer) error) error
	Open(name string) (io.ReadCloser, error)
	Link(from, to string) error // gives a file another name beside the one it has
	Remove(name string) error
}

// SnapshotConfig says where the rows of partitions are captured, so that they need not be replayed from the topic, and how
// often. Files and Writer are the caller's, DefaultSnapshots has the rest.
type SnapshotConfig struct {
	Files  SnapshotFiles
	Writer string // letters and digits: of two processes that use the folder, and of two lives of one, never the same

	// A snapshot is due after so many sentences that were inserted, once they are a share of the texts in the window:
	// that is what a restart has to replay. MinPause is how far apart two of one partition are at least.
	MinSentences, Share int
	MinPause            time.Duration

	InTurn bool // a turn waits until the snapshot is written; else a goroutine writes it meanwhile
	Now    func() time.Time
	Logger *slog.Logger
}

// DefaultSnapshots is the configuration but for the files and the writer.
func DefaultSnapshots() SnapshotConfig {
	return SnapshotConfig{MinSentences: 10_000, Share: 32, MinPause: time.Minute, Now: time.Now, Logger: slog.Default()}
}

// Snapshots writes the snapshots of a process, one at a time, and reads them. Its workers share one.
//
// A snapshot is derived from the topic, and whatever is wrong with one only means that another is taken, or that the rows
// are replayed. It is written after the state of its moment was stored: so that what is restored goes on from that state or
// a later one, and never needs what its rows have let go.
//
// A partition's snapshot is a head, and pieces that it names: see sigstore.Capture. Their names are
//
//	PARTITION-EPOCH-WRITER-NUMBER.head   and   .piece
//
// so that two processes that take themselves for the owner never write the same file. Each removes its own files, and those of
// earlier epochs; pieces that it goes on with it has linked under names of its own before. The last two heads stay, with what
// they name.
type Snapshots struct {
	cfg     SnapshotConfig
	metrics *snapshotMetrics

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	writing chan struct{} // holds one while a snapshot is written
	running sync.WaitGroup
}

// NewSnapshots makes one. Close it after its workers.
func NewSnapshots(cfg SnapshotConfig) (*Snapshots, error) {
	m, err := newSnapshotMetrics()
	if err := errors.Join(err,
		check.Set("files", cfg.Files != nil), check.Set("writer", cfg.Writer != "" && !strings.ContainsAny(cfg.Writer, "-./")),
		check.AtLeast(1, "min sentences", cfg.MinSentences), check.AtLeast(1, "share", cfg.Share),
		check.AtLeast(0, "min pause", int(cfg.MinPause)), check.Set("clock", cfg.Now != nil), check.Set("logger", cfg.Logger != nil),
	); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	s := &Snapshots{cfg: cfg, metrics: m, writing: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Close gives up what is being written, and waits until nobody writes.
func (s *Snapshots) Close() {
	s.cancel()
	s.running.Wait()
}

// fileName is the name of a file, in its parts.
type fileName struct {
	partition int
	epoch     int64
	writer    string
	number    int
	kind      string
}

const (
	headKind  = "head"
	pieceKind = "piece"
)

func (n fileName) String() string {
	return fmt.Sprintf("%d-%d-%s-%d.%s", n.partition, n.epoch, n.writer, n.number, n.kind)
}

// parseFileName is false for a file that is none of ours.
func parseFileName(s string) (n fileName, ok bool) {
	var rest string
	if _, err := fmt.Sscanf(strings.ReplaceAll(s, "-", " "), "%d %d %s %s", &n.partition, &n.epoch, &n.writer, &rest); err != nil {
		return n, false
	}
	if _, err := fmt.Sscanf(rest, "%d.%s", &n.number, &n.kind); err != nil {
		return n, false
	}
	return n, n.String() == s && (n.kind == headKind || n.kind == pieceKind)
}

// snapshotting is what a partition knows of its snapshots.
type snapshotting struct {
	fileName                // of the next file
	names    []headFiles    // the heads that stay, the oldest first
	inserted int            // sentences since the last one was begun
	begun    time.Time      // the last one
	done     chan struct{}  // closed when the one ends that is under way; nil: none is
	observe  *snapshotPoint // from where q is observed for what it was restored from; nil: it was not
}

// headFiles are the files of a snapshot.
type headFiles struct {
	head   string
	pieces []string
}

// maxHeads is how many snapshots stay: the last, and the one before.
const maxHeads = 2

// snapshot begins with snapshots that are due, after the states of this moment were stored.
func (w *Worker) snapshot() {
	s := w.cfg.Snapshots
	if s == nil || w.moved {
		return
	}
	for _, q := range w.owned {
		s.reap(q)
		if s.isDue(q) {
			s.begin(w, q)
		}
	}
}

// reap notes that a snapshot is written.
func (s *Snapshots) reap(q *partition) {
	select {
	case <-q.snapshots.done: // nil where none is under way
		q.snapshots.done = nil
	default:
	}
}

func (s *Snapshots) isDue(q *partition) bool {
	now := &q.snapshots
	return now.done == nil && now.inserted >= max(s.cfg.MinSentences, q.rows.Len()/s.cfg.Share) &&
		s.cfg.Now().Sub(now.begun) >= s.cfg.MinPause
}

// begin captures the rows, unless another snapshot is being written.
func (s *Snapshots) begin(w *Worker, q *partition) {
	select {
	case s.writing <- struct{}{}:
	default:
		return
	}
	began := s.cfg.Now()
	q.lock.Lock()
	c := q.rows.Capture()
	q.lock.Unlock()
	if c == nil {
		<-s.writing
		return
	}
	head := w.headOf(q).append(nil)
	s.metrics.pause.Record(s.ctx, s.cfg.Now().Sub(began).Seconds())
	q.snapshots.inserted, q.snapshots.begun, q.snapshots.done = 0, began, make(chan struct{})
	if s.cfg.InTurn {
		s.write(q.snapshots.done, &q.snapshots, head, c)
		return
	}
	s.running.Go(func() { s.write(q.snapshots.done, &q.snapshots, head, c) })
}

// write writes a snapshot. Of q only what belongs to its snapshots is used, and nobody else uses that before done says so.
func (s *Snapshots) write(done chan<- struct{}, to *snapshotting, head []byte, c *sigstore.Capture) {
	err := s.writeFiles(to, head, c)
	if err == nil {
		s.clean(to)
	}
	switch {
	case err == nil:
		s.metrics.count("written")
	case s.ctx.Err() == nil:
		s.metrics.count("failed")
		s.cfg.Logger.Error("no snapshot of a partition: a restart has more to replay", "partition", to.partition, "error", err)
	}
	<-s.writing
	close(done)
}

func (s *Snapshots) writeFiles(to *snapshotting, head []byte, c *sigstore.Capture) error {
	var files headFiles
	for _, p := range c.Pieces {
		if p.Name == "" {
			name := to.next(pieceKind)
			if err := s.writeFile(name, p.Write); err != nil {
				return fmt.Errorf("write piece: %w", err)
			}
			p.Name, p.Write = name, nil
		}
		files.pieces = append(files.pieces, p.Name)
	}
	files.head = to.next(headKind)
	if err := s.writeFile(files.head, func(w io.Writer) error { return writeHead(w, head, c) }); err != nil {
		return fmt.Errorf("write head: %w", err)
	}
	to.names = append(to.names, files)
	return nil
}

// next is the name of the next file.
func (n *fileName) next(kind string) string {
	n.number++
	n.kind = kind
	return n.String()
}

func (s *Snapshots) writeFile(name string, write func(io.Writer) error) error {
	return s.cfg.Files.Write(name, func(w io.Writer) error { return write(&countedWriter{w, s}) })
}

// countedWriter counts what is written, and ends with the Snapshots.
type countedWriter struct {
	io.Writer
	of *Snapshots
}

func (w *countedWriter) Write(p []byte) (int, error) {
	if err := w.of.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.Writer.Write(p)
	w.of.metrics.bytes.Add(w.of.ctx, int64(n))
	return n, err
}

// clean removes the files that no snapshot needs any more: heads before the pieces that they name.
func (s *Snapshots) clean(of *snapshotting) {
	if len(of.names) < maxHeads {
		return
	}
	of.names = of.names[len(of.names)-maxHeads:]
	names, err := s.cfg.Files.Names()
	if err != nil {
		s.cfg.Logger.Warn("old snapshots stay", "partition", of.partition, "error", err)
		return
	}
	for _, n := range removable(names, of) {
		if err := s.cfg.Files.Remove(n.String()); err != nil {
			s.cfg.Logger.Warn("an old snapshot stays", "partition", of.partition, "file", n.String(), "error", err)
		}
	}
}

// removable are the files of earlier epochs, and our own that no head names, heads first.
func removable(names []string, of *snapshotting) (all []fileName) {
	needed := map[string]bool{}
	for _, files := range of.names {
		needed[files.head] = true
		for _, piece := range files.pieces {
			needed[piece] = true
		}
	}
	for _, name := range names {
		n, ok := parseFileName(name)
		ours := n.epoch == of.epoch && n.writer == of.writer
		if ok && n.partition == of.partition && !needed[name] && (ours || n.epoch < of.epoch) {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b fileName) int { return cmp.Compare(a.kind, b.kind) })
	return all
}
