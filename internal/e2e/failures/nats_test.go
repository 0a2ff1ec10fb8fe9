package failures

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// onNATS is a service on a server, and what an operator uses to change that.
type onNATS struct {
	*service
	js jetstream.JetStream
}

func newOnNATS(t *testing.T, url string) *onNATS {
	return &onNATS{newService(t, e2e.NATSTopics(url)), mustJetStream(t, url)}
}

func mustJetStream(t *testing.T, url string) jetstream.JetStream {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func (s *onNATS) config(stream string) jetstream.StreamConfig {
	s.TB.Helper()
	x, err := s.js.Stream(s.TB.Context(), stream)
	if err != nil {
		s.TB.Fatal(err)
	}
	return x.CachedInfo().Config
}

// edit is nats stream edit.
func (s *onNATS) edit(stream string, change func(*jetstream.StreamConfig)) {
	s.TB.Helper()
	config := s.config(stream)
	change(&config)
	if _, err := s.js.UpdateStream(s.TB.Context(), config); err != nil {
		s.TB.Fatal(err)
	}
}

// TestNATSSettingsChanged: what only keeps more is set again; with anything else nothing is accepted until somebody has.
func TestNATSSettingsChanged(t *testing.T) {
	s := newOnNATS(t, devservers.NATS(t))
	s.Start()
	s.post(s.part(0))
	sentences := s.topic("sentences")
	age := s.config(sentences).MaxAge
	s.edit(sentences, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
	s.Await(20*time.Second, "age of before", func() bool { return s.config(sentences).MaxAge == age })
	s.edit(sentences, func(c *jetstream.StreamConfig) { c.Discard, c.MaxMsgs = jetstream.DiscardOld, 1000 })
	s.wantNotReady("storage", "stream "+sentences+" has discard DiscardOld, want DiscardNew: nats stream edit "+sentences+" --discard=new",
		"has max messages 1000, want no limit")
	s.wantRefused()
	s.edit(sentences, func(c *jetstream.StreamConfig) { c.Discard, c.MaxMsgs = jetstream.DiscardNew, -1 })
	s.AwaitReady(30 * time.Second)
	s.wantLog("a stream is changed", "a stream is well again")
	s.post(s.part(1))
	s.wantEvents(s.lines[:500])
}

// TestNATSStreamDeleted: each stream is made anew, and what is sent again is found again.
func TestNATSStreamDeleted(t *testing.T) {
	s := newOnNATS(t, devservers.NATS(t))
	s.Start()
	streams := []string{s.topic("sentences")}
	if *e2e.Full {
		streams = append(streams, s.topic("events"), "KV_"+s.topic("state"), s.topic("control"), "KV_"+s.topic("leases"))
	}
	for i, name := range streams {
		known := s.lines[:250*min(i+1, 4)]
		s.post(s.part(i % 4))
		s.wantEvents(known)
		if err := s.js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		s.wantNotReady("storage", "stream "+name+" is gone: somebody has deleted it")
		s.wantRestarts(i+1, "stream "+name+" has been deleted with all that it held")
		s.AwaitReady(time.Minute)
		s.post(known)
		s.wantEvents(known)
	}
}
