package kafka

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"refrain/internal/assigned"
)

// TestRefusedInEveryGeneration: a process of our name that died while it joined is in a generation that begins later, and leaves
// only after that. It is no reason to give up.
func TestRefusedInEveryGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{cfg: DefaultGroup(), latest: assigned.New()}
		g.cfg.Logger = slog.New(slog.DiscardHandler)
		for range 3 {
			g.refuse()
			if waits := time.Until(g.rejoinDeadline()); waits < 2*g.cfg.Session+g.cfg.Rebalance {
				t.Errorf("waits for %v, want a join and two sessions", waits)
			}
			time.Sleep(20 * time.Second)
		}
	})
}
