package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"refrain/cuda"
	"refrain/hashcodes"
	"refrain/sigstore"
)

// DevicesConfig says which GPUs a process takes. DefaultDevices has values for all of it.
type DevicesConfig struct {
	Numbers []int        // as the driver counts; nil: all that it shows
	Windows int          // that there may be at once: of all no more are opened; 0: nobody knows
	Budget  int64        // bytes of the memory of each at most; 0: 90 % of what is free when it is opened
	Kernel  string       // to compare by; "": the fastest in a short trial
	Library string       // the driver's, by its name or path
	Logger  *slog.Logger // told of devices that are opened, left out, full or lost; nil: of what is lost or full slog.Default()
}

// DefaultDevices is all that there are, with nearly all of their free memory.
func DefaultDevices() DevicesConfig { return DevicesConfig{Library: cuda.Default().Library} }

// AllDevices is the name of all that there are.
const AllDevices = "all"

// ParseNumbers reads "all", "0" or "0,2".
func ParseNumbers(s string) (numbers []int, err error) {
	if s == AllDevices {
		return nil, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 15)
		if err != nil || slices.Contains(numbers, int(n)) {
			return nil, fmt.Errorf("%q: want all, the number of a GPU, or several as in 0,2, each once", s)
		}
		numbers = append(numbers, int(n))
	}
	return numbers, nil
}

// Devices are the GPUs that the windows of a process are dealt to. One that fails takes its own windows with it and no
// others.
type Devices struct {
	all []*Device

	mu sync.Mutex // for the windows of each
}

// Device is a GPU that some windows have taken.
type Device struct {
	devices *Devices
	number  int // as the driver counts
	cuda    *cuda.Device
	log     *slog.Logger
	windows int
}

// OpenDevices opens them. Of all that there are those that fail are left out, with a warning; one that is named has to work.
// The error holds cuda.ErrUnavailable where there is no driver or no GPU. It returns when ctx is done, also where the driver does
// not.
func OpenDevices(ctx context.Context, cfg DevicesConfig) (*Devices, error) {
	d, err := openDevices(ctx, cfg)
	if errors.Is(err, cuda.ErrUnavailable) {
		return nil, fmt.Errorf("%w; auto needs no GPU", err)
	}
	return d, err
}

func openDevices(ctx context.Context, cfg DevicesConfig) (*Devices, error) {
	numbers, err := cfg.numbers()
	if err != nil {
		return nil, err
	}
	d := &Devices{}
	var failed []error
	for _, n := range numbers {
		if cfg.Numbers == nil && cfg.Windows > 0 && len(d.all) == cfg.Windows {
			break
		}
		if device, err := d.open(ctx, cfg, n); err != nil {
			failed = append(failed, err)
		} else {
			d.all = append(d.all, device)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), d.Close())
		}
	}
	if len(d.all) == 0 || cfg.Numbers != nil && len(failed) > 0 {
		return nil, errors.Join(append(failed, d.Close())...)
	}
	for _, err := range failed {
		cfg.logger().Warn("gpu: a device is left out", "error", err)
	}
	return d, nil
}

func (c *DevicesConfig) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.Default()
	}
	return c.Logger
}

// ErrNumber says that a GPU is named that there is not.
var ErrNumber = errors.New("no GPU")

// numbers are those to open: without any GPU the first, whose error says so.
func (c *DevicesConfig) numbers() ([]int, error) {
	count, err := cuda.Count(c.Library)
	if err != nil {
		return nil, err
	}
	if c.Numbers != nil {
		return c.Numbers, c.checkNumbers(count)
	}
	numbers := make([]int, max(1, count))
	for i := range numbers {
		numbers[i] = i
	}
	return numbers, nil
}

// checkNumbers is asked before any is opened, which takes long.
func (c *DevicesConfig) checkNumbers(count int) error {
	for _, n := range c.Numbers {
		if n >= count && count > 0 {
			return fmt.Errorf("there is %w %d: the NVIDIA driver finds %d", ErrNumber, n, count)
		}
	}
	return nil
}

func (d *Devices) open(ctx context.Context, c DevicesConfig, number int) (*Device, error) {
	cfg := cuda.Default()
	cfg.Device, cfg.Budget, cfg.Kernel, cfg.Library = number, c.Budget, c.Kernel, c.Library
	if c.Logger != nil {
		cfg.Logger = c.Logger
	}
	device, err := openUnless(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if c.Logger != nil {
		_, budget := device.Memory()
		c.Logger.Info("engine: cuda", "device", device.Name(), "number", number, "budget", budget)
	}
	return &Device{devices: d, number: number, cuda: device, log: c.logger()}, nil
}

// openUnless opens one, unless ctx is done before: then it is closed again as soon as the driver comes back.
func openUnless(ctx context.Context, cfg cuda.Config) (*cuda.Device, error) {
	var device *cuda.Device
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		device, err = cuda.Open(cfg)
	}()
	select {
	case <-opened:
		return device, err
	case <-ctx.Done():
		go func() {
			if <-opened; err == nil {
				_ = device.Close() // there is nobody to tell
			}
		}()
		return nil, ctx.Err()
	}
}

// Take is the device for one more window: of those that work the one with the fewest.
func (d *Devices) Take() *Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	best := d.all[0]
	for _, device := range d.all[1:] {
		if lost := device.Lost(); lost != best.Lost() {
			if !lost {
				best = device
			}
		} else if device.windows < best.windows {
			best = device
		}
	}
	best.windows++
	return best
}

// Release says that a window has gone.
func (d *Device) Release() {
	d.devices.mu.Lock()
	defer d.devices.mu.Unlock()
	d.windows--
}

// Usage is what becomes of a GPU.
type Usage struct {
	Number         int // as the driver counts
	Name           string
	Windows        int   // that are dealt to it
	Memory, Budget int64 // bytes: of rows and searches, and how many there may be
	Lost           bool  // it has failed: its windows are on the CPU
}

// Usage is that of each, in the order of their opening.
func (d *Devices) Usage() []Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Usage, len(d.all))
	for i, device := range d.all {
		used, budget := device.cuda.Memory()
		all[i] = Usage{device.number, device.cuda.Name(), device.windows, used, budget, device.Lost()}
	}
	return all
}

// Lost reports whether the device has failed.
func (d *Device) Lost() bool { return d.cuda.Lost() }

// Engine is that of one of its windows. cpu takes over when the device is lost; once it is, no window tries it again.
func (d *Device) Engine(bounds *hashcodes.Bounds, words int, cpu sigstore.Engine) sigstore.Engine {
	cfg := Default()
	cfg.Device, cfg.Bounds, cfg.Words, cfg.CPU, cfg.Logger = d.cuda, bounds, words, cpu, d.log
	return New(cfg)
}

// Close gives all of them back. Windows that are still there go on without.
func (d *Devices) Close() error {
	var errs []error
	for _, device := range d.all {
		errs = append(errs, device.cuda.Close())
	}
	return errors.Join(errs...)
}
