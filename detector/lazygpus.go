package detector

import (
	"errors"
	"log/slog"
	"sync"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/gpu"
)

// lazyGPUs are opened when the first window of auto could gain by them.
type lazyGPUs struct {
	open func() *gpu.Devices // nil where there is none that works
	log  *slog.Logger        // nil: none

	unmeasured sync.Once // told that they cannot be measured
}

func newLazyGPUs(cfg EngineConfig) *lazyGPUs {
	g := &lazyGPUs{log: cfg.Logger}
	g.open = sync.OnceValue(func() *gpu.Devices {
		devices, err := openGPUs(cfg)
		if err != nil {
			g.warn(err)
		}
		return devices
	})
	return g
}

// warn is silent of a machine that has no GPU: that is nothing wrong.
func (g *lazyGPUs) warn(err error) {
	if g.log != nil && !errors.Is(err, gpu.ErrNone) {
		g.log.Warn("engine: auto goes on without a GPU", "error", err)
	}
}

// autoWithGPUs is Auto that may choose cuda too.
func autoWithGPUs(cfg EngineConfig) Engine {
	g := newLazyGPUs(cfg)
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		choices := auto.WithGPU(auto.Choices(b, m.Words()), g.engine(b, m), gpu.Batch, g.cost(m.Words()))
		return autoOf(choices, b, cfg.Logger)
	}
}

func (g *lazyGPUs) engine(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
	return func(rows sigstore.Rows) sigstore.Index { return onGPUs(g.open(), g.log)(b, m)(rows) }
}

// cost is asked for signatures of so many words, now and then by each window.
func (g *lazyGPUs) cost(words int) func() (auto.GPU, bool) {
	return func() (auto.GPU, bool) {
		devices := g.open()
		if devices == nil || devices.Sharing() == 0 {
			return auto.GPU{}, false
		}
		s, err := devices.Speed(words)
		if err != nil {
			g.unmeasured.Do(func() { g.warn(err) })
			return auto.GPU{}, false
		}
		return auto.GPU{Launch: s.Launch, Comparison: s.Comparison, Sharing: devices.Sharing()}, true
	}
}
