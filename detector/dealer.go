package detector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/gpu"
)

// DealerConfig names an engine, and says which GPUs it may take.
type DealerConfig struct {
	Engine string            // one of Engines
	GPUs   gpu.DevicesConfig // of cuda and auto
	Logger *slog.Logger      // as NewEngine's; nil: nobody hears, but of a GPU that is lost slog.Default()
}

// DefaultDealer is the default engine, with all GPUs that there are.
func DefaultDealer() DealerConfig {
	return DealerConfig{Engine: DefaultEngine, GPUs: gpu.DefaultDevices()}
}

// Dealer gives each window an engine, as Config.Dealer. Windows that compare on GPUs are dealt to them, so that each GPU has
// as many as any other, and one that is lost leaves the windows of the others alone. Close it when all windows have gone.
type Dealer struct {
	deal    func() (e Engine, release func())
	gpus    func() []gpu.Usage
	close   func() error
	windows atomic.Int64
}

// assign gives one more window its engine.
func (d *Dealer) assign() (e Engine, release func()) {
	e, free := d.deal()
	d.windows.Add(1)
	return e, func() {
		d.windows.Add(-1)
		free()
	}
}

// Windows is how many have an engine and have not been released.
func (d *Dealer) Windows() int { return int(d.windows.Load()) }

// GPUs says what becomes of those that are open.
func (d *Dealer) GPUs() []gpu.Usage { return d.gpus() }

// NewDealer makes a dealer. cuda opens its GPUs, so that one that is missing is told at the start. auto opens them in the
// background, when look-ups in a window have become so dear that a GPU might be the better one: until then it takes nothing
// of them, and where there is no driver it does without. The events are the same either way. ctx ends the opening.
func NewDealer(ctx context.Context, c DealerConfig) (*Dealer, error) {
	c.GPUs.Logger = c.Logger
	switch c.Engine {
	case "auto":
		return dealAuto(c), nil
	case "cuda":
		devices, err := gpu.OpenDevices(ctx, c.GPUs)
		if err != nil {
			return nil, fmt.Errorf("cuda: %w", err)
		}
		return dealDevices(devices), nil
	}
	e, err := NewEngine(c.Engine, c.Logger)
	if err != nil {
		return nil, err
	}
	return &Dealer{
		deal:  func() (Engine, func()) { return e, func() {} },
		gpus:  func() []gpu.Usage { return nil },
		close: func() error { return nil },
	}, nil
}

// Close gives the GPUs back.
func (d *Dealer) Close() error { return d.close() }

func dealDevices(devices *gpu.Devices) *Dealer {
	return &Dealer{deal: func() (Engine, func()) {
		device := devices.Take()
		return onDevice(device), device.Release
	}, gpus: devices.Usage, close: devices.Close}
}

// dealAuto deals GPUs to the windows that ask what they take.
func dealAuto(c DealerConfig) *Dealer {
	found := gpu.Find(c.GPUs)
	return &Dealer{deal: func() (Engine, func()) {
		p := found.Place()
		return autoWith(c.Logger, p), p.Release
	}, gpus: found.Usage, close: found.Close}
}

// autoWith is the cheapest one of those on the CPU and the one on a GPU.
func autoWith(log *slog.Logger, p *gpu.Place) Engine {
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		choices := append(auto.Choices(b, m.Words()), auto.OnCard(
			func(rows sigstore.Rows) sigstore.Index { return onDevice(p.Device())(b, m)(rows) },
			func() (auto.Card, error) { return card(p, m.Words()) }))
		return chooser(log, b, choices)
	}
}

func card(p *gpu.Place, words int) (auto.Card, error) {
	s, err := p.Speed(words)
	if errors.Is(err, gpu.ErrNotYet) {
		err = auto.ErrNotYet
	}
	return auto.Card{Launch: s.Launch, Comparison: s.Comparison, Batch: gpu.Batch}, err
}
