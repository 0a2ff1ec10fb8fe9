package split

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/topic"
)

// bench is a Split on an in-process topic with a clock of its own.
type bench struct {
	tb    testing.TB
	topic *topic.Memory
	now   time.Time
	split *Split
}

func newBench(tb testing.TB, partitions int) *bench {
	tb.Helper()
	b := &bench{tb: tb, now: time.UnixMilli(1_700_000_000_000).UTC()}
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Ordered = partitions, true
	b.topic = topic.NewMemory(cfg)
	b.split = b.mustNew(b.topic)
	return b
}

func (b *bench) mustNew(sentences topic.Topic) *Split {
	b.tb.Helper()
	cfg := Default()
	cfg.Sentences, cfg.Control, cfg.Lateness, cfg.Now = sentences, b.topic, 5*time.Minute, func() time.Time { return b.now }
	s, err := New(cfg)
	if err != nil {
		b.tb.Fatal(err)
	}
	return s
}

func (b *bench) write(posts ...feed.Post) []feed.Post {
	b.tb.Helper()
	if err := b.split.Write(context.Background(), posts, "s"); err != nil {
		b.tb.Fatal(err)
	}
	return posts
}

// batches returns what is in the topic from a position on, in order.
func (b *bench) batches(from int64) []topic.Batch {
	b.tb.Helper()
	positions := make([]int64, b.topic.Partitions())
	for p := range positions {
		positions[p] = from
	}
	r, err := b.topic.OpenMemory(context.Background(), positions)
	if err != nil {
		b.tb.Fatal(err)
	}
	records, err := r.TryFetch(1 << 20)
	if err != nil {
		b.tb.Fatal(err)
	}
	var all []topic.Batch
	for i := range records {
		batch, err := topic.DecodeBatch(records[i].Data)
		if err != nil {
			b.tb.Fatal(err)
		}
		for j := range batch.Sentences {
			if got := batch.Sentences[j].Group.Partition(b.topic.Partitions()); got != records[i].Partition {
				b.tb.Errorf("a sentence of partition %d is in %d", got, records[i].Partition)
			}
		}
		all = append(all, batch)
	}
	return all
}

func (b *bench) end() (end int64) {
	_, ends, err := b.topic.Bounds(context.Background())
	if err != nil {
		b.tb.Fatal(err)
	}
	for _, e := range ends {
		end = max(end, e)
	}
	return end
}

// watermarks are those from a position on, as "time" or "time idle", in milliseconds after the start of the bench, with the
// source partition that holds it and the newest clock where that is not "s" alone.
func (b *bench) watermarks(from int64) []string {
	out := []string{}
	for _, batch := range b.batches(from) {
		m := batch.Watermark
		if m == nil {
			continue
		}
		s := fmt.Sprint(int64(m.Time) - 1_700_000_000_000)
		if m.Source != "s" || m.Newest != m.Time {
			s += fmt.Sprintf(" %s to %d", m.Source, int64(m.Newest)-1_700_000_000_000)
		}
		if m.Idle {
			s += " idle"
		}
		out = append(out, s)
	}
	return out
}

func timed(id string, after time.Duration) feed.Post {
	at := feed.Time(1_700_000_000_000).Add(after)
	return feed.Post{ID: id, Text: "one two three four five " + id, Time: at, Timed: true}
}

func TestStamps(t *testing.T) {
	b := newBench(t, 1)
	now := feed.FromTime(b.now)
	got := b.write(timed("in time", -time.Hour), timed("nearly", time.Minute), timed("future", time.Minute+1e6),
		feed.Post{ID: "none", Text: "x"}, feed.Post{ID: "record", Text: "x", Time: 5},
		feed.Post{ID: "record ahead", Text: "x", Time: now + 60_001})
	type stamp struct {
		ID       string
		Time     feed.Time
		Adjusted bool
	}
	var stamps []stamp
	for _, p := range got {
		stamps = append(stamps, stamp{p.ID, p.Time, p.Adjusted})
	}
	want := []stamp{
		{"in time", now - 3_600_000, false}, {"nearly", now + 60_000, false}, {"future", now, true},
		{"none", now, false}, {"record", 5, false}, {"record ahead", now, false},
	}
	if diff := cmp.Diff(want, stamps); diff != "" {
		t.Error(diff)
	}
	// Written again later, as after a failure, they keep what they have.
	b.now = b.now.Add(time.Hour)
	again := b.write(got...)
	for i := range again {
		if again[i].Time != want[i].Time || again[i].Adjusted != want[i].Adjusted {
			t.Errorf("post %s: got %v, want %v", again[i].ID, again[i].Time, want[i].Time)
		}
	}
}

func TestMarksComeAfterWhatTheySpeakOf(t *testing.T) {
	b := newBench(t, 2)
	b.write(timed("a", 1*time.Second), timed("b", 2*time.Second))
	if got := b.watermarks(0); len(got) > 0 {
		t.Errorf("marks %v after two posts, want none", got)
	}
	b.now = b.now.Add(time.Minute)
	from := b.end()
	b.write(timed("c", 3*time.Second))
	batches := b.batches(from)
	if n := len(batches); n != 3 || len(batches[0].Sentences) != 1 || batches[1].Watermark == nil ||
		batches[2].Watermark == nil {
		t.Fatalf("got %+v, want a sentence and behind it a mark in each partition", batches)
	}
	if diff := cmp.Diff([]string{"1000", "1000"}, b.watermarks(from)); diff != "" {
		t.Error(diff)
	}
}

func TestTick(t *testing.T) {
	b := newBench(t, 1)
	b.write(timed("a", 0), timed("b", 0), timed("c", 0))
	b.tick(500 * time.Millisecond)
	steps := []struct {
		after time.Duration
		post  bool
		want  []string
	}{
		{0, true, []string{}},                        // the last watermark is young
		{400 * time.Millisecond, false, []string{}},  // and still is
		{time.Second, false, []string{"0"}},          // now it is old enough
		{10 * time.Second, false, []string{}},        // nothing new to write
		{18 * time.Second, false, []string{}},        // not idle yet
		{time.Second, false, []string{"0 idle"}},     // 30 s without posts
		{40 * time.Second, false, []string{}},        // written already
		{time.Second, true, []string{"0"}},           // active again, with the post itself
		{28 * time.Second, false, []string{}},        // not idle yet
		{2 * time.Second, false, []string{"0 idle"}}, // now it is
	}
	for i, step := range steps {
		from := b.end()
		if step.post {
			b.now = b.now.Add(step.after)
			b.write(timed(fmt.Sprint("p", i), 0))
		} else {
			b.tick(step.after)
		}
		if diff := cmp.Diff(step.want, b.watermarks(from)); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// tick lets time go by, with a tick every second.
func (b *bench) tick(d time.Duration) {
	for end := b.now.Add(d); b.now.Before(end); {
		b.now = b.now.Add(min(time.Second, end.Sub(b.now)))
		b.split.Tick(context.Background(), b.now)
	}
}

// A source partition that is expected has a watermark before its first post, is active as long as it is touched, and
// idle 30 s after that, all without a single post.
func TestExpectedBeforeTheFirstPost(t *testing.T) {
	const unknown = "-1700000000000 quiet to " // 1970, as the bench counts
	b := newBench(t, 2)
	if err := b.split.Expect(context.Background(), []string{"s", "quiet"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{unknown + "-1700000000000", unknown + "-1700000000000"}, b.watermarks(0)); diff != "" {
		t.Fatalf("marks of two source partitions in two partitions (-want +got):\n%s", diff)
	}
	b.tick(time.Second)
	b.write(timed("a", time.Second), timed("b", time.Second), timed("c", time.Second))
	if late := b.split.countLate([]feed.Post{timed("x", -23*time.Hour)}); late != 0 {
		t.Errorf("%d posts late before quiet has said anything, want none", late)
	}
	for i, step := range []struct {
		keep bool
		want []string
	}{
		{true, []string{unknown + "1000", unknown + "1000"}},
		{true, []string{unknown + "1000", unknown + "1000"}}, // so as not to be considered dead
		{false, []string{"1000", "1000"}},
		{true, []string{unknown + "1000", unknown + "1000"}}, // there is something after all
	} {
		from := b.end()
		for range 30 {
			b.split.Touch("s")
			if step.keep {
				b.split.Touch("quiet")
			}
			b.tick(time.Second)
		}
		if got := b.watermarks(from); !slices.Equal(got[max(0, len(got)-2):], step.want) {
			t.Errorf("step %d: got %v, want %v at the end", i, got, step.want)
		}
	}
}

// TestStandstillMakesNobodyIdle: a source partition is idle when it could have brought posts and did not. While this
// process stood still, or the topic refused what it was given, nobody could.
func TestStandstillMakesNobodyIdle(t *testing.T) {
	for name, stand := range map[string]func(b *bench){
		"process stands still": func(b *bench) { b.now = b.now.Add(2 * time.Minute) },
		"topic full": func(b *bench) {
			b.split.cfg.Sentences = &failing{b.topic, slices.Repeat([]error{topic.ErrFull}, 1000)}
			for range 120 {
				b.tick(time.Second)
				if err := b.split.Write(context.Background(), []feed.Post{timed("x", 10*time.Hour)}, "ahead"); err == nil {
					b.tb.Fatal("written to a full topic")
				}
			}
			b.split.cfg.Sentences = b.topic
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1)
			b.split.cfg.Logger = slog.New(slog.DiscardHandler)
			b.now = b.now.Add(11 * time.Hour)
			b.write(timed("a", 0), timed("b", 0), timed("c", 0))
			ahead := func() {
				ahead := []feed.Post{timed("d", 10*time.Hour), timed("e", 10*time.Hour), timed("f", 10*time.Hour)}
				if err := b.split.Write(context.Background(), ahead, "ahead"); err != nil {
					t.Fatal(err)
				}
			}
			ahead()
			b.tick(2 * time.Second)
			from := b.end()
			stand(b)
			for range 10 {
				ahead()
				b.tick(time.Second)
			}
			watermarks := b.watermarks(from)
			for _, got := range watermarks {
				if want := "0 s to 36000000"; got != want {
					t.Fatalf("marks %v, want %q: s is 10 h behind and has not had the time to be idle", watermarks, want)
				}
			}
			if len(watermarks) == 0 {
				t.Error("no marks")
			}
		})
	}
}

func TestTooShortSentencesAreCountedOnce(t *testing.T) {
	b := newBench(t, 3)
	b.write(feed.Post{ID: "1", Text: "one two three four five\nhi\nsix seven eight nine ten\nho"},
		feed.Post{ID: "2", Text: "hm"})
	b.write(feed.Post{ID: "3", Text: "ha"})
	sentences, short := 0, 0
	for _, batch := range b.batches(0) {
		sentences += len(batch.Sentences)
		short += batch.TooShort
	}
	if sentences != 2 || short != 4 {
		t.Errorf("got %d sentences and %d too short, want 2 and 4", sentences, short)
	}
}

func TestRecordsStaySmall(t *testing.T) {
	b := newBench(t, 2)
	var posts []feed.Post
	for i := range 3000 {
		p := timed(fmt.Sprint(i), 0)
		p.Text += strings.Repeat(" lorem", 100)
		posts = append(posts, p)
	}
	b.write(posts...)
	seen := 0
	for _, batch := range b.batches(0) {
		size := len(batch.Append(nil))
		if size > maxRecord*5/4 {
			t.Errorf("a record of %d bytes", size)
		}
		seen += len(batch.Sentences)
	}
	if seen < len(posts) {
		t.Errorf("got %d sentences of %d posts", seen, len(posts))
	}
}

// failing is a topic whose next appends fail.
type failing struct {
	topic.Topic
	errs []error
}

func (f *failing) Append(ctx context.Context, records []topic.Record) error {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return err
	}
	return f.Topic.Append(ctx, records)
}

// TestFullTopicIsLoggedOnce: it refuses a watermark every second, for hours, and the log does not say so each time.
func TestFullTopicIsLoggedOnce(t *testing.T) {
	b := newBench(t, 1)
	var log strings.Builder
	b.split.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b.write(timed("a", 0), timed("b", 0), timed("c", 0))
	full := &failing{b.topic, slices.Repeat([]error{topic.ErrFull}, 1000)}
	b.split.cfg.Sentences = full
	for range 120 {
		// It wakes a source partition each time.
		_ = b.split.Write(context.Background(), []feed.Post{timed("x", 10*time.Hour)}, "ahead")
		b.tick(time.Second)
	}
	if tried := 1000 - len(full.errs) - 120; tried < 3 {
		t.Fatalf("%d marks tried", tried)
	}
	if got := strings.Count(log.String(), "retrying watermark"); got != 1 {
		t.Errorf("%d warnings in two minutes, want one:\n%s", got, log.String())
	}
}

func TestAppendIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("connection lost")
		for _, test := range []struct {
			errs []error
			want error
		}{
			{[]error{lost}, nil},
			{[]error{lost, lost}, nil},
			{[]error{lost, lost, lost}, nil},
			{[]error{lost, lost, lost, lost}, lost},
			{[]error{fmt.Errorf("append: %w", topic.ErrFull)}, topic.ErrFull},
		} {
			b := newBench(t, 1)
			s := b.mustNew(&failing{b.topic, test.errs})
			err := s.Write(context.Background(), []feed.Post{timed("a", 0), timed("b", 0), timed("c", 0)}, "s")
			if !errors.Is(err, test.want) {
				t.Errorf("after %v: got %v, want %v", test.errs, err, test.want)
			}
			if _, added := s.source("s").clock.Time(); added != (err == nil) {
				t.Errorf("after %v: the clock speaks of what is not durable", test.errs)
			}
		}
	})
}

func TestLateIsBehindTheWindowsClock(t *testing.T) {
	b := newBench(t, 1)
	b.now = b.now.Add(10 * time.Minute) // none of the posts is ahead of it
	wantLate := func(at time.Duration, want int) {
		t.Helper()
		if got := b.split.countLate([]feed.Post{timed("x", at)}); got != want {
			t.Errorf("a post at %v: got %d late, want %d", at, got, want)
		}
	}
	wantLate(-time.Hour, 0) // nobody has a clock yet
	b.write(timed("a", time.Minute), timed("b", time.Minute), timed("c", time.Minute))
	wantLate(-4*time.Minute, 0)
	wantLate(-4*time.Minute-time.Millisecond, 1)
	slower := []feed.Post{timed("d", 0), timed("e", 0), timed("f", 0)}
	if err := b.split.Write(context.Background(), slower, "other"); err != nil {
		t.Fatal(err)
	}
	wantLate(-4*time.Minute, 0) // a slower one does not bring the window's clock back
	wantLate(-4*time.Minute-time.Millisecond, 1)
	b.write(timed("g", 3*time.Minute), timed("h", 3*time.Minute), timed("i", 3*time.Minute))
	wantLate(-4*time.Minute, 0) // but holds it
	for range 31 {
		b.write(timed("j", 3*time.Minute))
		b.tick(time.Second) // until it is idle
	}
	wantLate(-2*time.Minute-time.Millisecond, 1)
}

func TestDelete(t *testing.T) {
	b := newBench(t, 1)
	control := topic.NewMemory(topic.DefaultMemory())
	cfg := Default()
	cfg.Sentences, cfg.Control = b.topic, control
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := []feed.Tombstone{{Source: "x", Post: "p"}, {Post: "q"}}
	if err := s.Delete(context.Background(), want); err != nil {
		t.Fatal(err)
	}
	r, err := control.OpenMemory(context.Background(), []int64{0})
	if err != nil {
		t.Fatal(err)
	}
	records, err := r.TryFetch(10)
	if err != nil || len(records) != 1 {
		t.Fatalf("got %d records, error %v, want 1", len(records), err)
	}
	got, err := topic.DecodeTombstones(records[0].Data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference %s", err, diff)
	}
}

func BenchmarkWrite(b *testing.B) {
	bench := newBench(b, 4)
	posts := make([]feed.Post, 1000)
	for i := range posts {
		posts[i] = timed(fmt.Sprint(i), time.Duration(i)*time.Millisecond)
		posts[i].Text += " and some more words for a post of the usual length. A second sentence stands here as well."
	}
	b.ReportAllocs()
	for b.Loop() {
		bench.topic.Truncate(0, 1<<60)
		if err := bench.split.Write(context.Background(), posts, "s"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(posts))/b.Elapsed().Seconds(), "posts/s")
}

// countedTopic notes how many sentences each append has.
type countedTopic struct {
	topic.Topic
	appends []int
}

func (c *countedTopic) Append(ctx context.Context, records []topic.Record) error {
	n := 0
	for i := range records {
		b, err := topic.DecodeBatch(records[i].Data)
		if err != nil {
			return err
		}
		n += len(b.Sentences)
	}
	if n > 0 {
		c.appends = append(c.appends, n)
	}
	return c.Topic.Append(ctx, records)
}

// TestLargePostsAreWrittenInPieces: a batch of large posts does not become sentences all at once, which take up to forty
// times as much memory as the text. Of small posts a batch is one append.
func TestLargePostsAreWrittenInPieces(t *testing.T) {
	const posts, sentences = 6, 10_000
	b := newBench(t, 4)
	counted := &countedTopic{Topic: b.topic}
	b.split = b.mustNew(counted)
	var large, small []feed.Post
	for i := range posts {
		text := strings.Repeat("One two three four five six seven eight nine ten eleven twelve.\n", sentences)
		large = append(large, feed.Post{ID: fmt.Sprint("large", i), Text: text})
		small = append(small, feed.Post{ID: fmt.Sprint("small", i), Text: text[:64]})
	}
	b.write(large...)
	if len(counted.appends) != posts {
		t.Errorf("posts of %d bytes were written in %v sentences: want one after the other", len(large[0].Text), counted.appends)
	}
	counted.appends = nil
	b.write(small...)
	if diff := cmp.Diff([]int{posts}, counted.appends); diff != "" {
		t.Errorf("small posts: %s", diff)
	}
}
