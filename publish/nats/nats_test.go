package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"refrain/internal/devservers"
	"refrain/internal/natsconn"
	"refrain/internal/natsconn/natstest"
	"refrain/publish"
	"refrain/publish/nats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const trace, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "congo=t61rcWkgMzE"

func event(n int) publish.Event {
	id := fmt.Sprintf("e%d", n)
	data := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"refrain","type":"dev.refrain.reuse.v1","partitionkey":"x/p1","data":{"n":%d}}`, id, n)
	return publish.Event{ID: id, Type: "dev.refrain.reuse.v1", Offset: "events/0@" + id, Data: []byte(data), Trace: trace + " " + state}
}

func events(from, to int) (out []publish.Event) {
	for n := from; n < to; n++ {
		out = append(out, event(n))
	}
	return out
}

// letters keeps dead letters.
type letters struct {
	mu      sync.Mutex
	reasons []string
}

func (l *letters) Write(place, reason string, _ []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reasons = append(l.reasons, place+": "+reason)
	return nil
}

// config is the default configuration, changed, of a sink named stream.
func config(conn natsconn.Config, subject string, changes ...func(*nats.Config)) nats.Config {
	cfg := nats.Default()
	cfg.Conn, cfg.Subject, cfg.Name, cfg.Logger = conn, subject, "stream", natstest.Quiet()
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

func mustOpen(t *testing.T, cfg nats.Config) *nats.Sink {
	t.Helper()
	s, err := nats.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stored reads all messages of a stream.
func stored(t *testing.T, stream js.Stream) (out []*js.RawStreamMsg) {
	t.Helper()
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func ids(t *testing.T, messages []*js.RawStreamMsg) (out []string) {
	t.Helper()
	for _, m := range messages {
		var e struct{ ID string }
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e.ID)
	}
	return out
}

func names(from, to int) (out []string) {
	for n := from; n < to; n++ {
		out = append(out, fmt.Sprintf("e%d", n))
	}
	return out
}

func TestEventsAreCloudEvents(t *testing.T) {
	s := natstest.MustServer(t, nil)
	stream := s.Stream(s.Conn(), js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse.>"}})
	sink := mustOpen(t, config(s.Config(), "reuse.events"))
	if err := sink.Publish(t.Context(), events(0, 3)); err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish(t.Context(), events(1, 3000)); err != nil { // two of them again
		t.Fatal(err)
	}
	got := stored(t, stream)
	if diff := cmp.Diff(names(0, 3000), ids(t, got)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	want := natsgo.Header{"content-type": {"application/cloudevents+json"}, "Nats-Msg-Id": {"e0"}, "traceparent": {trace}, "tracestate": {state},
		"Nats-Expected-Stream": {"REUSE"}}
	if diff := cmp.Diff(want, got[0].Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got[0].Subject != "reuse.events" || string(got[0].Data) != string(event(0).Data) {
		t.Errorf("message %+v", got[0])
	}
}

func TestTooLargeIsADeadLetter(t *testing.T) {
	s := natstest.MustServer(t, func(o *server.Options) { o.MaxPayload = 8000 })
	stream := s.Stream(s.Conn(), js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse"}, MaxMsgSize: 4000})
	batch := events(0, 4)
	batch[1].Data = fmt.Appendf(nil, `{"id":"e1","filler":%q}`, strings.Repeat("x", 5000)) // for the stream
	batch[2].Data = fmt.Appendf(nil, `{"id":"e2","filler":%q}`, strings.Repeat("x", 9000)) // for the server
	var dead letters
	if err := mustOpen(t, config(s.Config(), "reuse",
		func(c *nats.Config) { c.DeadLetters = &dead })).Publish(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"e0", "e3"}, ids(t, stored(t, stream))); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if len(dead.reasons) != 2 || !strings.HasPrefix(dead.reasons[0], "nats stream events/0@e2: event of 9") ||
		!strings.HasPrefix(dead.reasons[1], "nats stream events/0@e1: event of 5") {
		t.Errorf("dead letters %q", dead.reasons)
	}
	if err := mustOpen(t, config(s.Config(), "reuse")).Publish(t.Context(), batch); err == nil {
		t.Error("published without an error, and there is nowhere to put what is too large")
	}
}

func TestAFullStreamIsAnErrorAndNoDeadLetter(t *testing.T) {
	s := natstest.MustServer(t, nil)
	s.Stream(s.Conn(), js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse"}, MaxMsgs: 2, Discard: js.DiscardNew})
	var dead letters
	err := mustOpen(t, config(s.Config(), "reuse", func(c *nats.Config) { c.DeadLetters = &dead })).Publish(t.Context(),
		events(0, 3))
	if err == nil || !strings.Contains(err.Error(), "event e2: ") || len(dead.reasons) > 0 {
		t.Errorf("error %v, dead letters %q", err, dead.reasons)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	s := natstest.MustServer(t, nil)
	client := s.Conn()
	s.Stream(client, js.StreamConfig{Name: "MUTE", Subjects: []string{"mute"}, NoAck: true})
	guarded := natstest.MustServer(t, func(o *server.Options) { o.Authorization = "sesame" })
	wrong := natsconn.Config{Servers: guarded.Config().Servers, Token: "wrong"}
	for name, test := range map[string]struct {
		cfg  nats.Config
		want string
	}{
		"no stream":   {config(s.Config(), "reuse"), "nats stream add REUSE --subjects reuse"},
		"no subject":  {config(s.Config(), ""), "want a subject"},
		"wildcard":    {config(s.Config(), "reuse.*"), "without wildcards"},
		"no acks":     {config(s.Config(), "mute"), "acknowledges nothing"},
		"wrong token": {config(wrong, "reuse"), "Authorization Violation"},
	} {
		t.Run(name, func(t *testing.T) {
			sink, err := nats.Open(t.Context(), test.cfg)
			if err == nil {
				t.Fatal(sink.Close(), "it opens")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAStreamThatGoesAway(t *testing.T) {
	s := natstest.MustServer(t, nil)
	client := s.Conn()
	s.Stream(client, js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse"}})
	sink := mustOpen(t, config(s.Config(), "reuse"))
	if err := client.DeleteStream(t.Context(), "REUSE"); err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish(t.Context(), events(0, 1)); !errors.Is(err, js.ErrNoStreamResponse) {
		t.Errorf("without a stream: %v", err)
	}
	s.Stream(client, js.StreamConfig{Name: "OTHER", Subjects: []string{"reuse"}})
	if err := sink.Publish(t.Context(), events(0, 1)); err == nil ||
		!strings.Contains(err.Error(), "no longer that of stream REUSE") {
		t.Errorf("another stream: %v", err)
	}
	if err := client.DeleteStream(t.Context(), "OTHER"); err != nil {
		t.Fatal(err)
	}
	s.Stream(client, js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse"}})
	if err := sink.Publish(t.Context(), events(0, 1)); err != nil {
		t.Errorf("made again: %v", err)
	}
}

// TestServerKilled: what Publish has called published is in the stream after kill -9, and nothing twice.
func TestServerKilled(t *testing.T) {
	real := devservers.StartNATS(t)
	conn, err := natsgo.Connect(real.Addr(), natsgo.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	client, err := js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.CreateStream(t.Context(), js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse"}})
	if err != nil {
		t.Fatal(err)
	}
	sink := mustOpen(t, config(natsconn.Config{Servers: []string{real.Addr()}}, "reuse", func(c *nats.Config) {
		c.AckTimeout = 2 * time.Second
	}))
	const n = 5000
	var failures int
	for from := 0; from < n; from += 100 {
		if from%2000 == 1000 {
			real.Kill()
			failures++
			if err := sink.Publish(t.Context(), events(from, from+100)); err == nil {
				t.Error("published to a server that is not there")
			}
			real.Start()
		}
		for sink.Publish(t.Context(), events(from, from+100)) != nil { // as Follow does, without its pauses
			if t.Context().Err() != nil {
				t.Fatal("the test is over")
			}
		}
	}
	if diff := cmp.Diff(names(0, n), ids(t, stored(t, stream))); diff != "" {
		t.Errorf("stored after %d kills (-want +got):\n%s", failures, diff)
	}
}

func TestPublishEndsWithItsContext(t *testing.T) {
	s := natstest.MustServer(t, nil)
	s.Stream(s.Conn(), js.StreamConfig{Name: "REUSE", Subjects: []string{"reuse"}})
	sink := mustOpen(t, config(s.Config(), "reuse"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sink.Publish(ctx, events(0, 1000)); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
