package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/cuda"
	"refrain/detector"
	"refrain/hashcodes"
	"refrain/sigstore"
)

// TestNoGPU: one sentence says why there is none and what to do, by the name that the setting has.
func TestNoGPU(t *testing.T) {
	d, why := cuda.Open(cuda.Default())
	if why == nil {
		t.Skip("there is a GPU:", d.Name(), d.Close())
	}
	if !errors.Is(why, cuda.ErrUnavailable) {
		t.Fatal(why)
	}
	w := Default().Window
	w.Engine = "cuda"
	_, err := newDealer(t.Context(), w, 4, slog.New(slog.DiscardHandler))
	if want := "configuration: window.engine: cuda: " + why.Error() + "; auto needs no GPU"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestOnlyMatchOpensGPUs: a process without windows shares the configuration of those with some, and needs no GPU; one with
// windows says that there is none before it looks for its broker.
func TestOnlyMatchOpensGPUs(t *testing.T) {
	if n, err := cuda.Count(cuda.Default().Library); err == nil && n > 0 {
		t.Skip("there is a GPU")
	}
	for _, role := range []string{roleSplit, roleMatch} {
		cfg := Default()
		cfg.DataDir, cfg.Logger, cfg.Roles = t.TempDir(), slog.New(slog.DiscardHandler), []string{role}
		cfg.Topics.NATS.Servers = []string{"nats://127.0.0.1:1"}
		cfg.Window.Engine = "cuda"
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := openNode(ctx, cfg, time.Now, nil, nil, "", func(error) {})
		cancel()
		if err == nil || strings.Contains(err.Error(), "window.engine") != (role == roleMatch) {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// TestGoneWindowsGiveBack: a partition that is given up gives its place on a GPU back, once, and those that are gained take
// some.
func TestGoneWindowsGiveBack(t *testing.T) {
	w := Default().Window
	window, err := windowConfig(w, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if window.Dealer, err = newDealer(t.Context(), w, 4, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	m := &matcher{window: window, detectors: map[int]*detector.Partition{}}
	for q := range 4 {
		m.slots = append(m.slots, &windowSlot{of: m, partition: q, model: hashcodes.Default()})
	}
	for step, want := range []struct{ gained, lost, windows int }{{0, 3, 1}, {1, 3, 2}, {2, 0, 2}, {0, 1, 2}, {3, 1, 3}} {
		if _, err := m.rows(want.gained); err != nil {
			t.Fatal(err)
		}
		m.gone(want.lost)
		if got := window.Dealer.Windows(); got != want.windows {
			t.Errorf("step %d: %d windows have a place, want %d", step, got, want.windows)
		}
	}
}

// slowIndex takes its time to close, as one on a GPU that hangs.
type slowIndex struct {
	sigstore.Index
	closing, closed chan struct{}
}

func (x slowIndex) Close() error {
	close(x.closing)
	<-x.closed
	return nil
}

// TestGoneWindowsHoldNobodyUp: metrics do not wait for a window that is given back.
func TestGoneWindowsHoldNobodyUp(t *testing.T) {
	window, err := windowConfig(Default().Window, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	closing, closed := make(chan struct{}), make(chan struct{})
	window.Engine = func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return func(rows sigstore.Rows) sigstore.Index {
			return slowIndex{detector.Prefix(b, m)(rows), closing, closed}
		}
	}
	m := &matcher{window: window, detectors: map[int]*detector.Partition{}}
	m.slots = []*windowSlot{{of: m, model: hashcodes.Default()}}
	if _, err := m.rows(0); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { m.gone(0) })
	<-closing
	asked := make(chan int, 1)
	all.Go(func() { asked <- len(m.windows()) })
	select {
	case n := <-asked:
		if n != 0 {
			t.Errorf("%d windows are here, want none", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("who asks for the windows waits for one that goes")
	}
	close(closed)
	all.Wait()
}

// TestShareOfMatches: a look-up that matches no more than it may is hardly ever cut because of how its matches fall on
// the partitions, and one that matches many times more is.
func TestShareOfMatches(t *testing.T) {
	for _, c := range []struct{ all, partitions, want int }{
		{0, 4, 0}, {1000, 1, 1000}, {1000, 4, 314}, {1000, 32, 54}, {1000, 1024, 5}, {3, 4, 3},
	} {
		if got := shareOfMatches(c.all, c.partitions); got != c.want {
			t.Errorf("%d in %d partitions: got %d, want %d", c.all, c.partitions, got, c.want)
		}
	}
}

// TestServeModel: window.model names the codes as --model does.
func TestServeModel(t *testing.T) {
	learned := filepath.Join(t.TempDir(), "own.model")
	mustWriteModel(t, learned)
	for _, c := range []struct {
		model string
		bits  int
		want  string
	}{
		{"", 64, hashcodes.Default().Name()}, {"default", 64, hashcodes.Default().Name()}, {"", 32, "md5-32-1"},
		{"md5", 64, "md5-64-1"}, {"md5", 32, "md5-32-1"}, {learned, 64, "md5-128-2"},
	} {
		w := Default().Window
		w.Model, w.Bits = c.model, c.bits
		cfg, err := windowConfig(w, slog.New(slog.DiscardHandler))
		if err != nil || cfg.Model.Name() != c.want {
			t.Errorf("%q with %d bits: %v, got %+v, want %s", c.model, c.bits, err, cfg.Model, c.want)
		}
	}
}

func mustWriteModel(t *testing.T, path string) {
	t.Helper()
	m, err := hashcodes.NewMD5(128, 2)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = m.Write(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
