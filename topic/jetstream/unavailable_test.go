package jetstream_test

import (
	"testing"

	"refrain/internal/natsconn/natstest"
	"refrain/topic/jetstream"
)

// TestPutThatNobodyTakes: a Put that no server takes, as while a leader is being chosen, may do in a moment, and a start waits for it.
func TestPutThatNobodyTakes(t *testing.T) {
	c := mustConnect(t, natstest.MustServer(t, payload).Config())
	s, err := c.OpenStore(t.Context(), "state")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.JetStream().DeleteStream(t.Context(), "KV_state"); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "key", []byte("value")); !jetstream.IsUnavailable(err) {
		t.Errorf("got %v, want what may be gone in a moment", err)
	}
}
