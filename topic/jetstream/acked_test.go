package jetstream_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"refrain/internal/natsconn/natstest"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// restorable is a server whose disk can be put back to an older state.
type restorable struct {
	*natstest.Server
	dir, backup string
}

func mustRestorable(t *testing.T) *restorable {
	t.Helper()
	r := &restorable{dir: t.TempDir(), backup: t.TempDir() + "/copy"}
	r.Server = natstest.MustServer(t, func(o *server.Options) { payload(o); o.StoreDir = r.dir })
	return r
}

func (r *restorable) save(t *testing.T) {
	t.Helper()
	r.Stop()
	if err := os.CopyFS(r.backup, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	r.Start()
}

func (r *restorable) restore(t *testing.T) {
	t.Helper()
	r.Stop()
	if err := errors.Join(os.RemoveAll(r.dir), os.CopyFS(r.dir, os.DirFS(r.backup))); err != nil {
		t.Fatal(err)
	}
	r.Start()
}

// connect is a process that looks when it is told to.
func (r *restorable) connect(t *testing.T) (*jetstream.Cluster, *jetstream.Topic) {
	t.Helper()
	c := mustConnect(t, r.Config())
	c.StopWatch()
	x := mustOpenOn(t, c)
	c.Poll(t.Context())
	return c, x
}

// lookAndAppend waits for the connection, finds the stream to be what it was, and appends what nobody will look at.
func lookAndAppend(t *testing.T, c *jetstream.Cluster, x *jetstream.Topic) {
	t.Helper()
	wantCheck(t, c, "") // or there may be no connection to look on
	wantCheck(t, c, "")
	conformance.MustAppend(t, x, numbered(9)...)
}

// losing is a process whose last nine messages, of eighteen, the server has lost.
func (r *restorable) losing(t *testing.T) (*jetstream.Cluster, *jetstream.Topic) {
	t.Helper()
	c, x := r.connect(t)
	conformance.MustAppend(t, x, numbered(9)...)
	r.save(t)
	lookAndAppend(t, c, x)
	r.restore(t)
	return c, x
}

// TestAcknowledgedSinceTheLastLook: what was acknowledged since then is lost, and others have made the stream longer than it
// was by the time of the next poll.
func TestAcknowledgedSinceTheLastLook(t *testing.T) {
	s := mustRestorable(t)
	c, _ := s.losing(t)
	conformance.MustAppend(t, mustOpenOn(t, mustConnect(t, s.Config())), numbered(12)...)
	wantCheck(t, c, "has lost what was acknowledged, from message 10 on: starting again")
}

// TestGrownByOurselves: who was told that the messages are stored makes the older copy longer before it looks.
func TestGrownByOurselves(t *testing.T) {
	c, x := mustRestorable(t).losing(t)
	for _, record := range numbered(12) {
		appendUntilDone(t, x, record)
	}
	wantCheck(t, c, "has lost what was acknowledged, from message 10 on: starting again")
}

// TestLossThatAnotherFound: a process that only reads may have read what is lost, and has looked too seldom to know.
func TestLossThatAnotherFound(t *testing.T) {
	s := mustRestorable(t)
	c, x := s.connect(t)
	reading, y := s.connect(t)
	conformance.MustAppend(t, x, numbered(9)...)
	s.save(t)
	wantCheck(t, reading, "")
	lookAndAppend(t, c, x)
	s.restore(t)
	wantCheck(t, c, "has lost what was acknowledged")
	wantCheck(t, reading, "has lost what was acknowledged, from message 10 on, as another process has found")
	if _, err := y.Open(t.Context(), []int64{0, 0, 0}); !errors.Is(err, topic.ErrBeyondEnd) {
		t.Errorf("open: got %v, want ErrBeyondEnd", err)
	}
}

// TestPollWithoutAnswer: the stream's server may have been away without our noticing, so what was acknowledged before is
// looked for, too.
func TestPollWithoutAnswer(t *testing.T) {
	c, x := mustRestorable(t).connect(t)
	for _, want := range []int{1, 1, 2} {
		if want == 2 {
			late, cancel := context.WithDeadline(t.Context(), time.Now())
			defer cancel()
			c.Poll(late)
		}
		conformance.MustAppend(t, x, numbered(1)...)
		if got := x.Acked(); got != want {
			t.Errorf("%d messages are looked for, want %d", got, want)
		}
	}
	wantCheck(t, c, "")
	if got := x.Acked(); got != 0 {
		t.Errorf("%d messages are looked for after a poll", got)
	}
}

// TestNobodyTakesIt: an append that no server takes, as while a leader is being chosen, is made when one does, and once.
func TestNobodyTakesIt(t *testing.T) {
	c := mustConnect(t, natstest.MustServer(t, payload).Config())
	c.StopWatch()
	x := mustOpenOn(t, c)
	if err := c.JetStream().DeleteStream(t.Context(), "sentences"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- x.Append(t.Context(), numbered(9)) }()
	for x.Unanswered() == 0 {
		select {
		case err := <-done:
			t.Fatalf("append: got %v while nobody takes it", err)
		case <-time.After(time.Millisecond):
		}
	}
	y := mustOpenOn(t, c)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := mustInfo(t, c, "sentences").State.Msgs; got != 9 {
		t.Errorf("the stream has %d messages, want 9", got)
	}
	for i, record := range conformance.MustFetch(t, conformance.MustOpen(t, y, 0, 0, 0), 9) {
		if want := string(numbered(9)[i].Data); string(record.Data) != want {
			t.Errorf("record %d is %q, want %q", i, record.Data, want)
		}
	}
}
