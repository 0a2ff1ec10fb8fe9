package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"refrain/feed"
	"refrain/ingest"
	"refrain/plan"
	"refrain/topic"
)

// lockedLog is what a service logs, for one that runs.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines are those that contain all of the words.
func (l *lockedLog) lines(words ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.b.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// push returns when posts of words of their own are durable, or why they are not.
func (p pushed) push(t *testing.T, at time.Time, from, n int) error {
	t.Helper()
	var posts []feed.Post
	for i := from; i < from+n; i++ {
		text := fmt.Sprintf("number%d has its words%d alone%d as every%d other%d", i, i*7, i*11, i*13, i*17)
		posts = append(posts, feed.Post{ID: fmt.Sprint(i), Text: text, Time: feed.FromTime(at), Timed: true})
	}
	durable := make(chan error, 1)
	p <- ingest.Batch{Partition: "feed", Posts: posts, Ack: func(err error) { durable <- err }}
	return <-durable
}

// TestSpaceWarnsBeforeATopicIsFull: a feed that comes in faster than the topic can hold it for the window is told of within
// minutes, with the hours left and what to set; once, not every minute; and the forecast comes true.
func TestSpaceWarnsBeforeATopicIsFull(t *testing.T) {
	var log lockedLog
	var ahead atomic.Int64
	cfg := testConfig(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	cfg.Topics.SentenceBytes, cfg.Quotas.Share = 1<<20, 0
	s := mustNew(t, cfg)
	begin := time.Now()
	s.now = func() time.Time { return begin.Add(time.Duration(ahead.Load())) }
	src := make(pushed)
	s.AddSource("test", src)
	mustServe(t, s)
	sentences := s.node.space.topics[0]
	if _, now := sentences.read(); !math.IsInf(now.Hours, 1) {
		t.Errorf("a topic that nothing was appended to is full in %v h", now.Hours)
	}
	minute := func(i int) {
		t.Helper()
		ahead.Add(int64(time.Minute))
		if err := src.push(t, s.now(), 50*i, 50); err != nil {
			t.Fatal(err)
		}
		s.node.measureSpace(t.Context())
	}
	for i := range 20 {
		minute(i)
	}
	size, now := sentences.read()
	if want := float64(size.MaxBytes-size.Bytes) / now.Rate / 3600; math.Abs(now.Hours-want) > want/100 ||
		now.Needed < float64(size.MaxBytes) {
		t.Fatalf("%+v of %+v: want %.2f hours", now, size, want)
	}
	warnings := log.lines("level=WARN", "the topic will be full", "topic=sentences", "hours_to_full=",
		"set topics.sentence_bytes to ")
	if len(warnings) < 1 || len(warnings) > 2 {
		t.Errorf("%d warnings in 20 minutes, want one in ten at most: %q", len(warnings), log.lines("topic"))
	}
	if len(log.lines("topic=events", "full")) > 0 {
		t.Errorf("a topic that is not filled is warned of: %q", log.lines("topic=events"))
	}
	left := now.Hours * 60 // minutes
	n := 20
	for ; n < 20+int(left)-1; n++ {
		minute(n)
	}
	ahead.Add(int64(time.Minute)) // the route of a source tries again for ever: so this one is of a client
	post := make([]feed.Post, 400)
	for i := range post {
		post[i] = feed.Post{
			ID: fmt.Sprint("last", i), Text: fmt.Sprintf("the last%d of all%d the posts%d has no%d room", i, i, i*3, i*5),
			Time: feed.FromTime(s.now()), Timed: true,
		}
	}
	if err := s.route.handle(t.Context(), &ingest.Batch{Partition: "feed", Posts: post}); err == nil {
		t.Errorf("%.0f minutes were left, and more than their posts were appended", left)
	}
	s.node.measureSpace(t.Context())
	if len(log.lines("the topic is full: posts are then refused")) != 1 {
		t.Errorf("that it is full is not in the log: %q", log.lines("topic=sentences"))
	}
	if _, now := sentences.read(); now.Hours != 0 {
		t.Errorf("a full topic is full in %v h", now.Hours)
	}
}

// TestTopicLimits: what is configured stands, and 0 is by the disk.
func TestTopicLimits(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name             string
		configured       Bytes
		disk, used, want int64
	}{
		{"configured", 5 * gib, 10 * gib, 7 * gib, 5 * gib},
		{"a large disk", 0, 1000 * gib, 0, maxSentenceBytes},
		{"a small disk", 0, 10 * gib, 0, 5 * gib},
		{"a disk that others have filled", 0, 10 * gib, 9 * gib, 9 * gib},
		{"no room at all", 0, 0, 0, 1},
	} {
		if got := topicLimit(c.configured, c.disk, c.used, sentenceShare, maxSentenceBytes); int64(got) != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestDefaultLimitsHoldTheSpan: a feed of 1,000 posts a second fits, at the measured costs, for all of the topics'
// ages, also where a source holds the window back and nothing is purged; and with one post a request, at the bytes of
// that, while it is purged.
func TestDefaultLimitsHoldTheSpan(t *testing.T) {
	f, costs := plan.DefaultFeed(), plan.DefaultCosts()
	f.PostsPerDay, f.PeakFactor = 1000*86_400, 1
	r, err := plan.Plan(f, plan.DefaultMachine(), costs)
	if err != nil {
		t.Fatal(err)
	}
	const oneByOne = 1.9 // of a record's bytes: BenchmarkTopicBytes
	for name, c := range map[string]struct{ needed, limit float64 }{
		"sentences":             {r.TopicBytes, maxSentenceBytes},
		"sentences, one by one": {r.PurgedBytes / costs.RecordShare * oneByOne, maxSentenceBytes},
		"events":                {r.EventBytes, maxEventBytes},
	} {
		if c.needed > c.limit {
			t.Errorf("%s: %.3g bytes of at most %.3g", name, c.needed, c.limit)
		}
	}
	if d := Default().DeadLetters; costs.LetterBytes != 2*float64(d.Files+1)*float64(d.Bytes) {
		t.Errorf("the plan has %v bytes of dead letters, of %+v", costs.LetterBytes, d)
	}
	if w := Default().Window; w.Span != f.Span || w.MaxHold != f.MaxHold || w.Lateness != f.Lateness {
		t.Errorf("the plan is for another window: %v, %v, %v", f.Span, f.MaxHold, f.Lateness)
	}
}

// TestLimitsBeyondTheDisk: limits that the disk cannot hold are told at the start, with the keys and figures.
func TestLimitsBeyondTheDisk(t *testing.T) {
	for _, c := range []struct {
		sentences, events Bytes
		want              []string
	}{
		{1 << 48, 0, []string{"level=WARN", "the disk is full before the topics are", "topics.sentence_bytes=\"281.5 TB\"",
			"free="}},
		{0, 0, []string{"level=INFO", "limits of the topics are by the disk", "topics.event_bytes=", "free="}},
	} {
		var log lockedLog
		cfg := testConfig(t)
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		cfg.Topics.SentenceBytes, cfg.Topics.EventBytes = c.sentences, c.events
		s := mustNew(t, cfg)
		mustServe(t, s)
		if len(log.lines(c.want...)) != 1 {
			t.Errorf("sentence_bytes %d: the log has not %q: %q", c.sentences, c.want, log.lines("topics"))
		}
	}
}

// TestRoomIn: a full topic has room when its oldest record is too old, for nothing moves the window while all posts are
// refused; a full disk, or a topic that is purged all the time, soon.
func TestRoomIn(t *testing.T) {
	now := time.Unix(1e9, 0)
	full := topic.Size{Bytes: 100 << 20, MaxBytes: 100 << 20, Oldest: now.Add(-10 * time.Hour)}
	half := full
	half.Bytes = 50 << 20
	for _, test := range []struct {
		what   string
		purged bool
		maxAge time.Duration
		size   topic.Size
		want   time.Duration
	}{
		{"full", false, 49 * time.Hour, full, 39 * time.Hour},
		{"full, the oldest is due", false, 10 * time.Hour, full, purgeEvery},
		{"full, and the window moves", true, 49 * time.Hour, full, purgeEvery},
		{"half full: it is the disk", false, 49 * time.Hour, half, purgeEvery},
		{"empty", false, 49 * time.Hour, topic.Size{MaxBytes: 1}, purgeEvery},
	} {
		f := forecast{Retention: 26 * time.Hour, Purged: test.purged}
		if got := f.roomIn(now, test.size, test.maxAge); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}
