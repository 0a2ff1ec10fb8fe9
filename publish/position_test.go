package publish_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/publish"
	"refrain/topic"
)

// TestEventsBeginWithThePosition: a client that is cut off before its first event comes back with what it was told when
// it connected, and has all that was appended meanwhile, and nothing else.
func TestEventsBeginWithThePosition(t *testing.T) {
	for name, top := range topics() {
		for _, held := range []int{0, 7} {
			t.Run(fmt.Sprint(name, " of ", held), func(t *testing.T) {
				_, url := serve(t, top)
				appendPosts(t, top, names(0, held)...)
				first, err := connect(t, url).next()
				if err != nil || first.kind != "position" || first.id == "" || first.retry != "1000" {
					t.Fatalf("first message %+v, %v; want the position", first, err)
				}
				if want := `{"position":"` + first.id + `"}`; first.position != want {
					t.Errorf("data %s, want %s", first.position, want)
				}
				appendPosts(t, top, "meanwhile")
				if got, _ := connect(t, url+"?until=now", "Last-Event-ID", first.id).posts(t, -1); !cmp.Equal(got,
					[]string{"meanwhile"}) {
					t.Errorf("resumed at %s: %v", first.id, got)
				}
			})
		}
	}
}

// TestEventsPositionPassesQuietPartitions: where partitions share one order, a partition without events for long does not
// hold the position back.
func TestEventsPositionPassesQuietPartitions(t *testing.T) {
	top := newMemory(topic.MemoryConfig{Partitions: 3, Ordered: true, MaxFetch: topic.DefaultMemory().MaxFetch})
	appendPosts(t, top, names(0, 3)...)
	for range 4 {
		appendPosts(t, top, "in the first partition")
	}
	_, url := serve(t, top)
	if m, err := connect(t, url).next(); err != nil || m.id != "6" {
		t.Errorf("position %+v, %v; want 6", m, err)
	}
}

// open answers one request in the bubble of a test, without a network. answered is what is new when all is quiet. The
// stream ends with the test.
func open(t *testing.T, top topic.Topic, change func(*publish.EventsConfig), target string,
	header ...string) (answered func() string) {
	t.Helper()
	cfg := publish.DefaultEvents()
	cfg.Topic, cfg.Logger = top, slog.New(slog.DiscardHandler)
	change(&cfg)
	events, err := publish.NewEvents(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", target, nil).WithContext(t.Context())
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	go events.ServeHTTP(w, r)
	return w.new
}

// recorder is read while it is written.
type recorder struct {
	mu sync.Mutex
	*httptest.ResponseRecorder
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ResponseRecorder.Write(p)
}

func (r *recorder) new() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.Body.Reset()
	return r.Body.String()
}

func position(at string) string {
	return "id: " + at + "\nevent: position\ndata: {\"position\":\"" + at + "\"}\n\n"
}

// TestEventsHeartbeat: a quiet stream says every 15 s how far it has read. Deleted posts are read too, though nothing is
// sent for them.
func TestEventsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := topic.NewMemory(topic.DefaultMemory())
		got := open(t, top, func(c *publish.EventsConfig) {
			c.Deleted = func(n feed.Name, _ time.Time) bool { return n.Post == "gone" }
		}, "/")
		if diff := cmp.Diff("retry: 1000\n"+position("-"), got()); diff != "" {
			t.Errorf("at connect (-want +got):\n%s", diff)
		}
		appendPosts(t, top, "gone", "gone", "gone")
		time.Sleep(14 * time.Second)
		if got := got(); got != "" {
			t.Errorf("before the heartbeat: %q", got)
		}
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff(position("2"), got()); diff != "" {
			t.Errorf("heartbeat (-want +got):\n%s", diff)
		}
		time.Sleep(30 * time.Second)
		if diff := cmp.Diff(position("2")+position("2"), got()); diff != "" {
			t.Errorf("two more (-want +got):\n%s", diff)
		}
	})
}

// TestEventsHeartbeatTellsWhatWasSent: the position is not the end of the topic when the stream has not read that far.
func TestEventsHeartbeatTellsWhatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := stuck{topic.NewMemory(topic.DefaultMemory()), make(chan struct{})}
		appendPosts(t, top, names(0, 2)...)
		got := open(t, top, func(*publish.EventsConfig) {}, "/")
		got()
		appendPosts(t, top, names(2, 5)...)
		time.Sleep(16 * time.Second)
		if diff := cmp.Diff(position("1"), got()); diff != "" {
			t.Errorf("heartbeat (-want +got):\n%s", diff)
		}
		close(top.free)
		if sent := got(); !strings.Contains(sent, "id: 2\n") || !strings.Contains(sent, "id: 4\n") {
			t.Errorf("sent %q, want the events behind it", sent)
		}
	})
}

// stuck is a topic whose readers wait until it is free.
type stuck struct {
	*topic.Memory
	free chan struct{}
}

type stuckReader struct {
	topic.Reader
	free chan struct{}
}

func (s stuck) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	r, err := s.Memory.Open(ctx, from)
	return stuckReader{r, s.free}, err
}

func (r stuckReader) Fetch(ctx context.Context) ([]topic.Record, error) {
	select {
	case <-r.free:
		return r.Reader.Fetch(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestEventsUntilNowTellsEventSourceToStop: a browser comes back after every clean end. When there is nothing more the
// answer is 204, after which it stays away.
func TestEventsUntilNowTellsEventSourceToStop(t *testing.T) {
	for name, top := range topics() {
		t.Run(name, func(t *testing.T) {
			_, url := serve(t, top, func(c *publish.EventsConfig) {
				c.Deleted = func(n feed.Name, _ time.Time) bool { return n.Post == "gone" }
			})
			appendPosts(t, top, append(names(0, 5), "gone", "gone", "gone")...)
			if last, answers := browse(t, url+"?from=start&until=now", ""); answers != 2 {
				t.Errorf("from the start: %d answers, want the events and a 204; last id %s", answers, last)
			}
			last, answers := browse(t, url+"?until=now", "")
			if answers != 2 {
				t.Errorf("from now: %d answers, want an empty one and a 204; last id %s", answers, last)
			}
			appendPosts(t, top, "new")
			if _, answers := browse(t, url+"?until=now", last); answers != 2 {
				t.Errorf("with one more: %d answers, want the event and a 204", answers)
			}
		})
	}
}

// browse does what EventSource does: it asks again with the last id until it is told not to.
func browse(t *testing.T, url, last string) (id string, answers int) {
	t.Helper()
	for range 10 {
		c := connect(t, url, "Last-Event-ID", last)
		if answers++; c.StatusCode == 204 {
			return last, answers
		}
		for {
			m, err := c.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.id != "" {
				last = m.id
			}
		}
	}
	return last, answers
}

// TestEventsUntilNowAfterAGapIsNotWhole: who comes back for events that are no longer retained is told so, not 204.
func TestEventsUntilNowAfterAGapIsNotWhole(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, names(0, 5)...)
	top.Truncate(0, 3)
	_, url := serve(t, top)
	c := connect(t, url+"?until=now", "Last-Event-ID", "0")
	if m, err := c.next(); err != nil || m.kind != "position" || c.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("first message %+v, %v, of %s; want the position", m, err, c.Header.Get("Content-Type"))
	}
	if m, err := c.next(); err != nil || !strings.Contains(m.comment, "no longer kept") {
		t.Errorf("second message %+v, %v; want a comment on the gap", m, err)
	}
	if got, _ := c.posts(t, -1); !cmp.Equal(got, names(3, 5)) {
		t.Errorf("events %v", got)
	}
}

// TestEventsUntilNowAsLinesIsNever204: who asks for lines does not come back by itself.
func TestEventsUntilNowAsLinesIsNever204(t *testing.T) {
	_, url := serve(t, topic.NewMemory(topic.DefaultMemory()))
	c := connect(t, url+"?until=now&format=ndjson", "Last-Event-ID", "-")
	if b, err := io.ReadAll(c.Body); c.StatusCode != 200 || len(b) > 0 || err != nil {
		t.Errorf("status %d, %q, %v", c.StatusCode, b, err)
	}
}

// TestEventsUntilNowAnswersWhileTheRouteSettles: a client that may have everything waits for its answer until the first
// heartbeat, not until the route is done.
func TestEventsUntilNowAnswersWhileTheRouteSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := topic.NewMemory(topic.DefaultMemory())
		settle := func(context.Context) error {
			time.Sleep(20 * time.Second)
			appendPosts(t, top, "late")
			return nil
		}
		got := open(t, top, func(c *publish.EventsConfig) { c.AwaitAccepted = settle }, "/?until=now", "Last-Event-ID", "-")
		if got := got(); got != "" {
			t.Errorf("answered %q before anything is known", got)
		}
		time.Sleep(16 * time.Second)
		if got := got(); !strings.HasPrefix(got, "retry: 1000\n"+position("-")) {
			t.Errorf("after the first heartbeat: %q", got)
		}
		time.Sleep(5 * time.Second)
		if got := got(); !strings.HasPrefix(got, "id: 0\nevent: dev.refrain.reuse.v1\n") {
			t.Errorf("after the route has settled: %q", got)
		}
	})
}
