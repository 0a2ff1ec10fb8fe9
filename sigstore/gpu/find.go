package gpu

import (
	"context"
	"errors"
	"sync"
	"time"

	"refrain/cuda"
)

// ErrNotYet says that the answer is on its way.
var ErrNotYet = errors.New("the GPU is not measured yet")

var errClosed = errors.New("the GPUs are closed")

// Finder opens the GPUs of a process when somebody first asks what they take, and measures them, both in the background: the
// driver takes a second for it, and more where it has to compile the kernels. Where there is no driver or no GPU it says so
// at level debug; of GPUs that are there and do not work it warns.
type Finder struct {
	cfg  DevicesConfig
	ctx  context.Context // until Close
	stop context.CancelFunc

	work    sync.WaitGroup
	mu      sync.Mutex // for all below
	closed  bool
	devices answer[*Devices]
	speeds  map[measured]*answer[Speed]
}

// measured is what a speed is of: the words of a signature.
type measured struct {
	device *Device
	words  int
}

// answer is one that is found in the background.
type answer[T any] struct {
	begun bool
	value T
	err   error // ErrNotYet while it is looked for
}

// Find finds GPUs. Nothing happens until a Place is asked for a Speed.
func Find(cfg DevicesConfig) *Finder {
	f := &Finder{cfg: cfg, speeds: map[measured]*answer[Speed]{}}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// ask is the answer, or ErrNotYet, in which case find is looking for it.
func ask[T any](f *Finder, a *answer[T], find func() (T, error)) (T, error) {
	if !a.begun && f.closed {
		return a.value, errClosed
	}
	if !a.begun {
		a.begun, a.err = true, ErrNotYet
		f.work.Go(func() {
			value, err := find()
			f.mu.Lock()
			defer f.mu.Unlock()
			a.value, a.err = value, err
		})
	}
	return a.value, a.err
}

// Place is a window's: it has one of the devices as soon as it has asked.
type Place struct {
	finder *Finder
	device *Device // nil: none yet
}

// Place makes one for one more window.
func (f *Finder) Place() *Place { return &Place{finder: f} }

// Speed is what the window's device takes for signatures of so many words. It is ErrNotYet as long as that is not known.
func (p *Place) Speed(words int) (Speed, error) {
	f := p.finder
	f.mu.Lock()
	defer f.mu.Unlock()
	devices, err := ask(f, &f.devices, f.open)
	if err != nil {
		return Speed{}, err
	}
	if p.device == nil {
		p.device = devices.Take()
	}
	if p.device.Lost() {
		return Speed{}, cuda.ErrDeviceLost
	}
	of := measured{p.device, words}
	if f.speeds[of] == nil {
		f.speeds[of] = &answer[Speed]{}
	}
	return ask(f, f.speeds[of], func() (Speed, error) { return f.measure(of) })
}

// Device is the window's, once its Speed is known.
func (p *Place) Device() *Device { return p.device }

// Release says that the window has gone.
func (p *Place) Release() {
	p.finder.mu.Lock()
	defer p.finder.mu.Unlock()
	if p.device != nil {
		p.device.Release()
	}
}

func (f *Finder) open() (*Devices, error) {
	log := f.cfg.logger()
	n, err := cuda.Count(f.cfg.Library)
	if errors.Is(err, cuda.ErrUnavailable) || err == nil && n == 0 {
		log.Debug("engine: auto finds no GPU", "error", err)
		return nil, cuda.ErrUnavailable
	}
	devices, err := openDevices(f.ctx, f.cfg)
	if err != nil && f.ctx.Err() == nil {
		log.Warn("engine: auto goes without a GPU, which does not work", "error", err)
	}
	return devices, err
}

func (f *Finder) measure(of measured) (Speed, error) {
	s, err := measure(of.device.cuda, of.words)
	name, bits := of.device.cuda.Name(), 32*of.words
	if err != nil {
		f.cfg.logger().Warn("engine: auto goes without a GPU, which cannot be measured", "error", err, "device", name, "bits", bits)
		return s, err
	}
	if f.cfg.Logger != nil {
		f.cfg.Logger.Info("engine: auto knows a GPU", "device", name, "bits", bits, "launch", time.Duration(s.Launch).String(),
			"comparisons_per_us", int(1000/s.Comparison))
	}
	return s, nil
}

// Usage is that of the devices, once they are open.
func (f *Finder) Usage() []Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.devices.value == nil {
		return nil
	}
	return f.devices.value.Usage()
}

// Wait waits for what is looked for now.
func (f *Finder) Wait() { f.work.Wait() }

// Close gives the devices back.
func (f *Finder) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.work.Wait()
	if f.devices.value == nil {
		return nil
	}
	return f.devices.value.Close()
}
