// Package followers tests those who follow the events of a server over connections that break: a browser, the client of
// the npm registry, and the page of the server.
package followers

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
)

// server is one whose posts come in pairs: the second repeats the first, which gives one event.
type server struct {
	*e2e.Process
	pairs int
}

// pair sends two posts and returns the one that an event will be about.
func (s *server) pair() string {
	s.TB.Helper()
	n := s.pairs
	s.pairs++
	var lines [][]byte
	for i := range 2 {
		lines = append(lines,
			fmt.Appendf(nil, `{"id":"%d-%d","text":"alpha%[1]d beta%[1]d gamma%[1]d delta%[1]d epsilon%[1]d"}`+"\n", n, i))
	}
	s.Feed(lines, len(lines), func(int) {})
	return fmt.Sprint(n, "-1")
}

// posts are those that events are about, once everything accepted is through.
func (s *server) posts() (posts []string) {
	s.TB.Helper()
	resp, err := http.Get(s.URL("/v1/events?from=start&until=now&format=ndjson"))
	if err != nil {
		s.TB.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		m, err := feed.DecodeEvent(in.Bytes())
		if err != nil {
			s.TB.Fatal(err)
		}
		posts = append(posts, m.Later.Post)
	}
	if in.Err() != nil {
		s.TB.Fatal(in.Err())
	}
	return posts
}

var all = []string{"Chromium", "npm eventsource", "the live page"}

// each runs a test with some of the clients.
func each(t *testing.T, names []string, test func(t *testing.T, s *server, f *front)) {
	if testing.Short() {
		t.Skip("starts servers and browsers")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := e2e.New(t)
			f := newFront(t, p.URL(""))
			clients[name](t, f)
			p.Start()
			test(t, &server{Process: p}, f)
		})
	}
}

func opened(times int) func(follow) bool { return func(s follow) bool { return s.Opened >= times } }

func has(post string) func(follow) bool {
	return func(s follow) bool { return slices.Contains(s.Posts, post) }
}

func isGone(s follow) bool { return s.Gone != "" }

// TestCutBeforeTheFirstEvent: what happens while a client that has had no event yet is away reaches it when it comes
// back.
func TestCutBeforeTheFirstEvent(t *testing.T) {
	each(t, all, func(t *testing.T, s *server, f *front) {
		tries, lost := 0, 0
		for range 5 {
			f.next("")
			s.Await(time.Minute, "streams", func() bool { return f.all(opened(1)) })
			f.cut()
			away := s.pair()
			s.posts()
			s.Await(time.Minute, "streams again", func() bool { return f.all(opened(2)) })
			back := s.pair()
			s.Await(time.Minute, "event for clients that are back", func() bool { return f.all(has(back)) })
			for _, stream := range f.latest() {
				tries++
				if !has(away)(stream) {
					lost++
				}
			}
		}
		if lost > 0 {
			t.Errorf("lost %d of %d times what happened before the client was back", lost, tries)
		}
		t.Logf("%d streams cut before their first event, %d lost it", tries, lost)
	})
}

// TestCutAtAnyTime: connections break after any byte and the server is killed, while posts come; every stream has the
// events that the topic has.
func TestCutAtAnyTime(t *testing.T) {
	each(t, all, func(t *testing.T, s *server, f *front) {
		f.next("")
		s.Await(time.Minute, "streams", func() bool { return f.all(opened(1)) })
		f.startBreaking()
		f.cut() // before the first event
		for i := range 200 {
			s.pair()
			time.Sleep(40 * time.Millisecond)
			if i%70 == 60 {
				_ = s.Kill(syscall.SIGKILL)
				s.Start()
			}
		}
		f.stopBreaking()
		if gone := f.latest(); slices.ContainsFunc(gone, isGone) {
			t.Fatalf("a client has given up: %+v", gone)
		}
		last := s.pair()
		s.Await(time.Minute, "the last event", func() bool { return f.all(has(last)) })
		want := slices.Compact(slices.Sorted(slices.Values(s.posts()))) // after a kill -9 some are in the topic twice
		if len(want) != s.pairs {
			t.Errorf("%d events of %d pairs", len(want), s.pairs)
		}
		streams := f.latest()
		for i, stream := range streams {
			missed := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return has(p)(stream) })
			if len(missed)+len(stream.Strays) > 0 {
				t.Errorf("stream %d: %d of %d events missed: %v; without a name: %v", i, len(missed), len(want), missed, stream.Strays)
			}
		}
		t.Logf("%d streams, cut %d times, had %d events", len(streams), f.ended.Load(), len(want))
	})
}

// TestUntilNowEnds: EventSource comes back after an end; then there is nothing more, and it stays away.
func TestUntilNowEnds(t *testing.T) {
	each(t, all[:2], func(t *testing.T, s *server, f *front) {
		s.pair()
		s.pair()
		want := s.posts()
		f.next("?from=start&until=now")
		s.Await(time.Minute, "end of the streams", func() bool { return f.all(isGone) })
		streams := f.latest()
		for i, stream := range streams {
			if !slices.Equal(stream.Posts, want) {
				t.Errorf("stream %d had %v, want %v", i, stream.Posts, want)
			}
		}
		if got, want := f.ended.Load(), 2*len(streams); int(got) != want {
			t.Errorf("%d requests of %d streams, want %d", got, len(streams), want)
		}
	})
}
