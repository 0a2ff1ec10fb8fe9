package split

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"refrain/internal/sim"
	"refrain/shard"
	"refrain/text"
)

// subject is the real code, with rules of Split broken as a mutant says. That the unbroken code passes is shard's
// TestSimulation.
func subject(broken seam) sim.Subject {
	quiet := slog.New(slog.DiscardHandler)
	return sim.Subject{
		Rows: func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
			return sim.NewBrute(t, span, lateness, sim.KeepAll), nil
		},
		Writer: func(e sim.Env) (sim.Writer, error) {
			return New(Config{
				Sentences: e.Sentences, Control: e.Control, MinTokens: e.MinTokens, Lateness: e.Lateness,
				Attempts: 1, Now: e.Now, Logger: quiet, seam: broken,
			})
		},
		Worker: func(e sim.Env) (sim.Worker, error) {
			return shard.Open(context.Background(), shard.Config{
				Sentences: e.Sentences, Events: e.Events, Control: e.Control, Store: e.Store,
				Rows:  func(q int) (shard.Rows, error) { return e.Rows(q) },
				Owned: e.Owned, Span: e.Span, Lateness: e.Lateness, Delta: e.Delta, MaxQueue: e.MaxQueue,
				Now: e.Now, Logger: quiet,
			})
		},
	}
}

// TestMutants breaks one rule at a time: the simulation has to notice.
func TestMutants(t *testing.T) {
	t.Run("clock by newest time", func(t *testing.T) { wantCaught(t, subject(seam{newestClock: true})) })
	t.Run("marks before the batch is acknowledged", func(t *testing.T) { wantCaught(t, subject(seam{markFirst: true})) })
}

// wantCaught wants a mutant to lose or invent something within some hundred seeds.
func wantCaught(t *testing.T, s sim.Subject) {
	t.Helper()
	const most = 1000
	for seed := range uint64(most) {
		r, err := sim.Run(s, seed+1)
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() {
			t.Logf("caught by seed %d: %s", seed+1, r)
			return
		}
	}
	t.Errorf("survived %d interleavings", most)
}
