package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/api"
	"refrain/feed"
	"refrain/ingest"
	"refrain/publish"
	"refrain/topic"
)

// testConfig is a configuration for a port and a directory of its own.
func testConfig(tb testing.TB) Config {
	tb.Helper()
	cfg := Default()
	cfg.DataDir, cfg.HTTP, cfg.Logger = tb.TempDir(), "127.0.0.1:0", slog.New(slog.DiscardHandler)
	return cfg
}

func mustNew(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// mustRun runs a server on a port and a directory of its own until the test ends.
func mustRun(t *testing.T, sources ...ingest.Source) *Server {
	t.Helper()
	s := mustNew(t, testConfig(t))
	for _, src := range sources {
		s.AddSource("test", src)
	}
	mustServe(t, s)
	return s
}

// mustServe runs a server until the test ends, or stop is called.
func mustServe(t *testing.T, s *Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return stop
}

// twoPosts is a source of two posts that say the same.
type twoPosts struct {
	given   bool
	durable chan error
}

func (p *twoPosts) Next(ctx context.Context) (ingest.Batch, error) {
	if p.given {
		<-ctx.Done()
		return ingest.Batch{}, ctx.Err()
	}
	p.given = true
	post := feed.Post{ID: "1", Text: "The very same words stand here again", Time: feed.FromTime(time.Now()), Timed: true}
	again := post
	again.ID, again.Time = "2", post.Time+1
	return ingest.Batch{Partition: "test", Posts: []feed.Post{post, again}, Ack: func(err error) { p.durable <- err }}, nil
}

// firstEvent keeps the first event that it is handed, and ends the following.
type firstEvent struct {
	match feed.Match
	done  context.CancelFunc
}

func (f *firstEvent) Publish(_ context.Context, events []publish.Event) (err error) {
	f.match, err = feed.DecodeEvent(events[0].Data)
	f.done()
	return err
}

// TestFollowBeginsWithTheOldest: events that were there before are handed on too, whatever a source of the embedding
// program has brought meanwhile.
func TestFollowBeginsWithTheOldest(t *testing.T) {
	src := &twoPosts{durable: make(chan error, 1)}
	s := mustRun(t, src)
	if err := <-src.durable; err != nil {
		t.Fatal(err)
	}
	if err := s.node.flush(t.Context()); err != nil { // the event is in the topic
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first := firstEvent{done: cancel}
	if err := s.Follow(ctx, "test", &first); err != nil {
		t.Fatal(err)
	}
	if first.match.Later.Post != "2" || first.match.Earlier.Post != "1" {
		t.Errorf("got %+v", first.match)
	}
}

func TestReadyAfterTheEnd(t *testing.T) {
	s := mustNew(t, testConfig(t))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := s.Ready(t.Context()); err == nil {
			t.Fatal("ready after its end")
		}
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("ran twice")
	}
}

// TestStoppedWhileOpening is no error.
func TestStoppedWhileOpening(t *testing.T) {
	s := mustNew(t, testConfig(t))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestATakenPortIsToldToWhoWaits, with the error of Run.
func TestATakenPortIsToldToWhoWaits(t *testing.T) {
	cfg := testConfig(t)
	cfg.HTTP = mustRun(t).Addr()
	s := mustNew(t, cfg)
	go func() { _ = s.Run(t.Context()) }()
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}

// TestTextRulesOfAnotherBuild are no setting that one could go back to; others are.
func TestTextRulesOfAnotherBuild(t *testing.T) {
	here, shared := &node{cfg: Config{DataDir: "old"}}, &node{}
	shared.cfg.Topics.Name, shared.cfg.Topics.NATS.Servers = "a", []string{"nats://a"}
	for _, c := range []struct {
		n             *node
		setting, want string
	}{
		{here, textVersion, "data directory old: sentences by text rules of version 1, and this program's are of version 2: start with an empty data " +
			"directory, or with the program that wrote them"},
		{shared, textVersion, "topics a-*: sentences by text rules of version 1, and this program's are of version 2: start with another topics.name"},
		{here, "min_tokens", "topic sentences was made with min_tokens 1 and cannot go on with 2"},
	} {
		err := c.n.ofAnotherBuild(&topic.FixedError{Topic: "sentences", Setting: c.setting, Is: "1", Want: "2"})
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.setting, err, c.want)
		}
	}
}

// brokenTopic cannot be read.
type brokenTopic struct{ topic.Topic }

func (brokenTopic) Open(context.Context, []int64) (topic.Reader, error) {
	return nil, errors.New("no responders")
}

// TestThePageMayBreak: the service goes on without the events of its page.
func TestThePageMayBreak(t *testing.T) {
	var log strings.Builder
	s := &Server{log: slog.New(slog.NewTextHandler(&log, nil))}
	s.api = &httpServer{s: s, recent: api.NewTail(brokenTopic{topic.NewMemory(topic.DefaultMemory())}, 1)}
	if err := s.followRecent(t.Context()); err != nil || !strings.Contains(log.String(), "no responders") {
		t.Errorf("%v, log %q", err, log.String())
	}
}
