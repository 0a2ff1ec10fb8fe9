package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/shard"
)

// snapshotsOff is the value of window.snapshots where there are none.
const snapshotsOff = "off"

// openSnapshots opens the directory of snapshots, and in it the folder of this deployment: the key of its authors, which is
// made once, tells it from all others. Where it cannot be used, a start takes longer, and nothing else is lost.
func (m *matcher) openSnapshots() (err error) {
	cfg := &m.n.cfg
	if cfg.Window.Snapshots == snapshotsOff {
		return nil
	}
	dir := cfg.Window.Snapshots
	if dir == "" {
		dir = filepath.Join(cfg.DataDir, "snapshots")
	}
	deployment := sha256.Sum256(append([]byte("snapshots "), m.n.window.AuthorKey[:]...))
	folder, err := shard.OpenSnapshotFolder(filepath.Join(dir, hex.EncodeToString(deployment[:8])))
	if err != nil {
		m.n.log.Error("there are no snapshots of the window: each start reads the sentence topic", "error", err)
		return nil
	}
	c := shard.DefaultSnapshots()
	c.Files, c.Writer, c.Now, c.Logger = folder, newWriterName(), m.n.now, m.n.log
	c.MinSentences, c.MinPause = cfg.SnapshotSentences, cfg.SnapshotPause
	m.snapshots, err = shard.NewSnapshots(c)
	return err
}

// newWriterName is a name that no other start of any process has.
func newWriterName() string {
	var random [6]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// replayMargin is how much the sentence topic holds beyond what a partition's window needs.
type replayMargin struct {
	partition int
	records   int64 // positions; below 0 the topic lacks what is in the window
}

// replayMargins are those of the partitions here.
func (m *matcher) replayMargins(ctx context.Context) (all []replayMargin, err error) {
	start, _, err := m.n.sentences.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	for q, from := range m.crew.ReplaysFrom() {
		oldest := start[q]
		if m.n.sentences.Ordered() { // a quiet partition has no older ones
			for _, s := range start {
				oldest = min(oldest, s)
			}
		}
		all = append(all, replayMargin{q, from - oldest})
	}
	return all, nil
}

// measureMargins says when the topic has dropped what is in a window, so that only snapshots have it.
func (m *matcher) measureMargins(ctx context.Context) {
	margins, err := m.replayMargins(ctx)
	if err != nil {
		return // the turns of the workers say so
	}
	m.setMargins(margins)
	for _, one := range margins {
		if one.records < 0 {
			m.onlyCopy.Do(func() {
				m.n.log.Error("the sentence topic has dropped records that the window still has: after a start without a snapshot their "+
					"repeats are missed", "partition", one.partition, "records", -one.records, "snapshots", m.snapshots != nil,
					"hint", "let the topic keep sentences for longer")
			})
		}
	}
}

func (m *matcher) setMargins(all []replayMargin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.margins = all
}

func (m *matcher) observeMargins() error {
	meter := otel.Meter("refrain/shard")
	margin, err := meter.Int64ObservableGauge("refrain_shard_replay_margin_records",
		metric.WithDescription("How far below the oldest record that a partition's window needs the sentence topic begins, in "+
			"positions. Below 0 the topic has dropped what is in the window, and only snapshots have it."))
	if err != nil {
		return err
	}
	return m.n.observe(meter, func(_ context.Context, o metric.Observer) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, one := range m.margins {
			o.ObserveInt64(margin, one.records, metric.WithAttributes(attribute.Int("partition", one.partition)))
		}
		return nil
	}, margin)
}
