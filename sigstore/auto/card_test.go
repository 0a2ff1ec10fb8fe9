//go:build linux && (amd64 || arm64) && !nocuda

package auto_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/cuda/cudatest"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

// cheap and dear are GPUs that cost less and more than any engine on the CPU.
var (
	cheap = auto.Card{Launch: 100, Comparison: 1e-6, Batch: gpu.Batch}
	dear  = auto.Card{Launch: 100, Comparison: 1e3, Batch: gpu.Batch}
)

// pair is a window of auto with a GPU, whose driver is a fake, beside one of the prefix engine.
type pair struct {
	*rand.Rand
	driver       *cudatest.Driver
	log          strings.Builder
	with, beside *sigstore.Window
	next         int
}

// A look-up by the prefix engine costs byPrefix, in ns.
func newPair(t *testing.T, byPrefix float64, card func() (auto.Card, error)) *pair {
	t.Helper()
	p := &pair{Rand: rand.New(rand.NewPCG(3, 4)), driver: cudatest.New(t)}
	devices := gpu.DefaultDevices()
	devices.Library, devices.Kernel, devices.Logger = p.driver.Library, "popcount", slog.New(slog.NewTextHandler(&p.log, nil))
	all, err := gpu.OpenDevices(t.Context(), devices)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	bounds := hashcodes.NewBounds(theta, 1)
	onDevice := all.Take().Engine(bounds, model.Words(), prefix.New(bounds))
	choices := append(auto.Choices(bounds, model.Words())[:1], auto.OnCard(onDevice, card))
	choices[0].Cost = func(auto.Load) float64 { return byPrefix }
	cfg := sigstore.Config{Span: 6 * time.Second, Model: model, Bounds: bounds,
		Engine: auto.New(auto.Config{Choices: choices, Bounds: bounds, Few: 1, Logger: devices.Logger})}
	p.with = sigstore.New(cfg)
	cfg.Engine = prefix.New(bounds)
	p.beside = sigstore.New(cfg)
	return p
}

// play compares the groups that both windows find for so many sentences.
func (p *pair) play(t *testing.T, sentences int) {
	t.Helper()
	matches := 0
	for range sentences {
		x := sentence(p.Rand, p.next)
		p.next++
		got, want := found(p.with, &x), found(p.beside, &x)
		if !slices.Equal(got, want) {
			t.Fatalf("sentence %d: %d groups, want %d", p.next, len(got), len(want))
		}
		matches += len(got)
		for _, w := range []*sigstore.Window{p.with, p.beside} {
			w.Insert(&x)
			w.Advance(x.Time)
		}
	}
	if matches < sentences/10 {
		t.Errorf("%d matches of %d sentences: too few to say anything", matches, sentences)
	}
}

func (p *pair) changes() (all []string) {
	for line := range strings.Lines(p.log.String()) {
		if _, change, ok := strings.Cut(line, `"engine: changed" `); ok {
			from, rest, _ := strings.Cut(change, " ")
			to, _, _ := strings.Cut(rest, " ")
			all = append(all, from+" "+to)
		}
	}
	return all
}

func (p *pair) launches() int { return strings.Count(p.driver.Log(), "cuLaunchKernel") }

// TestToTheCard: auto moves to a GPU that costs less, once that is known, and finds what it found before.
func TestToTheCard(t *testing.T) {
	asked := 0
	p := newPair(t, 9000, func() (auto.Card, error) {
		if asked++; asked < 3 {
			return auto.Card{}, auto.ErrNotYet
		}
		return cheap, nil
	})
	before := p.launches() // of the test at opening
	p.play(t, 3500)
	if got := p.changes(); len(got) != 1 || got[0] != "from=prefix to=cuda" || p.launches() < before+100 {
		t.Errorf("changes %q, %d launches, log:\n%s", got, p.launches()-before, &p.log)
	}
}

// TestNotToTheCard: it stays where the GPU costs more, or is none.
func TestNotToTheCard(t *testing.T) {
	for _, c := range []struct {
		card auto.Card
		err  error
	}{{dear, nil}, {cheap, errors.New("lost")}, {cheap, fmt.Errorf("so far: %w", auto.ErrNotYet)}} {
		asked := 0
		p := newPair(t, 9000, func() (auto.Card, error) { asked++; return c.card, c.err })
		before := p.launches()
		p.play(t, 3000)
		if got := p.changes(); len(got) != 0 || p.launches() != before || asked == 0 {
			t.Errorf("%+v: changes %q, %d launches, asked %d times", c, got, p.launches()-before, asked)
		}
	}
}

// TestCardLost: a GPU that auto has moved to is lost: the same is found, by the CPU from then on.
func TestCardLost(t *testing.T) {
	lost := false
	p := newPair(t, 9000, func() (auto.Card, error) {
		if lost {
			return auto.Card{}, errors.New("lost")
		}
		return cheap, nil
	})
	p.play(t, 4000)
	p.driver.Forget = true
	p.driver.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
	p.play(t, 500)
	if !strings.Contains(p.log.String(), "the device cannot go on") {
		t.Fatalf("nothing was lost:\n%s", &p.log)
	}
	lost = true
	p.play(t, 4000)
	if got := p.changes(); len(got) != 2 || got[1] != "from=cuda to=prefix" {
		t.Errorf("changes %q, log:\n%s", got, &p.log)
	}
}

// TestCardIsNotAsked: where look-ups cost no more than a GPU takes of the processor, nobody opens one.
func TestCardIsNotAsked(t *testing.T) {
	p := newPair(t, 2000, func() (auto.Card, error) {
		t.Error("asked")
		return cheap, nil
	})
	p.play(t, 3000)
}
