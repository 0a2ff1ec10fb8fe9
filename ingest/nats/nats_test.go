package nats_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/nats"
	"refrain/internal/devservers"
	"refrain/internal/natsconn"
	"refrain/internal/natsconn/natstest"
)

// world is a server with the stream POSTS and a client that writes to it.
type world struct {
	*natstest.Server
	client js.JetStream
	stream js.Stream
}

func mustWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: natstest.MustServer(t, nil)}
	w.client = w.Conn()
	w.stream = w.Stream(w.client, js.StreamConfig{Name: "POSTS", Subjects: []string{"posts.>"}})
	return w
}

func post(n int) string {
	return fmt.Sprintf(`{"id":"%d","text":"post %d","created_at":"2026-01-02T15:04:05Z"}`, n, n)
}

func posts(from, to int) (out []string) {
	for n := from; n < to; n++ {
		out = append(out, post(n))
	}
	return out
}

func (w *world) publish(t *testing.T, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		if _, err := w.client.Publish(t.Context(), "posts.en", []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
}

// At the end, when all servers are stopped too, nothing may run on.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is the default one, without a log.
func config() nats.Config {
	cfg := nats.Default()
	cfg.Logger = natstest.Quiet()
	return cfg
}

// with is config, changed.
func with(change func(*nats.Config)) nats.Config {
	cfg := config()
	change(&cfg)
	return cfg
}

// open opens a source that ends with the test.
func (w *world) open(t *testing.T, cfg nats.Config) *nats.Source {
	t.Helper()
	cfg.Conn, cfg.Stream = w.Config(), "POSTS"
	return mustOpen(t, cfg)
}

func mustOpen(t *testing.T, cfg nats.Config) *nats.Source {
	t.Helper()
	s, err := nats.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Next(context.Background()); err != io.EOF {
			t.Errorf("Next after Close: %v, want io.EOF", err)
		}
	})
	return s
}

func mustNext(t *testing.T, s ingest.Source) ingest.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	b, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gather reads and acknowledges n posts.
func gather(t *testing.T, s ingest.Source, n int) (ids []string) {
	t.Helper()
	for len(ids) < n {
		b := mustNext(t, s)
		ids = append(ids, names(b)...)
		b.Done(nil)
	}
	return ids
}

func names(b ingest.Batch) (ids []string) {
	for _, p := range b.Posts {
		ids = append(ids, p.ID)
	}
	return ids
}

func numbers(from, to int) (ids []string) {
	for n := from; n < to; n++ {
		ids = append(ids, fmt.Sprint(n))
	}
	return ids
}

// eventually waits for a condition that another goroutine or the server brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// info is the state of the consumer refrain.
func (w *world) info(t *testing.T) *js.ConsumerInfo {
	t.Helper()
	c, err := w.stream.Consumer(t.Context(), "refrain")
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo()
}

func TestPosts(t *testing.T) {
	w := mustWorld(t)
	fields, err := feed.ParseFields("text=body,id=uri")
	if err != nil {
		t.Fatal(err)
	}
	if fields, err = fields.WithMeta([]string{"likes"}); err != nil {
		t.Fatal(err)
	}
	if fields, err = fields.WithLink("https://example.org/{source}/{likes}/{id}"); err != nil {
		t.Fatal(err)
	}
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	const state = "congo=t61rcWkgMzE"
	m := &natsgo.Msg{Subject: "posts.en", Header: natsgo.Header{"Traceparent": {trace}, "Tracestate": {state}},
		Data: []byte(`{"uri":"a","body":"text one","created_at":"2026-01-02T15:04:05Z","source":"its own","author":"me","lang":"en","likes":7}`)}
	if _, err := w.client.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w.publish(t, `{"uri":"b","body":"has no time, \ud800"}`)
	raw, err := w.stream.GetMsg(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	var assigned []string
	s := w.open(t, with(func(c *nats.Config) {
		c.Fields = fields
		c.SourceName = "wire"
		c.Assigned = func(_ context.Context, p []string) error {
			assigned = append(assigned, p...)
			if len(assigned) == 1 {
				return errors.New("not yet")
			}
			return nil
		}
	}))
	if diff := cmp.Diff([]string{"nats/POSTS/refrain"}, s.Waiting()); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	b := mustNext(t, s)
	for len(b.Posts) < 2 { // the first may come alone
		b.Done(nil)
		more := mustNext(t, s)
		more.Posts, more.Trace = append(b.Posts, more.Posts...), b.Trace
		b = more
	}
	if !cmp.Equal(assigned, []string{"nats/POSTS/refrain", "nats/POSTS/refrain"}) {
		t.Errorf("assigned %q before the first batch, want the name twice", assigned)
	}
	at, _ := feed.ParseTime("2026-01-02T15:04:05Z")
	want := []feed.Post{
		{Source: "its own", ID: "a", Author: "me", Lang: "en", Text: "text one", Time: at, Timed: true,
			Meta: `{"likes":7}`, Link: "https://example.org/its%20own/7/a"},
		{Source: "wire", ID: "b", Text: "has no time, \ufffd", Time: feed.FromTime(raw.Time)},
	}
	if diff := cmp.Diff(want, b.Posts); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	if len(b.Notes) != 1 || b.Notes[0].Location != "nats POSTS@2" || b.Partition != "nats/POSTS/refrain" || b.Trace != trace+" "+state {
		t.Errorf("batch %+v", b)
	}
	b.Done(nil)
	eventually(t, "nothing waits", func() bool { return s.Waiting() == nil })
	eventually(t, "all acknowledged", func() bool { i := w.info(t); return i.AckFloor.Stream == 2 && i.NumAckPending == 0 })
}

func TestPoisonIsRejectedAndPassed(t *testing.T) {
	w := mustWorld(t)
	s := w.open(t, with(func(c *nats.Config) { c.MaxRecord = 1000 }))
	long := `{"id":"long","text":"` + strings.Repeat("x", 1000) + `"}`
	w.publish(t, post(1), `not JSON`, "", "\xff\xfe{\x00}\x00", `[]`, `{"text":"no id"}`, long, post(2))
	var ids []string
	var rejected []ingest.Rejection
	for len(ids) < 2 {
		b := mustNext(t, s)
		ids, rejected = append(ids, names(b)...), append(rejected, b.Rejected...)
		b.Done(nil)
	}
	if !cmp.Equal(ids, numbers(1, 3)) {
		t.Errorf("posts %q", ids)
	}
	var got []string
	for i, r := range rejected {
		got = append(got, r.Location)
		if r.Reason == "" || i == 5 && (string(r.Raw) != long || !strings.Contains(r.Reason, "the limit is 1000")) {
			t.Errorf("rejection %+v", r)
		}
	}
	want := []string{"nats POSTS@2", "nats POSTS@3", "nats POSTS@4", "nats POSTS@5", "nats POSTS@6", "nats POSTS@7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	eventually(t, "all acknowledged", func() bool { return w.info(t).AckFloor.Stream == 8 })
}

func TestWhatIsNotDurableComesAgainBeforeTheRest(t *testing.T) {
	w := mustWorld(t)
	w.publish(t, posts(0, 50)...)
	s := w.open(t, with(func(c *nats.Config) { c.BatchPosts = 10 }))
	first := mustNext(t, s)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if b, err := s.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second batch %v, %v while the first is out", names(b), err)
	}
	first.Done(errors.New("disk full"))
	again := mustNext(t, s)
	if diff := cmp.Diff(first.Posts, again.Posts); diff != "" {
		t.Errorf("after a failure (-want +got):\n%s", diff)
	}
	again.Done(nil)
	rest := gather(t, s, 50-len(first.Posts))
	if diff := cmp.Diff(numbers(0, 50), append(names(first), rest...)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestCloseGivesBackWhatIsNotAcknowledged(t *testing.T) {
	w := mustWorld(t)
	w.publish(t, posts(0, 30)...)
	cfg := with(func(c *nats.Config) { c.BatchPosts, c.AckWait = 10, time.Second })
	s := w.open(t, cfg)
	done := gather(t, s, 10)
	mustNext(t, s) // and never acknowledged
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rest := gather(t, w.open(t, cfg), 30-len(done))
	if diff := cmp.Diff(numbers(len(done), 30), rest); diff != "" {
		t.Errorf("second reader (-want +got):\n%s", diff)
	}
}

// TestAfterACrashNothingIsOvertaken: the server takes what a dead reader got for delivered until the time for its
// acknowledgement is over, and would hand out what came later meanwhile.
func TestAfterACrashNothingIsOvertaken(t *testing.T) {
	w := mustWorld(t)
	w.publish(t, posts(0, 20)...)
	cfg := with(func(c *nats.Config) { c.BatchPosts, c.AckWait = 10, time.Second })
	s := w.open(t, cfg)
	mustNext(t, s)
	eventually(t, "more than that is fetched", func() bool { return w.info(t).NumAckPending >= 10 })
	s.Crash()
	w.publish(t, posts(20, 40)...)
	second := w.open(t, cfg)
	if second.Waiting() == nil {
		t.Error("nothing waits, before anything is known")
	}
	if diff := cmp.Diff(numbers(0, 40), gather(t, second, 40)); diff != "" {
		t.Errorf("second reader (-want +got):\n%s", diff)
	}
}

// dropMessages makes the consumer, and takes n messages as a reader does that is gone before it has them.
func (w *world) dropMessages(t *testing.T, n int) (lost []js.Msg) {
	t.Helper()
	c, err := w.stream.CreateConsumer(t.Context(), js.ConsumerConfig{
		Durable: "refrain", AckPolicy: js.AckExplicitPolicy, AckWait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	for len(lost) < n {
		fetch, err := c.Fetch(n - len(lost))
		if err != nil {
			t.Fatal(err)
		}
		for m := range fetch.Messages() {
			lost = append(lost, m)
		}
	}
	return lost
}

// TestWhatWasLostComesInOrder: the server sends again what was lost as it learns of it, not in the order of the stream.
func TestWhatWasLostComesInOrder(t *testing.T) {
	w := mustWorld(t)
	w.publish(t, posts(0, 30)...)
	for i, m := range slices.Backward(w.dropMessages(t, 30)) {
		if i%5 == 0 {
			continue // its time has to be over
		}
		if err := m.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	w.publish(t, posts(30, 50)...)
	s := w.open(t, with(func(c *nats.Config) { c.BatchPosts = 7 }))
	var got []string
	for len(got) < 50 {
		b := mustNext(t, s)
		if len(b.Posts) > 7 {
			t.Errorf("a batch of %d posts", len(b.Posts))
		}
		got = append(got, names(b)...)
		b.Done(nil)
	}
	if diff := cmp.Diff(numbers(0, 50), got); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}

// TestWhatWasLostComesLate: messages that come again later than the time for their acknowledgement are waited for too,
// though new ones come meanwhile.
func TestWhatWasLostComesLate(t *testing.T) {
	w := mustWorld(t)
	w.publish(t, posts(0, 10)...)
	lost := w.dropMessages(t, 10)
	w.publish(t, posts(10, 40)...)
	s := w.open(t, with(func(c *nats.Config) { c.BatchPosts = 10 }))
	eventually(t, "new messages are asked for", func() bool {
		for _, m := range lost { // so the server leaves them where they are
			if err := m.InProgress(); err != nil {
				t.Fatal(err)
			}
		}
		return w.info(t).NumAckPending > len(lost)
	})
	if diff := cmp.Diff(numbers(0, 40), gather(t, s, 40)); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}

func TestSlowBatchesAreNotDeliveredTwice(t *testing.T) {
	w := mustWorld(t)
	s := w.open(t, with(func(c *nats.Config) { c.BatchPosts, c.AckWait = 10, 2*time.Second }))
	w.publish(t, posts(0, 40)...)
	b := mustNext(t, s)
	begin := time.Now()
	eventually(t, "more than twice the time for an acknowledgement", func() bool { return time.Since(begin) > 5*time.Second })
	if n := w.info(t).NumRedelivered; n != 0 {
		t.Errorf("%d messages were delivered again", n)
	}
	b.Done(nil)
	if got, want := gather(t, s, 40-len(b.Posts)), numbers(len(b.Posts), 40); !cmp.Equal(got, want) {
		t.Errorf("then %q", got)
	}
}

// restarts reads what is written while stop and start are called again and again, and wants every post, the first
// time in its order.
func restarts(t *testing.T, w *world, stop, start func()) {
	const n = 3000
	s := w.open(t, with(func(c *nats.Config) { c.BatchPosts, c.AckWait = 50, 2*time.Second }))
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range n {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				_, err := w.client.Publish(ctx, "posts.en", []byte(post(i)), js.WithMsgID(fmt.Sprint(i)))
				cancel()
				if err == nil || t.Context().Err() != nil {
					break
				}
			}
		}
	})
	defer writer.Wait()
	seen, batches := map[string]bool{}, 0
	var first []string
	for len(first) < n {
		b := mustNext(t, s)
		for _, id := range names(b) {
			if !seen[id] {
				seen[id], first = true, append(first, id)
			}
		}
		if batches++; batches == 3 || batches == 8 {
			stop()
			b.Done(nil)
			if s.Waiting() == nil {
				t.Error("nothing waits while there is no server")
			}
			start()
		} else {
			b.Done(nil)
		}
	}
	if diff := cmp.Diff(numbers(0, n), first); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}

func TestServerRestarts(t *testing.T) {
	w := mustWorld(t)
	restarts(t, w, w.Stop, w.Start)
}

func TestServerKilled(t *testing.T) {
	real := devservers.StartNATS(t)
	conn, err := natsgo.Connect(real.Addr(), natsgo.MaxReconnects(-1), natsgo.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	w := &world{Server: natstest.At(real.Addr())}
	if w.client, err = js.New(conn); err != nil {
		t.Fatal(err)
	}
	if w.stream, err = w.client.CreateStream(t.Context(),
		js.StreamConfig{Name: "POSTS", Subjects: []string{"posts.>"}}); err != nil {
		t.Fatal(err)
	}
	restarts(t, w, real.Kill, real.Start)
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	w := mustWorld(t)
	consumer := func(name string, change func(*js.ConsumerConfig)) {
		c := js.ConsumerConfig{Durable: name, AckPolicy: js.AckExplicitPolicy}
		change(&c)
		if _, err := w.stream.CreateConsumer(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	consumer("filtered", func(c *js.ConsumerConfig) { c.FilterSubject = "posts.de" })
	consumer("unacked", func(c *js.ConsumerConfig) { c.AckPolicy = js.AckNonePolicy })
	consumer("headers", func(c *js.ConsumerConfig) { c.HeadersOnly = true })
	consumer("impatient", func(c *js.ConsumerConfig) { c.MaxDeliver = 5 })
	for name, test := range map[string]struct {
		cfg  nats.Config
		want string
	}{
		"no stream": {with(func(c *nats.Config) { c.Stream = "NOPE" }), "nats stream add NOPE"},
		"start":     {with(func(c *nats.Config) { c.Stream, c.Start = "POSTS", "new" }), "want earliest or latest"},
		"filter": {with(func(c *nats.Config) { c.Stream, c.Consumer, c.Subject = "POSTS", "filtered", "posts.en" }),
			`filters subjects ["posts.de"]`},
		"no acks": {with(func(c *nats.Config) { c.Stream, c.Consumer = "POSTS", "unacked" }), "acknowledgement policy"},
		"no body": {with(func(c *nats.Config) { c.Stream, c.Consumer = "POSTS", "headers" }), "headers only"},
		"gives up": {with(func(c *nats.Config) { c.Stream, c.Consumer = "POSTS", "impatient" }),
			"after 5 deliveries, which would lose its post (set --max-deliver=-1)"},
		"bad subject": {with(func(c *nats.Config) { c.Stream, c.Consumer, c.Subject = "POSTS", "x", "other" }),
			"takes [\"posts.>\"]"},
	} {
		t.Run(name, func(t *testing.T) {
			test.cfg.Conn = w.Config()
			s, err := nats.Open(t.Context(), test.cfg)
			if err == nil {
				t.Fatal(s.Close(), "it opens")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	guarded := natstest.MustServer(t, func(o *server.Options) { o.Authorization = "sesame" })
	wrong := natsconn.Config{Servers: guarded.Config().Servers, Token: "wrong"}
	if _, err := nats.Open(t.Context(),
		with(func(c *nats.Config) { c.Conn, c.Stream = wrong, "POSTS" })); !errors.Is(err, natsgo.ErrAuthorization) {
		t.Errorf("wrong token: %v", err)
	}
}

func TestAConsumerIsMadeOnceAndLeftAlone(t *testing.T) {
	w := mustWorld(t)
	w.publish(t, posts(0, 5)...)
	if _, err := w.stream.CreateConsumer(t.Context(), js.ConsumerConfig{
		Durable: "refrain", AckPolicy: js.AckExplicitPolicy, AckWait: 7 * time.Second, MaxAckPending: 3, Description: "tuned",
		MaxRequestBatch: 2,
	}); err != nil {
		t.Fatal(err)
	}
	if got := gather(t, w.open(t, config()), 5); !cmp.Equal(got, numbers(0, 5)) {
		t.Errorf("posts %q", got)
	}
	if c := w.info(t).Config; c.AckWait != 7*time.Second || c.MaxAckPending != 3 || c.Description != "tuned" {
		t.Errorf("the consumer is now %+v", c)
	}
	latest := w.open(t, with(func(c *nats.Config) { c.Consumer, c.Start, c.Subject = "new", "latest", "posts.en" }))
	w.publish(t, post(5))
	if got := gather(t, latest, 1); !cmp.Equal(got, numbers(5, 6)) {
		t.Errorf("from the latest: %q", got)
	}
}

// log keeps what is logged as errors.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *log) errors() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelError}))
}

func TestPostsLostToLimitsAreReported(t *testing.T) {
	w := mustWorld(t)
	cfg := js.StreamConfig{Name: "POSTS", Subjects: []string{"posts.>"}, MaxMsgs: 10}
	if _, err := w.client.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	var logged log
	quiet := with(func(c *nats.Config) { c.BatchPosts, c.Logger = 3, logged.errors() })
	filtered := with(func(c *nats.Config) {
		c.BatchPosts, c.Logger, c.Subject, c.Consumer = 3, logged.errors(), "posts.en", "filtered"
	})
	w.publish(t, posts(0, 20)...) // a new consumer begins with what is there
	s, f := w.open(t, quiet), w.open(t, filtered)
	if got := gather(t, s, 10); !cmp.Equal(got, numbers(10, 20)) {
		t.Errorf("posts %q", got)
	}
	gather(t, f, 10)
	for range 20 { // the filter leaves these out, and the limit drops them
		if _, err := w.client.Publish(t.Context(), "posts.de", []byte(post(0))); err != nil {
			t.Fatal(err)
		}
		gather(t, s, 1)
	}
	if err := errors.Join(s.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	w.publish(t, post(40))
	gather(t, w.open(t, filtered), 1)
	s = w.open(t, quiet)
	gather(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if logged.String() != "" {
		t.Errorf("a false alarm: %s", logged.String())
	}
	w.publish(t, posts(41, 66)...)
	if got := gather(t, w.open(t, quiet), 10); !cmp.Equal(got, numbers(56, 66)) {
		t.Errorf("after the loss: %q", got)
	}
	if !strings.Contains(logged.String(), "posts=15 from=42 to=56") {
		t.Errorf("15 posts lost, and the log says %q", logged.String())
	}
}

func TestHolesInTheStreamAreNoLoss(t *testing.T) {
	w := mustWorld(t)
	var logged log
	s := w.open(t, with(func(c *nats.Config) { c.Logger = logged.errors() }))
	w.publish(t, posts(0, 1)...)
	gather(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.publish(t, posts(1, 10)...)
	for _, seq := range []uint64{4, 5, 6} {
		if err := w.stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	got := gather(t, w.open(t, with(func(c *nats.Config) { c.Logger = logged.errors() })), 6)
	if want := slices.Concat(numbers(1, 3), numbers(6, 10)); !cmp.Equal(got, want) {
		t.Errorf("posts %q, want %q", got, want)
	}
	if logged.String() != "" {
		t.Errorf("a false alarm: %s", logged.String())
	}
}

func TestAMessageLargerThanAFetch(t *testing.T) {
	s := natstest.MustServer(t, func(o *server.Options) { o.MaxPayload = 4 << 20 })
	w := &world{Server: s, client: s.Conn()}
	w.stream = s.Stream(w.client, js.StreamConfig{Name: "POSTS", Subjects: []string{"posts.>"}})
	w.publish(t, post(0), `{"id":"1","text":"`+strings.Repeat("long ", 400_000)+`"}`, post(2))
	s.Stop()
	s.Change(func(o *server.Options) { o.MaxPayload = 64 << 10 })
	s.Start()
	src := w.open(t, with(func(c *nats.Config) { c.BatchBytes = 1000 }))
	var got []string
	for len(got) < 3 {
		b := mustNext(t, src)
		got = append(got, names(b)...)
		for _, r := range b.Rejected { // the text is too long for a post, which is not the point
			got = append(got, strings.TrimPrefix(r.Location, "nats POSTS@"))
		}
		b.Done(nil)
	}
	if len(got) != 3 || got[0] != "0" || got[2] != "2" {
		t.Errorf("posts %q", got)
	}
}
