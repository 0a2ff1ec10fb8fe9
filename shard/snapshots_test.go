package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/chunks"
	"refrain/sigstore"
	"refrain/text"
	"refrain/topic"
)

// snapshotConfig writes a snapshot after so many sentences, while the turn waits.
func (r *route) snapshotConfig(files SnapshotFiles, writer string) SnapshotConfig {
	cfg := DefaultSnapshots()
	cfg.Files, cfg.Writer, cfg.MinSentences, cfg.MinPause, cfg.InTurn = files, writer, 20, 0, true
	cfg.Now, cfg.Logger = func() time.Time { return r.now }, r.config(0).Logger
	return cfg
}

// withSnapshots is a configuration with real rows and snapshots, which says what is inserted.
func (r *route) withSnapshots(snapshots SnapshotConfig, inserted map[string]int) Config {
	cfg, rows := r.config(0), detectorRows(r.tb)
	cfg.Rows = func(int) (Rows, error) {
		inner, err := rows(text.DefaultThreshold, cfg.Span, cfg.Lateness)
		return &insertions{Rows: inner, inserted: inserted}, err
	}
	cfg.Snapshots = must(NewSnapshots(snapshots))
	r.tb.Cleanup(cfg.Snapshots.Close)
	return cfg
}

func mustFolder(tb testing.TB, path string) *SnapshotFolder {
	tb.Helper()
	return must(OpenSnapshotFolder(path))
}

// mustOpenIn opens a worker with snapshots in a directory. inserted counts the insertions of each post.
func (r *route) mustOpenIn(path, writer string) (w *Worker, inserted map[string]int) {
	r.tb.Helper()
	inserted = map[string]int{}
	return r.mustOpen(r.withSnapshots(r.snapshotConfig(mustFolder(r.tb, path), writer), inserted)), inserted
}

// posts writes posts of which every second one repeats the one before.
func (r *route) posts(from, to int) {
	r.tb.Helper()
	for i := from; i < to; i++ {
		r.post(fmt.Sprint("p", i), fmt.Sprintf("a%d b%[1]d c%[1]d d%[1]d e%[1]d", i/2), time.Duration(i)*time.Second)
	}
}

// topics are those of a Kafka cluster and of a JetStream server, as far as workers see it.
var topics = map[string]func(int) *topic.Memory{"ordered": newOrdered, "unordered": newMemory}

// TestRestartFromSnapshot: what was captured is not inserted again, what came since is, and what comes then finds both.
func TestRestartFromSnapshot(t *testing.T) {
	for name, topics := range topics {
		t.Run(name, func(t *testing.T) {
			r, folder := newRouteOver(t, topics(1)), mustFolder(t, t.TempDir())
			first := r.mustOpen(r.withSnapshots(r.snapshotConfig(folder, "a"), map[string]int{}))
			r.posts(0, 100)
			r.mustStep(first)
			r.posts(100, 110)
			r.mustStep(first)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			inserted := map[string]int{}
			second := r.mustOpen(r.withSnapshots(r.snapshotConfig(folder, "b"), inserted))
			r.posts(110, 140)
			r.post("again", "a5 b5 c5 d5 e5", 150*time.Second)
			for range 3 {
				r.mustStep(second)
			}
			for i := range 140 {
				if n, want := inserted[fmt.Sprint("p", i)], i/100; n != want {
					t.Fatalf("p%d was inserted %d times after the restart, want %d\n%s", i, n, want, &r.log)
				}
			}
			if got, want := len(r.ids()), 70+1; got != want {
				t.Errorf("%d events, want %d", got, want)
			}
		})
	}
}

// TestSnapshotsAreNoRisk: whatever is wrong with the files, the events are the same. The newest snapshot that is sound counts.
func TestSnapshotsAreNoRisk(t *testing.T) {
	heads := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, headKind) })
	}
	damage := map[string]struct {
		do       func(path string, names []string) error
		inserted int // of 100 posts, after the restart
		log      string
	}{
		"none":         {func(string, []string) error { return nil }, 0, ""},
		"last flipped": {func(path string, names []string) error { return flipBit(filepath.Join(path, heads(names)[1])) }, 40, "checksum mismatch"},
		"last short":   {func(path string, names []string) error { return os.Truncate(filepath.Join(path, heads(names)[1]), 100) }, 40, "cut short"},
		"last empty":   {func(path string, names []string) error { return os.Truncate(filepath.Join(path, heads(names)[1]), 0) }, 40, "cut short"},
		"all flipped": {func(path string, names []string) error {
			return errors.Join(flipBit(filepath.Join(path, heads(names)[0])), flipBit(filepath.Join(path, heads(names)[1])))
		}, 100, "checksum mismatch"},
		"another format": {func(path string, names []string) error {
			for _, n := range names {
				if err := put(filepath.Join(path, n), 4, 99); err != nil {
					return err
				}
			}
			return nil
		}, 100, "format 99"},
		"no files": {func(path string, names []string) error { return os.RemoveAll(path) }, 100, ""},
	}
	for name, d := range damage {
		t.Run(name, func(t *testing.T) {
			r, path := newRouteOver(t, newMemory(1)), filepath.Join(t.TempDir(), "snapshots")
			first, _ := r.mustOpenIn(path, "a")
			r.posts(0, 60)
			r.mustStep(first)
			r.posts(60, 100)
			r.mustStep(first)
			first.Close()
			names := must(mustFolder(t, path).Names())
			if len(heads(names)) != 2 {
				t.Fatalf("files %v: want two heads\n%s", names, &r.log)
			}
			if err := d.do(path, names); err != nil {
				t.Fatal(err)
			}
			second, inserted := r.mustOpenIn(path, "b")
			r.post("again", "a5 b5 c5 d5 e5", 150*time.Second)
			for range 3 {
				r.mustStep(second)
			}
			delete(inserted, "again")
			if len(inserted) != d.inserted || len(r.ids()) != 51 || !strings.Contains(r.log.String(), d.log) {
				t.Errorf("%d inserted, want %d; %d events; log:\n%s", len(inserted), d.inserted, len(r.ids()), &r.log)
			}
		})
	}
}

// put changes a byte of a file.
func put(path string, at int, value byte) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[at] = value
	return os.WriteFile(path, data, 0o600)
}

func flipBit(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return put(path, len(data)/2, data[len(data)/2]^4)
}

// TestSnapshotIsOfThisWindow: one of other topics, another number of partitions, or another text version is not used.
func TestSnapshotIsOfThisWindow(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	path := t.TempDir()
	first, _ := r.mustOpenIn(path, "a")
	r.posts(0, 60)
	r.mustStep(first)
	first.Close()
	reopen := func(r *route, change func(*Config)) (inserted map[string]int) {
		inserted = map[string]int{}
		cfg := r.withSnapshots(r.snapshotConfig(mustFolder(t, path), "b"), inserted)
		change(&cfg)
		w := r.mustOpen(cfg)
		r.posts(60, 61)
		r.mustStep(w)
		w.Close()
		return inserted
	}
	if n := len(reopen(r, func(c *Config) { c.TextVersion = 7 })); n != 61 {
		t.Errorf("another version: %d inserted, want all 61", n)
	}
	spans := func(c *Config) {
		c.Rows = func(int) (Rows, error) { return detectorRows(t)(text.DefaultThreshold, 2*c.Span, c.Lateness) }
	}
	if reopen(r, spans); !strings.Contains(r.log.String(), sigstore.ErrOther.Error()) {
		t.Errorf("another span: %s", &r.log)
	}
	other := newRouteOver(t, newMemory(2))
	if n := len(reopen(other, func(*Config) {})); n > 1 || !strings.Contains(other.log.String(), "partition 0 of 1") {
		t.Errorf("another deployment: %d inserted, log %s", n, &other.log)
	}
}

// TestOnlyCopy: what the topic has dropped too early is in the snapshot still.
func TestOnlyCopy(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	path := t.TempDir()
	first, _ := r.mustOpenIn(path, "a")
	r.posts(0, 60)
	r.mustStep(first)
	first.Close()
	r.sentences.Expire(r.now.Add(time.Hour))
	second, _ := r.mustOpenIn(path, "b")
	r.post("again", "a5 b5 c5 d5 e5", 150*time.Second)
	r.mustStep(second)
	if n := len(r.ids()); n != 31 || strings.Contains(r.log.String(), "are lost") {
		t.Errorf("%d events, want 31; log %s", n, &r.log)
	}
	second.Close()
	third := r.mustOpen(r.config(0)) // without it they are lost, and that is said
	r.mustStep(third)
	if !strings.Contains(r.log.String(), "records of the window are lost") {
		t.Errorf("log %s", &r.log)
	}
}

// TestOldSnapshot: what came after a snapshot and has left the window is not asked for, nor missed where it is purged.
func TestOldSnapshot(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	path := t.TempDir()
	once := r.snapshotConfig(mustFolder(t, path), "a")
	once.MinPause = 24 * time.Hour
	first := r.mustOpen(r.withSnapshots(once, map[string]int{}))
	first.owned[0].snapshots.begun = time.Time{}
	r.posts(0, 60)
	r.mustStep(first)
	for i := range 30 {
		r.post(fmt.Sprint("later", i), fmt.Sprintf("v%d w%[1]d x%[1]d y%[1]d z%[1]d", i), time.Duration(i)*time.Hour)
		r.now = r.now.Add(time.Minute)
		r.split.Tick(context.Background(), r.now)
		r.mustStep(first)
	}
	if err := r.sentences.Purge(context.Background(), []int64{first.owned[0].state.ReplayFrom}); err != nil {
		t.Fatal(err)
	}
	first.Close()
	second, inserted := r.mustOpenIn(path, "b")
	r.post("again", "v29 w29 x29 y29 z29", 29*time.Hour+time.Minute)
	r.mustStep(second)
	if len(inserted) > 5 || len(r.ids()) != 31 || strings.Contains(r.log.String(), "are lost") {
		t.Errorf("%d inserted, %d events, want 31; log %s", len(inserted), len(r.ids()), &r.log)
	}
}

// TestTwoOwnersOfOneFolder: one that goes on with what it has lost removes nothing of its successor's, and the successor
// removes what it left.
func TestTwoOwnersOfOneFolder(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	path := t.TempDir()
	zombie, _ := r.mustOpenIn(path, "a")
	r.posts(0, 60)
	r.mustStep(zombie)
	owner, _ := r.mustOpenIn(path, "b")
	for i := 60; i < 360; i += 30 {
		r.posts(i, i+30)
		r.mustStep(owner)
		r.mustStep(zombie)
	}
	owner.Close()
	zombie.Close()
	for _, name := range must(mustFolder(t, path).Names()) {
		if n, ok := parseFileName(name); !ok || n.writer == "a" && n.number == 1 {
			t.Errorf("%s is still there", name)
		}
	}
	third, inserted := r.mustOpenIn(path, "c")
	r.mustStep(third)
	if len(inserted) > 0 || strings.Contains(r.log.String(), "not used") {
		t.Errorf("%d inserted again; log %s", len(inserted), &r.log)
	}
}

// TestSnapshotsAside writes snapshots by a goroutine while turns go on, and closes in the middle.
func TestSnapshotsAside(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	path := t.TempDir()
	cfg := r.snapshotConfig(mustFolder(t, path), "a")
	cfg.InTurn = false
	c := r.withSnapshots(cfg, map[string]int{})
	w := r.mustOpen(c)
	for i := 0; i < 2000; i += 50 {
		r.posts(i, i+50)
		r.mustStep(w)
	}
	c.Snapshots.running.Wait()
	w.Close()
	c.Snapshots.Close()
	second, inserted := r.mustOpenIn(path, "b")
	r.mustStep(second)
	if len(inserted) >= 1950 || len(r.ids()) != 1000 {
		t.Errorf("%d inserted again, %d events; log %s", len(inserted), len(r.ids()), &r.log)
	}
}

// TestRestoredStatesKnowTheWholeWindow: what is stored after a restart from a snapshot may be replayed from the topic, too.
func TestRestoredStatesKnowTheWholeWindow(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	path := t.TempDir()
	configOf := func(writer string) Config {
		cfg := r.withSnapshots(r.snapshotConfig(mustFolder(t, path), writer), map[string]int{})
		cfg.Redelivery = 10 * time.Minute // much less than the span
		return cfg
	}
	first := r.mustOpen(configOf("a"))
	for i := range 60 {
		r.now = r.now.Add(time.Minute)
		if err := r.split.Write(context.Background(), []feed.Post{{ID: fmt.Sprint("u", i), Text: words}}, "s"); err != nil {
			t.Fatal(err)
		}
		r.mustStep(first)
	}
	before := must(ReadState(context.Background(), r.store, 0))
	first.Close()
	second := r.mustOpen(configOf("b"))
	if second.owned[0].snapshots.observe == nil {
		t.Fatalf("not restored: %s", &r.log)
	}
	r.post("more", words, 0)
	r.mustStep(second)
	after := must(ReadState(context.Background(), r.store, 0))
	if got, want := after.ObserveFrom[0], before.ObserveFrom[0]; got != want || after.ReplayFrom != before.ReplayFrom {
		t.Errorf("observed from %+v and replayed from %d, want %+v and %d", got, after.ReplayFrom, want, before.ReplayFrom)
	}
}

// brokenFiles cannot be written.
type brokenFiles struct{ SnapshotFiles }

var errNoRoom = errors.New("no room")

func (brokenFiles) Write(string, func(io.Writer) error) error { return errNoRoom }

// TestSnapshotsThatCannotBeWritten change nothing, and are said.
func TestSnapshotsThatCannotBeWritten(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	w := r.mustOpen(r.withSnapshots(r.snapshotConfig(brokenFiles{mustFolder(t, t.TempDir())}, "a"), map[string]int{}))
	r.posts(0, 60)
	r.mustStep(w)
	if n := len(r.ids()); n != 30 || !strings.Contains(r.log.String(), "no room") {
		t.Errorf("%d events; log %s", n, &r.log)
	}
}

func TestFileNames(t *testing.T) {
	want := fileName{12, 1 << 40, "0a1b", 7, headKind}
	if got, ok := parseFileName(want.String()); !ok || got != want {
		t.Errorf("%v, %v", got, ok)
	}
	for _, other := range []string{"", "x", ".unfinished-12", "1-2-a-3.tmp", "1-2-a-3.head.old", "01-2-a-3.head", "1-2-a-3"} {
		if _, ok := parseFileName(other); ok {
			t.Errorf("%q is a file of ours", other)
		}
	}
}

func someHead() *snapshotHead {
	return &snapshotHead{
		partition: 1, lookupFrom: []int64{5, 9}, textVersion: 3, known: true, clock: 77, sentenceTopic: "s", controlTopic: "c",
		insert: 9, stamp: 1e18, deletedTo: 4,
		observe: snapshotPoint{observePoint{8, 1e17}, []step{{1, 2, 3, true}, {4, 5, 6, false}}},
		window:  []windowRecord{{3, 50}, {5, 70}}, young: []youngSentence{{1e18, 1, 2, 3, 4}},
	}
}

// FuzzHead: no bytes make the decoder panic; what it takes for a head is written as it was.
func FuzzHead(f *testing.F) {
	f.Add(someHead().append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHead(data)
		if err != nil {
			if !errors.Is(err, chunks.ErrDamaged) {
				t.Error(err)
			}
			return
		}
		if again, err := decodeHead(h.append(nil)); err != nil || !bytes.Equal(again.append(nil), h.append(nil)) {
			t.Errorf("%v: %+v, want %+v", err, again, h)
		}
	})
}

// TestSnapshotFits: the state has to be as new as the snapshot, and the topics as they were.
func TestSnapshotFits(t *testing.T) {
	sentences, control := newMemory(2), newMemory(1)
	for range 10 {
		if err := errors.Join(sentences.Append(context.Background(), []topic.Record{{Partition: 0}, {Partition: 1}}),
			control.Append(context.Background(), []topic.Record{{}})); err != nil {
			t.Fatal(err)
		}
	}
	x := &extent{sentences: reach{name: "sentence topic", topic: sentences}, control: reach{name: "control topic", topic: control}}
	for _, r := range []*reach{&x.sentences, &x.control} {
		r.start, r.end, _ = r.topic.Bounds(context.Background())
	}
	tests := map[string]struct {
		change func(*snapshotHead, *State)
		want   string
	}{
		"as stored":      {func(*snapshotHead, *State) {}, ""},
		"newer state":    {func(_ *snapshotHead, s *State) { s.LookupFrom[0]++; s.Watermarks.clock++ }, ""},
		"rows ahead":     {func(h *snapshotHead, _ *State) { h.insert = 10 }, ""},
		"older state":    {func(_ *snapshotHead, s *State) { s.LookupFrom[0]-- }, "newer than the state"},
		"older clock":    {func(_ *snapshotHead, s *State) { s.Watermarks.clock-- }, "clock is ahead"},
		"no clock":       {func(_ *snapshotHead, s *State) { s.Watermarks.known = false }, "clock is ahead"},
		"partition":      {func(_ *snapshotHead, s *State) { s.Partition = 0 }, "partition 1"},
		"partitions":     {func(h *snapshotHead, _ *State) { h.lookupFrom = h.lookupFrom[:1] }, "of 1"},
		"rows lost":      {func(h *snapshotHead, _ *State) { h.insert = 11 }, "sentence topic"},
		"tombstone lost": {func(h *snapshotHead, _ *State) { h.deletedTo = 11 }, "control topic"},
		"other topic":    {func(h *snapshotHead, _ *State) { h.sentenceTopic = "x" }, "sentence topic"},
		"other version":  {func(h *snapshotHead, _ *State) { h.textVersion = 4 }, "version 4"},
	}
	for name, test := range tests {
		h, s := someHead(), newState(1, []int64{0, 0})
		h.sentenceTopic, h.controlTopic = sentences.Lineage().Current(), control.Lineage().Current()
		s.LookupFrom, s.Watermarks.clock, s.Watermarks.known = []int64{5, 9}, 77, true
		test.change(h, s)
		err := h.checkFits(s, x, 3)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestOpensFilesOnly: what has taken the place of a piece neither holds a start up nor is read.
func TestOpensFilesOnly(t *testing.T) {
	path := t.TempDir()
	folder := mustFolder(t, path)
	if err := errors.Join(os.Mkdir(filepath.Join(path, "directory"), 0o700), os.Symlink("/dev/zero", filepath.Join(path, "link")),
		syscall.Mkfifo(filepath.Join(path, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"directory", "link", "pipe", "nothing"} {
		if f, err := folder.Open(name); err == nil {
			f.Close()
			t.Errorf("%s is opened", name)
		}
	}
}
