package shard

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/internal/sim"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
)

// route is split and some workers over in-process topics, with a clock of its own.
type route struct {
	tb                            testing.TB
	now                           time.Time
	sentences, events, tombstones *topic.Memory
	store                         *topic.MemoryStore
	split                         *split.Split
	log                           bytes.Buffer
}

func memoryOf(partitions int, ordered bool) *topic.Memory {
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Ordered = partitions, ordered
	return topic.NewMemory(cfg)
}

// newMemory is a topic whose partitions have an order each, newOrdered one in which they share one.
func newMemory(partitions int) *topic.Memory  { return memoryOf(partitions, false) }
func newOrdered(partitions int) *topic.Memory { return memoryOf(partitions, true) }

// newRoute is a route whose partitions share one order.
func newRoute(tb testing.TB, partitions int) *route {
	tb.Helper()
	return newRouteOver(tb, newOrdered(partitions))
}

func newRouteOver(tb testing.TB, sentences *topic.Memory) *route {
	tb.Helper()
	r := &route{tb: tb, now: time.UnixMilli(1_700_000_000_000).UTC(), store: &topic.MemoryStore{}}
	r.sentences = sentences
	r.events = topic.NewMemory(topic.DefaultMemory())
	r.tombstones = topic.NewMemory(topic.DefaultMemory())
	cfg := split.Default()
	cfg.Sentences, cfg.Control, cfg.Lateness, cfg.Now = r.sentences, r.tombstones, 5*time.Minute,
		func() time.Time { return r.now }
	s, err := split.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	r.split = s
	return r
}

func (r *route) config(owned ...int) Config {
	cfg := Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store, cfg.Owned = r.sentences, r.events, r.tombstones, r.store, owned
	cfg.Span, cfg.Lateness, cfg.Deployment = time.Hour, 5*time.Minute, feed.Deployment{Name: "test"}
	cfg.Poll, cfg.ControlPoll = time.Millisecond, time.Millisecond
	cfg.Rows = func(int) (Rows, error) {
		return sim.NewBrute(text.DefaultThreshold, cfg.Span, cfg.Lateness, sim.RetainAll), nil
	}
	cfg.Now, cfg.Logger = func() time.Time { return r.now }, slog.New(slog.NewTextHandler(&r.log, nil))
	return cfg
}

// mustOpen opens a worker whose first turn receives all that is there.
func (r *route) mustOpen(cfg Config) *Worker {
	r.tb.Helper()
	w, err := Open(context.Background(), cfg)
	if err != nil {
		r.tb.Fatal(err)
	}
	w.bound = maxTurnSentences
	r.tb.Cleanup(func() { w.Close() })
	return w
}

// key is where the present owner of a partition stores its states.
func (r *route) key(q int) string {
	return stateKey(q, must(readEpoch(context.Background(), r.store, q)))
}

func (r *route) mustStep(w *Worker) {
	r.tb.Helper()
	if err := w.Step(context.Background()); err != nil {
		r.tb.Fatal(err)
	}
}

// post writes a post of one sentence, so long after a time that lies well in the past.
func (r *route) post(id, words string, after time.Duration) {
	r.tb.Helper()
	p := feed.Post{ID: id, Text: words, Time: feed.Time(1_690_000_000_000).Add(after), Timed: true}
	r.now = r.now.Add(time.Second)
	if err := r.split.Write(context.Background(), []feed.Post{p}, "s"); err != nil {
		r.tb.Fatal(err)
	}
}

// out is what the event topic holds.
func (r *route) out() []string {
	r.tb.Helper()
	reader, err := r.events.OpenMemory(context.Background(), []int64{0})
	if err != nil {
		r.tb.Fatal(err)
	}
	records, err := reader.TryFetch(1 << 20)
	if err != nil {
		r.tb.Fatal(err)
	}
	all := []string{}
	for i := range records {
		all = append(all, string(records[i].Data))
	}
	return all
}

// ids are those of the events, each once.
func (r *route) ids() map[feed.Hash]bool {
	r.tb.Helper()
	ids := map[feed.Hash]bool{}
	for _, e := range r.out() {
		m, err := feed.DecodeEvent([]byte(e))
		if err != nil {
			r.tb.Fatal(err)
		}
		ids[m.ID] = true
	}
	return ids
}

const words = "one two three four five"

func TestOwners(t *testing.T) {
	if diff := cmp.Diff([][]int{{0, 2, 4}, {1, 3}}, Owners(5, 2)); diff != "" {
		t.Error(diff)
	}
}

func TestOpenWantsWhatItNeeds(t *testing.T) {
	_, err := Open(context.Background(), Config{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"sentence topic", "event topic", "store", "rows", "owned partition", "span"} {
		if !strings.Contains(err.Error(), "no "+want) {
			t.Errorf("%v does not mention %q", err, want)
		}
	}
	r := newRoute(t, 2)
	for _, owned := range [][]int{{2}, {-1}, {1, 1}} {
		if _, err := Open(context.Background(), r.config(owned...)); err == nil {
			t.Errorf("partitions %v owned: no error", owned)
		}
	}
}

// fullTopic takes no records.
type fullTopic struct{ topic.Topic }

func (fullTopic) Append(context.Context, []topic.Record) error { return errors.New("broken") }

// brokenTopic has a record and cannot be read.
type brokenTopic struct{ topic.Topic }

func (brokenTopic) Bounds(context.Context) (start, end []int64, err error) {
	return []int64{0}, []int64{1}, nil
}

func (brokenTopic) Open(context.Context, []int64) (topic.Reader, error) {
	return nil, errors.New("broken")
}

// TestRowsAreAskedForOnce: rows made beforehand outlive an Open and a turn that fail.
func TestRowsAreAskedForOnce(t *testing.T) {
	r := newRoute(t, 2)
	var requested []int
	cfg := r.config(1, 0)
	rows := []Rows{must(cfg.Rows(0)), must(cfg.Rows(1))}
	cfg.Rows = func(q int) (Rows, error) {
		requested = append(requested, q)
		return rows[q], nil
	}
	broken := cfg
	broken.Control = brokenTopic{r.tombstones}
	if _, err := Open(context.Background(), broken); err == nil {
		t.Fatal("opened without its control topic")
	}
	broken = cfg
	broken.Events = fullTopic{r.events}
	w := r.mustOpen(broken)
	r.post("a", words, 0)
	r.post("b", words, time.Minute)
	if err := w.Step(context.Background()); err == nil {
		t.Fatal("the turn does not fail")
	}
	w.outbox.topic = r.events
	r.mustStep(w)
	if n := len(r.out()); n != 1 {
		t.Errorf("got %d events, want that of b", n)
	}
	if diff := cmp.Diff([]int{1, 0, 1, 0}, requested); diff != "" {
		t.Errorf("rows asked for: %s", diff)
	}
}

// TestLocked: a look-up waits for whoever has the rows, and only for those of his partition.
func TestLocked(t *testing.T) {
	r := newRoute(t, 2)
	w := r.mustOpen(r.config(0, 1))
	matched := make(chan error)
	w.Locked(0, func() {
		w.Locked(1, func() {})
		go func() {
			matched <- w.EachMatch(context.Background(), &feed.Sentence{}, text.DefaultThreshold, func(*feed.Match) {})
		}()
		select {
		case <-matched:
			t.Error("looked up in rows that are in use")
		case <-time.After(10 * time.Millisecond):
		}
	})
	if err := <-matched; err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestPartitionsCannotChange: rows of four partitions are not those of two.
func TestPartitionsCannotChange(t *testing.T) {
	r := newRoute(t, 4)
	r.post("a", words, 0)
	r.mustStep(r.mustOpen(r.config(0, 1, 2, 3)))
	fewer := newRoute(t, 2)
	fewer.store = r.store
	_, err := Open(context.Background(), fewer.config(0))
	if err == nil || !strings.Contains(err.Error(), "number of partitions") {
		t.Errorf("got %v", err)
	}
}

// TestHolds: the rows of q are ready for x when they reach the end that was reported after x came, or a record
// stamped more than δ after it; never before somebody has asked.
func TestHolds(t *testing.T) {
	const second = int64(time.Second)
	x := &item{stamp: 100 * second, ends: []int64{5, 8}}
	for _, test := range []struct {
		insert, stamp int64
		want          bool
	}{{7, 100, false}, {8, 100, true}, {7, 110, false}, {7, 111, true}} {
		q := &partition{id: 1, insert: test.insert, stamp: test.stamp * second}
		if got := q.holds(x, 10*time.Second); got != test.want {
			t.Errorf("inserted to %d, stamp %d: got %v", test.insert, test.stamp, got)
		}
	}
}

// TestLostWindow: retention has dropped records that the window needs. The worker warns and goes on.
func TestLostWindow(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := newRouteOver(t, memoryOf(1, ordered))
		r.post("a", words, 0)
		w := r.mustOpen(r.config(0))
		r.mustStep(w)
		r.post("b", words, time.Minute)
		r.sentences.Truncate(0, 2)
		if r.log.Len() > 0 {
			t.Errorf("logged too early: %s", &r.log)
		}
		w = r.mustOpen(r.config(0))
		if !strings.Contains(r.log.String(), "records of the window are lost") {
			t.Errorf("ordered %v: logged %q", ordered, &r.log)
		}
		r.post("c", words, 2*time.Minute)
		r.mustStep(w)
		r.post("d", words, 3*time.Minute)
		r.mustStep(w)
		if n := len(r.out()); n != 1 {
			t.Errorf("ordered %v: got %d events, want that of d", ordered, n)
		}
	}
}

// TestQuietPartitionIsNotLost: where partitions share one order, look-ups stand beyond the end of a quiet one. After
// a restart that is no loss, and one that is has to be logged.
func TestQuietPartitionIsNotLost(t *testing.T) {
	r := newRoute(t, 4)
	for i := range 8 { // of one text, so in one partition
		r.post(fmt.Sprint(i), words, time.Duration(i)*time.Minute)
	}
	w := r.mustOpen(r.config(0, 1, 2, 3))
	for range 3 {
		r.now = r.now.Add(time.Minute) // the state is due
		r.mustStep(w)
	}
	r.mustOpen(r.config(0, 1, 2, 3))
	if r.log.Len() > 0 {
		t.Errorf("nothing is lost, and yet: %s", &r.log)
	}
	r.sentences = newOrdered(4)
	r.mustOpen(r.config(0, 1, 2, 3))
	if !strings.Contains(r.log.String(), "lost records that were acknowledged") {
		t.Errorf("everything is lost, and all that is said is %q", &r.log)
	}
}

// TestLostWhileReading: the same, seen by a reader that was overtaken.
func TestLostWhileReading(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	w := r.mustOpen(r.config(0))
	r.mustStep(w)
	r.post("a", words, 0)
	r.post("b", words, time.Minute)
	r.sentences.Truncate(0, 1)
	r.mustStep(w)
	r.mustStep(w)
	if !strings.Contains(r.log.String(), "records of the window are lost") {
		t.Errorf("logged %q", &r.log)
	}
	r.post("c", words, 2*time.Minute)
	r.mustStep(w)
	if n := len(r.out()); n != 1 {
		t.Errorf("got %d events, want c's with b", n)
	}
}

// TestUnreadableRecord: one that no reading mends is left out loudly; one of a newer program stops the worker.
func TestUnreadableRecord(t *testing.T) {
	r := newRoute(t, 1)
	mustAppend := func(data []byte) {
		if err := r.sentences.Append(context.Background(), []topic.Record{{Data: data}}); err != nil {
			t.Fatal(err)
		}
	}
	r.post("a", words, 0)
	mustAppend([]byte("RB\x02 nonsense"))
	r.post("b", words, time.Minute)
	newer := (&topic.Batch{}).Append(nil)
	newer[2] = 99
	mustAppend(newer)
	w := r.mustOpen(r.config(0))
	r.mustStep(w)
	if n := len(r.out()); n != 1 || !strings.Contains(r.log.String(), "unreadable sentence record") {
		t.Errorf("got %d events, log %q", n, &r.log)
	}
	if err := w.Run(context.Background()); !errors.Is(err, topic.ErrBatchFormat) {
		t.Errorf("got %v, want ErrBatchFormat", err)
	}
}

func TestDeletedPosts(t *testing.T) {
	r := newRoute(t, 2)
	w := r.mustOpen(r.config(0, 1))
	r.post("a", words, 0)
	r.mustStep(w)
	if err := r.split.Delete(context.Background(), []feed.Tombstone{{Post: "a"}, {Post: "c"}}); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Minute)
	r.mustStep(w)
	r.post("b", words, time.Minute)   // a is gone
	r.post("c", words, 2*time.Minute) // deleted before it came
	r.mustStep(w)
	want := func(posts ...string) {
		t.Helper()
		out := r.out()
		if len(out) != len(posts) {
			t.Fatalf("got %d events, want retractions of %v: %s", len(out), posts, out)
		}
		for i, post := range posts {
			if !strings.Contains(out[i], feed.RetractedType) || !strings.Contains(out[i], fmt.Sprintf(`"post":%q`, post)) {
				t.Errorf("got %s, want the retraction of %q", out[i], post)
			}
		}
	}
	want("a", "c")
	if !w.Deleted(feed.Name{Post: "a"}, r.now) || w.Deleted(feed.Name{Post: "b"}, r.now) {
		t.Error("the worker does not know what is deleted")
	}
	// After a restart the tombstones hold, and are not retracted again.
	w = r.mustOpen(r.config(0, 1))
	r.mustStep(w)
	want("a", "c")
	r.post("d", words, 3*time.Minute)
	r.mustStep(w)
	if out := r.out(); len(out) != 3 || !strings.Contains(out[2], `"post":"b"`) {
		t.Errorf("got %s, want d to repeat b alone", out)
	}
}

func TestMatchStoresNothing(t *testing.T) {
	r := newRoute(t, 3)
	w := r.mustOpen(r.config(0, 1, 2))
	r.post("a", words, 0)
	r.mustStep(w)
	var s text.Splitter
	asked, _ := s.Sentences(nil, &feed.Post{ID: "?", Text: words, Time: 1_690_000_000_000 + 60_000}, 4)
	for range 2 {
		got := 0
		if err := w.EachMatch(context.Background(), &asked[0], text.DefaultThreshold, func(*feed.Match) { got++ }); err != nil || got != 1 {
			t.Errorf("got %d matches, error %v, want 1", got, err)
		}
	}
	if n := len(r.out()); n > 0 {
		t.Errorf("%d events", n)
	}
}

// TestRunGoesOnUntilTold lets workers run as a process does, and waits for what they were given.
func TestRunGoesOnUntilTold(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := newRouteOver(t, memoryOf(4, ordered))
		var logs [2]bytes.Buffer
		again := must(NewRedeliveries(RedeliveryConfig{Partitions: 4, Within: time.Hour, Logger: slog.New(slog.DiscardHandler)}))
		ctx, stop := context.WithCancel(context.Background())
		var workers []*Worker
		ended := make(chan error, 2)
		for i, owned := range Owners(4, 2) {
			cfg := r.config(owned...)
			cfg.Now, cfg.Logger, cfg.Parallel = time.Now, slog.New(slog.NewTextHandler(&logs[i], nil)), true
			cfg.Commit, cfg.Redeliveries = time.Hour, again // only the end stores
			w := r.mustOpen(cfg)
			workers = append(workers, w)
			go func() { ended <- w.Run(ctx) }()
		}
		for i := range 50 {
			r.post(fmt.Sprint("p", i), words, time.Duration(i)*time.Second)
		}
		_, ends, err := r.sentences.Bounds(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			if err := w.WaitFor(ctx, ends); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(r.ids()); n != 49 {
			t.Errorf("ordered %v: got %d events, want 49", ordered, n)
		}
		stop()
		for range workers {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := workers[0].WaitFor(ctx, []int64{1 << 40, 0, 0, 0}); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for what never comes: got %v", err)
		}
		data, err := r.store.Get(context.Background(), r.key(3))
		if err != nil || data == nil {
			t.Fatalf("no state stored: %v", err)
		}
		if s, err := DecodeState(data); err != nil || s.LookupFrom[3] != ends[3] && !ordered {
			t.Errorf("got %+v, %v, want everything looked up: %v", s, err, ends)
		}
	}
}

// TestReplayFromFollowsTheWindow: what has left the window is not replayed.
func TestReplayFromFollowsTheWindow(t *testing.T) {
	r := newRoute(t, 1)
	w := r.mustOpen(r.config(0))
	for i := range 200 {
		r.post(fmt.Sprint("p", i), words, time.Duration(i)*time.Minute)
		r.mustStep(w)
	}
	q := w.owned[0]
	clock, _ := q.state.Watermarks.Clock()
	horizon := clock.Add(-65 * time.Minute)
	if n := len(q.window); n < 65 || n > 70 || q.window[0].newest < horizon {
		t.Errorf("%d records in the window, the first at %v, want those from %v on", n, q.window[0].newest, horizon)
	}
	if got, want := q.state.ReplayFrom, q.window[0].position; got != want || got == 0 {
		t.Errorf("replay from %d, want %d", got, want)
	}
}

// send writes a post without a time, as one that has had no answer does again.
func (r *route) send(id, words string) {
	r.tb.Helper()
	r.now = r.now.Add(time.Second)
	if err := r.split.Write(context.Background(), []feed.Post{{ID: id, Text: words}}, "s"); err != nil {
		r.tb.Fatal(err)
	}
}

// TestRetryAfterRestart: a post without a time that is sent again changes nothing, whoever has started anew in between;
// beyond Redelivery it is a further version.
func TestRetryAfterRestart(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := newRouteOver(t, memoryOf(4, ordered))
		restart := func() {
			t.Helper()
			w := r.mustOpen(r.config(0, 1, 2, 3))
			for range 3 {
				r.mustStep(w)
			}
		}
		want := func(events int) {
			t.Helper()
			if n := len(r.ids()); n != events {
				t.Errorf("ordered %v: %d events, want %d: %s", ordered, n, events, r.out())
			}
		}
		const near = words + " six"
		r.send("first", words)
		restart()
		r.send("second", near)
		for range 3 {
			r.now = r.now.Add(40 * time.Minute)
			r.send("first", words)
			restart()
			r.send("second", near)
			restart()
		}
		want(1) // second repeats first
		r.now = r.now.Add(70 * time.Minute)
		r.send("second", near)
		r.send("first", words)
		restart()
		want(2) // first repeats second
		if r.log.Len() > 0 {
			t.Errorf("logged %s", &r.log)
		}
	}
}

// TestHearingTruncated: the topic has dropped what only redeliveries are known by. That is logged, and is no loss of
// the window.
func TestHearingTruncated(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := newRouteOver(t, memoryOf(1, ordered))
		w := r.mustOpen(r.config(0))
		for i := range 100 { // the window is an hour, and redeliveries are known for another
			r.now = r.now.Add(2 * time.Minute)
			r.send(fmt.Sprint(i), words+fmt.Sprint(i%50))
			r.mustStep(w)
		}
		state := w.owned[0].state
		if h := state.ObserveFrom[0].position; h == 0 || h >= state.ReplayFrom {
			t.Fatalf("hear from %d, replay from %d", h, state.ReplayFrom)
		}
		r.sentences.Truncate(0, state.ReplayFrom)
		w = r.mustOpen(r.config(0))
		if log := r.log.String(); !strings.Contains(log, "taken for further versions") ||
			strings.Contains(log, "window are lost") {
			t.Errorf("ordered %v: logged %q", ordered, log)
		}
		before := len(r.out())
		r.send("100", words+"49")
		r.mustStep(w)
		if n := len(r.out()) - before; n == 0 {
			t.Errorf("ordered %v: no event", ordered)
		}
	}
}

// TestRetryOfAFastClock: a post is dated 90 s ahead, and sent again when that is no longer the future.
func TestRetryOfAFastClock(t *testing.T) {
	r := newRoute(t, 4)
	w := r.mustOpen(r.config(0, 1, 2, 3))
	created := feed.FromTime(r.now.Add(90 * time.Second))
	send := func(id, words string) {
		t.Helper()
		if err := r.split.Write(context.Background(), []feed.Post{{ID: id, Text: words, Time: created, Timed: true}},
			"s"); err != nil {
			t.Fatal(err)
		}
		r.now = r.now.Add(time.Second)
		r.mustStep(w)
	}
	send("first", words)
	send("second", words+" six")
	r.now = r.now.Add(40 * time.Second)
	send("first", words)
	send("second", words+" six")
	if out := r.out(); len(out) != 1 || !strings.Contains(out[0], `"post":"second"`) {
		t.Errorf("got %s, want that second repeats first", out)
	}
}

// TestDamagedControlRecord: it is left out loudly, and the next ones count.
func TestDamagedControlRecord(t *testing.T) {
	r := newRoute(t, 1)
	damaged := topic.AppendTombstones(nil, []feed.Tombstone{{Post: "a"}})
	damaged[5] ^= 1
	good := topic.AppendTombstones(nil, []feed.Tombstone{{Post: "b"}})
	if err := r.tombstones.Append(t.Context(), []topic.Record{{Data: damaged}, {Data: good}}); err != nil {
		t.Fatal(err)
	}
	w := r.mustOpen(r.config(0))
	r.mustStep(w)
	a, b := w.Deleted(feed.Name{Post: "a"}, r.now), w.Deleted(feed.Name{Post: "b"}, r.now)
	if !strings.Contains(r.log.String(), "unreadable control record") || a || !b {
		t.Errorf("a deleted %v, b %v, logged %q", a, b, &r.log)
	}
}

// TestDamagedState: a partition whose state is damaged begins with the oldest record, loudly; one of another version
// stops the worker.
func TestDamagedState(t *testing.T) {
	r := newRoute(t, 1)
	r.post("a", words, 0)
	w := r.mustOpen(r.config(0))
	r.now = r.now.Add(time.Minute)
	r.mustStep(w)
	state, err := r.store.Get(t.Context(), r.key(0))
	if err != nil || state == nil {
		t.Fatal(state, err)
	}
	state[7] ^= 1
	put := func(data []byte) {
		if err := r.store.Put(t.Context(), r.key(0), data); err != nil {
			t.Fatal(err)
		}
	}
	put(state)
	w = r.mustOpen(r.config(0))
	if !strings.Contains(r.log.String(), "a stored state cannot be read") {
		t.Errorf("logged %q", &r.log)
	}
	r.post("b", words, time.Minute)
	r.mustStep(w)
	if n := len(r.out()); n != 1 {
		t.Errorf("%d events", n)
	}
	newer := []byte("RS\x03")
	put(binary.LittleEndian.AppendUint64(newer, xxh3.Hash(newer)))
	if _, err := Open(t.Context(), r.config(0)); !errors.Is(err, errStateFormat) {
		t.Errorf("a newer state: %v", err)
	}
}
