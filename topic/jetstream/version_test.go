package jetstream_test

import (
	"testing"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/natsconn/natstest"
	"refrain/topic/conformance"
)

// TestNeedsNoNewerServer: a server writes into the metadata which level of its interface a stream or a consumer needs. 0 is that of
// 2.10, the oldest that natsconn lets in; an older server ignores what it does not know.
func TestNeedsNoNewerServer(t *testing.T) {
	s := natstest.MustServer(t, payload)
	c := mustConnect(t, s.Config())
	x := mustOpenOn(t, c)
	if _, err := c.OpenStore(t.Context(), "state"); err != nil {
		t.Fatal(err)
	}
	mustJoinLeases(t, leaseConfig(t, s.Conn()))
	conformance.MustAppend(t, x, numbered(9)...)
	conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 9)
	consumers := 0
	streams := s.Conn().ListStreams(t.Context())
	for info := range streams.Info() {
		wantLevelOf210(t, info.Config.Name, info.Config.Metadata)
		consumers += wantConsumersOf210(t, s.Conn(), info.Config.Name)
	}
	if err := streams.Err(); err != nil || consumers == 0 {
		t.Errorf("%d consumers, %v", consumers, err)
	}
}

func wantConsumersOf210(t *testing.T, client js.JetStream, stream string) (n int) {
	t.Helper()
	x, err := client.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	consumers := x.ListConsumers(t.Context())
	for info := range consumers.Info() {
		wantLevelOf210(t, stream+" "+info.Name, info.Config.Metadata)
		n++
	}
	if err := consumers.Err(); err != nil {
		t.Error(err)
	}
	return n
}

func wantLevelOf210(t *testing.T, name string, metadata map[string]string) {
	t.Helper()
	if level := metadata["_nats.req.level"]; level != "0" {
		t.Errorf("%s needs level %q, want that of 2.10, 0", name, level)
	}
}
