package publish_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/publish"
	"refrain/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// match n is one event, told apart by the post that repeats.
func event(post string) []byte {
	m := feed.Match{
		ID: feed.EventID("near", "x", post, 0, feed.Hash{1}, feed.Hash{2}), Scheme: "near", Jaccard: 1,
		Later: feed.Occurrence{Source: "x", Post: post}, Earlier: feed.Occurrence{Source: "x", Post: "witness of " + post},
		First: feed.First{Source: "x", Post: "first"},
	}
	return m.AppendEvent(nil, "test")
}

func appendPosts(t *testing.T, to topic.Topic, posts ...string) {
	t.Helper()
	var records []topic.Record
	for i, p := range posts {
		records = append(records, topic.Record{Partition: i % to.Partitions(), Data: event(p)})
	}
	if err := to.Append(context.Background(), records); err != nil {
		t.Fatal(err)
	}
}

func names(from, to int) (posts []string) {
	for i := from; i < to; i++ {
		posts = append(posts, fmt.Sprint("p", i))
	}
	return posts
}

// newMemory is a topic with the usual clock.
func newMemory(cfg topic.MemoryConfig) *topic.Memory {
	cfg.Now = time.Now
	return topic.NewMemory(cfg)
}

// serve starts a server of a topic's events, configured as by default but for changes, with a quiet log.
func serve(t *testing.T, top topic.Topic, changes ...func(*publish.EventsConfig)) (*publish.Events, string) {
	t.Helper()
	cfg := publish.DefaultEvents()
	cfg.Topic, cfg.Logger = top, slog.New(slog.DiscardHandler)
	for _, change := range changes {
		change(&cfg)
	}
	events, err := publish.NewEvents(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(events)
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Start()
	t.Cleanup(func() {
		events.Close()
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return events, web.URL
}

// client reads a stream of server-sent events.
type client struct {
	*http.Response
	lines *bufio.Scanner
}

type message struct{ retry, id, kind, post, position, comment string }

func connect(t *testing.T, url string, header ...string) *client {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &client{Response: resp, lines: bufio.NewScanner(resp.Body)}
}

// next returns the next message, or io.EOF at a clean end.
func (c *client) next() (m message, err error) {
	for c.lines.Scan() {
		field, value, _ := strings.Cut(c.lines.Text(), ": ")
		switch field {
		case "":
			if value != "" {
				m.comment = value
				continue
			}
			return m, nil
		case "retry":
			m.retry = value
		case "id":
			m.id = value
		case "event":
			m.kind = value
		case "data":
			if m.kind == "position" {
				m.position = value
				continue
			}
			match, err := feed.DecodeEvent([]byte(value))
			if err != nil {
				return m, err
			}
			m.post = match.Later.Post
		}
	}
	if err := c.lines.Err(); err != nil {
		return m, err
	}
	return m, io.EOF
}

// posts reads n events, or all when n is negative, and leaves comments and positions out.
func (c *client) posts(t *testing.T, n int) (posts, ids []string) {
	t.Helper()
	for n < 0 || len(posts) < n {
		m, err := c.next()
		if err == io.EOF && n < 0 {
			return posts, ids
		}
		if err != nil {
			t.Fatalf("after %d events: %v", len(posts), err)
		}
		if m.post == "" {
			continue
		}
		if m.kind != "dev.refrain.reuse.v1" {
			t.Errorf("event type %q", m.kind)
		}
		posts, ids = append(posts, m.post), append(ids, m.id)
	}
	return posts, ids
}

// topics are the shapes of topics that a stream must handle.
func topics() map[string]topic.Topic {
	return map[string]topic.Topic{
		"one partition":               newMemory(topic.MemoryConfig{Partitions: 1, MaxFetch: 3}),
		"three partitions":            newMemory(topic.MemoryConfig{Partitions: 3, MaxFetch: 4}),
		"three partitions, one order": newMemory(topic.MemoryConfig{Partitions: 3, Ordered: true, MaxFetch: 4}),
	}
}

func TestEventsResumeAnywhere(t *testing.T) {
	for name, top := range topics() {
		t.Run(name, func(t *testing.T) {
			_, url := serve(t, top)
			appendPosts(t, top, names(0, 11)...)
			all, ids := connect(t, url+"?from=start&until=now").posts(t, -1)
			if sorted := slices.Sorted(slices.Values(all)); !cmp.Equal(sorted, slices.Sorted(slices.Values(names(0, 11)))) {
				t.Fatalf("events %v", all)
			}
			for i, id := range ids {
				rest, _ := connect(t, url+"?from=start&until=now", "Last-Event-ID", id).posts(t, -1)
				got := slices.Sorted(slices.Values(append(rest, all[:i+1]...)))
				if want := slices.Sorted(slices.Values(all)); !cmp.Equal(want, got) {
					t.Errorf("resumed behind %s: %v, want what is missing from %v", id, rest, all[:i+1])
				}
			}
		})
	}
}

func TestEventsFromNow(t *testing.T) {
	for name, top := range topics() {
		t.Run(name, func(t *testing.T) {
			_, url := serve(t, top)
			appendPosts(t, top, names(0, 5)...)
			c := connect(t, url)
			appendPosts(t, top, "new")
			if got, _ := c.posts(t, 1); got[0] != "new" {
				t.Errorf("first event %v, want the new one", got)
			}
			if got, _ := connect(t, url+"?until=now").posts(t, -1); len(got) != 0 {
				t.Errorf("from now until now: %v", got)
			}
		})
	}
}

func TestEventsUntilNowWaitsForTheRoute(t *testing.T) {
	top := newMemory(topic.MemoryConfig{Partitions: 2, MaxFetch: 256})
	_, url := serve(t, top, func(c *publish.EventsConfig) {
		c.AwaitAccepted = func(context.Context) error {
			appendPosts(t, top, "b", "c") // what was accepted comes out of the route only now
			return nil
		}
	})
	appendPosts(t, top, "a")
	got, _ := connect(t, url+"?from=start&until=now").posts(t, -1)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventsUntilNowNeverLooksWholeWhenItIsNot(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, "a")
	_, url := serve(t, top, func(c *publish.EventsConfig) {
		c.AwaitAccepted = func(context.Context) error { return errors.New("stuck") }
	})
	c := connect(t, url+"?from=start&until=now")
	for {
		_, err := c.next()
		if err == io.EOF {
			t.Fatal("a clean end although the route did not settle")
		}
		if err != nil {
			break
		}
	}

	waiting := make(chan struct{})
	events, url := serve(t, top, func(c *publish.EventsConfig) {
		c.AwaitAccepted = func(ctx context.Context) error {
			close(waiting)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	c = connect(t, url+"?from=start&until=now")
	<-waiting
	events.Close()
	for err := error(nil); err == nil; {
		if _, err = c.next(); err == io.EOF {
			t.Fatal("a clean end although the server stopped before it")
		}
	}
}

func TestEventsUntilNowWhenRetentionTakesTheEnd(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, names(0, 5)...)
	var cut dropOnOpen = dropOnOpen{Memory: top}
	_, url := serve(t, cut, func(c *publish.EventsConfig) { c.Heartbeat = 5 * time.Millisecond })
	if got, _ := connect(t, url+"?from=start&until=now").posts(t, -1); len(got) != 0 {
		t.Errorf("events %v of an emptied topic", got)
	}
}

// dropOnOpen loses all records between the first look at its bounds and the reading.
type dropOnOpen struct{ *topic.Memory }

func (d dropOnOpen) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	r, err := d.Memory.Open(ctx, from)
	d.Truncate(0, 5)
	return r, err
}

func TestEventsAfterAGapSaysSo(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, names(0, 5)...)
	top.Truncate(0, 3)
	_, url := serve(t, top)
	c := connect(t, url, "Last-Event-ID", "0")
	_, _ = c.next() // the position at connect
	m, err := c.next()
	if err != nil || !strings.Contains(m.comment, "no longer kept") {
		t.Errorf("first message %+v, %v; want a comment on the gap", m, err)
	}
	if got, _ := c.posts(t, 2); !cmp.Equal(got, names(3, 5)) {
		t.Errorf("events %v", got)
	}
}

func TestEventsOfAReplacedTopicAreAllNew(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, names(0, 2)...)
	_, url := serve(t, top)
	for what, id := range map[string]string{"beyond the end": "99", "of more partitions": "0.0.-"} {
		c := connect(t, url+"?until=now", "Last-Event-ID", id)
		if m, err := c.next(); err != nil || m.id != "-" {
			t.Errorf("%s: %+v, %v; want the position before the first event", what, m, err)
		}
		if got, _ := c.posts(t, -1); !cmp.Equal(got, names(0, 2)) {
			t.Errorf("%s: events %v", what, got)
		}
	}
}

func TestEventsLeavesDeletedPostsOut(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, names(0, 4)...)
	_, url := serve(t, top, func(c *publish.EventsConfig) {
		c.Deleted = func(n feed.Name, _ time.Time) bool {
			return n.Post == "" || n.Source == "x" && (n.Post == "p1" || n.Post == "witness of p2")
		}
	})
	if got, _ := connect(t, url+"?from=start&until=now").posts(t, -1); !cmp.Equal(got, []string{"p0", "p3"}) {
		t.Errorf("events %v", got)
	}
	retracted := `{"type":"dev.refrain.retracted.v1","data":{"source":"x","post":"p1"}}`
	if err := top.Append(t.Context(), []topic.Record{{Data: []byte(retracted)}}); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(connect(t, url+"?until=now&format=ndjson", "Last-Event-ID", "3").Body)
	if err != nil || string(b) != retracted+"\n" {
		t.Errorf("behind the last match: %q, %v; want the retraction", b, err)
	}
}

func TestEventsAsLines(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	spaced := strings.ReplaceAll(string(event("p0")), `","`, "\",\n  \"")
	if err := top.Append(t.Context(), []topic.Record{{Data: []byte(spaced)}, {Data: []byte("rubbish")},
		{Data: event("p1")}}); err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, top)
	for _, c := range []*client{
		connect(t, url+"?from=start&until=now&format=ndjson"),
		connect(t, url+"?from=start&until=now", "Accept", "application/x-ndjson"),
	} {
		if got := c.Header.Get("Content-Type"); got != "application/x-ndjson" {
			t.Errorf("content type %q", got)
		}
		b, err := io.ReadAll(c.Body)
		if err != nil {
			t.Fatal(err)
		}
		want := string(event("p0")) + "\n" + string(event("p1")) + "\n"
		if diff := cmp.Diff(want, string(b)); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	}
}

func TestEventsRefuses(t *testing.T) {
	_, url := serve(t, newMemory(topic.MemoryConfig{Partitions: 2, MaxFetch: 256}), func(c *publish.EventsConfig) {
		c.MaxClients = 1
	})
	for query, word := range map[string]string{
		"?from=noon": "from=noon", "?until=never": "until=never", "?format=xml": "format=xml",
	} {
		c := connect(t, url+query)
		b, _ := io.ReadAll(c.Body)
		if c.StatusCode != 400 || !strings.Contains(string(b), word) {
			t.Errorf("%s: %d %s", query, c.StatusCode, b)
		}
	}
	for _, id := range []string{"x", "1.", "1.-5", "1.9999999999999999999"} {
		if c := connect(t, url, "Last-Event-ID", id); c.StatusCode != 400 {
			t.Errorf("Last-Event-ID %q: status %d", id, c.StatusCode)
		}
	}
	connect(t, url)
	if c := connect(t, url); c.StatusCode != 503 || c.Header.Get("Retry-After") == "" {
		t.Errorf("one client too many: status %d", c.StatusCode)
	}
}

func TestEventsCloseEndsStreamsCleanly(t *testing.T) {
	events, url := serve(t, topic.NewMemory(topic.DefaultMemory()))
	c := connect(t, url)
	_, _ = c.next() // the position
	events.Close()
	if _, err := c.next(); err != io.EOF {
		t.Errorf("stream ended with %v, want a clean end", err)
	}
}

func TestEventsSlowClientOnlySlowsItself(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	warned := make(chan struct{}, 1)
	_, url := serve(t, top, func(c *publish.EventsConfig) {
		c.WriteTimeout, c.Logger = time.Second, slog.New(signal{slog.DiscardHandler, warned})
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET /?from=start HTTP/1.1\r\nHost: x\r\n\r\n") // and never reads

	long := strings.Repeat("x", 1<<17) // four times in an event
	quick := connect(t, url+"?from=start")
	quick.lines.Buffer(nil, 8<<20)
	for i := range 16 {
		appendPosts(t, top, fmt.Sprint(i, long))
		if got, _ := quick.posts(t, 1); !strings.HasPrefix(got[0], fmt.Sprint(i, "x")) {
			t.Fatalf("the quick client got %.10q, want event %d", got[0], i)
		}
	}
	select {
	case <-warned:
	case <-time.After(10 * time.Second):
		t.Error("the slow client was not cut off")
	}
}

// signal is a log handler that tells when there is a warning.
type signal struct {
	slog.Handler
	warned chan struct{}
}

func (s signal) Enabled(context.Context, slog.Level) bool { return true }
func (s signal) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn {
		select {
		case s.warned <- struct{}{}:
		default:
		}
	}
	return nil
}
