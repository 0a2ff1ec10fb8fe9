package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"refrain/cuda/driver"
)

// Config says which device to open, and how. Default has values for all of it.
type Config struct {
	Device int    // number of the device, from 0
	Budget int64  // bytes of device memory at most; 0: no limit but 90 % of what is free now
	Kernel string // name of the kernel to scan with; "": any, the fastest by a short trial
	Scans  int    // that run at once, 1 or more; others wait
	// Timeout is how long the device may take to answer, more than 0: one that takes longer is lost. It has to be more than
	// the longest launch takes.
	Timeout time.Duration
	Logger  *slog.Logger // told of kernels that are not offered, and of a lost device
	Library string       // path of the driver's library, or its name, which the loader finds

	sizes    sizes
	trial    trial
	ptx      fs.ReadFileFS // the kernels
	untested bool          // kernels are taken to be right
}

// Default is the first device, with nearly all of its free memory and without a log.
func Default() Config {
	return Config{
		Scans: 2, Timeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler), Library: "libcuda.so.1",
		sizes: sizes{staging: 1 << 20, hits: 1 << 17, maxHits: 1 << 24, pages: 1 << 32 / pageRows, chunk: 1 << 22},
		trial: trial{rows: 1 << 18, queries: 2048, warmUp: 100 * time.Millisecond, rounds: 7, limit: time.Second},
		ptx:   ptx,
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.Device < 0 || c.Budget < 0 || c.Scans < 1 {
		errs = append(errs, fmt.Errorf("device %d, budget %d, scans %d: want 0 or more, 0 (no limit) or more, 1 or more",
			c.Device, c.Budget, c.Scans))
	}
	if c.Kernel != "" && !slices.Contains(KernelNames(), c.Kernel) {
		errs = append(errs, fmt.Errorf("kernel %q: want %s, or none for the fastest", c.Kernel, strings.Join(KernelNames(), ", ")))
	}
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout %v: want more than 0", c.Timeout))
	}
	if c.Logger == nil {
		errs = append(errs, errors.New("no logger"))
	}
	if c.Library == "" {
		errs = append(errs, errors.New("no library"))
	}
	return errors.Join(errs...)
}

// sizes are lowered by tests, so that small data reach what is large in production.
type sizes struct {
	staging int // words of each of the two buffers through which data go to the device
	hits    int // room for hits that the first scan has, and that are read back at once
	maxHits int // room for hits at most
	pages   int // of row numbers a launch: they have 32 bits
	chunk   int // rows of a chunk at most, beyond what is asked for at once
}

// Device is one GPU. Its methods, and those of its Rows, may be called from any goroutine.
type Device struct {
	driver     *driver.Driver
	log        *slog.Logger
	timeout    time.Duration
	sizes      sizes
	trial      trial
	ptx        fs.ReadFileFS
	handle     int32
	context    uintptr
	name       string
	processors int // multiprocessors
	capability int // 75 for 7.5
	modules    []uintptr
	kernels    []*kernel
	faulty     map[string]error // by kernel: what it did to the context
	forced     *kernel
	lanes      chan *lane
	piece      int          // queries a unit, in the self-test; 0: as many as pieceOf says
	waiters    chan *waiter // that have nothing to do
	opened     bool

	use   sync.RWMutex // scans read; Free and Close write, and so wait for scans
	lost  atomic.Pointer[error]
	hangs atomic.Bool            // a thread is left in the driver
	last  atomic.Pointer[kernel] // launched

	budget int64        // bytes of device memory, since Open
	used   atomic.Int64 // changed with mu held

	choice  sync.Mutex // trials go one after the other
	mu      sync.Mutex // for all below
	closed  bool
	tables  map[*Rows]struct{}
	staging staging
	chosen  [maxWords + 1]*kernel // by words of a signature
}

// Open takes a device into use. It loads the kernels, compares each with plain Go, and leaves out, with a line in the
// log, those that this device cannot run or that are wrong. The error holds ErrUnavailable where there is no device.
func Open(config Config) (*Device, error) {
	d, err := open(config)
	if err != nil && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("open device %d: %w", config.Device, err)
	}
	return d, err
}

func open(config Config) (*Device, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	d, err := find(config)
	if err != nil {
		return nil, err
	}
	if err := d.start(config); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.opened = true
	return d, nil
}

// find looks for the device, and makes its context.
func find(config Config) (*Device, error) {
	api, err := driver.Open(config.Library)
	if err != nil {
		return nil, err
	}
	d := &Device{driver: api, log: config.Logger, timeout: config.Timeout, sizes: config.sizes, trial: config.trial, ptx: config.ptx,
		faulty: map[string]error{}, tables: map[*Rows]struct{}{}, waiters: make(chan *waiter, config.Scans+1)}
	if err := d.identify(config.Device); err != nil {
		return nil, driver.Unavailable(err)
	}
	return d, d.retain()
}

func (d *Device) retain() error {
	return d.driver.Err("cuDevicePrimaryCtxRetain", d.driver.PrimaryCtxRetain(&d.context, d.handle))
}

func (d *Device) identify(ordinal int) error {
	if err := d.driver.Err("cuInit", d.driver.Init(0)); err != nil {
		return err
	}
	var count int32
	if err := d.driver.Err("cuDeviceGetCount", d.driver.DeviceGetCount(&count)); err != nil {
		return err
	}
	if count == 0 {
		return errors.New("the NVIDIA driver finds no GPU")
	}
	if ordinal < 0 || ordinal >= int(count) {
		return fmt.Errorf("there is no GPU %d: the NVIDIA driver finds %d", ordinal, count)
	}
	if err := d.driver.Err("cuDeviceGet", d.driver.DeviceGet(&d.handle, int32(ordinal))); err != nil {
		return err
	}
	name := make([]byte, 256)
	if err := d.driver.Err("cuDeviceGetName", d.driver.DeviceGetName(&name[0], int32(len(name)), d.handle)); err != nil {
		return err
	}
	d.name = driver.CString(&name[0])
	// A context that exists already keeps its ways, which does no harm.
	d.driver.PrimaryCtxSetFlags(d.handle, driver.ScheduleBlocking)
	return d.attributes()
}

func (d *Device) attributes() error {
	var processors, major, minor int32
	for _, a := range []struct {
		number int32
		value  *int32
	}{{driver.AttributeMultiprocessors, &processors}, {driver.AttributeMajor, &major}, {driver.AttributeMinor, &minor}} {
		if err := d.driver.Err("cuDeviceGetAttribute", d.driver.DeviceGetAttribute(a.value, a.number, d.handle)); err != nil {
			return err
		}
	}
	d.processors, d.capability = int(processors), int(10*major+minor)
	if d.capability < minCapability {
		return fmt.Errorf("%s has compute capability %d.%d: want 7.5 or later, which GPUs have from Turing on", d.name, major, minor)
	}
	return nil
}

// minCapability is what the .ptx files of the kernels that every device can run are for.
const minCapability = 75

// start makes all that scans need, and tests the kernels. One that faults takes the context with it: then all is made again,
// without this kernel.
func (d *Device) start(config Config) error {
	for {
		if err := d.equip(config); err != nil {
			return err
		}
		if config.untested {
			return d.force(config.Kernel)
		}
		k, err := d.selfTest()
		if err == nil {
			return d.force(config.Kernel)
		}
		if k == nil || !fault(err) {
			return err
		}
		d.log.Error("cuda kernel not offered: it faults; the context is reset", "device", d.name, "kernel", k.name, "err", err)
		d.faulty[k.name] = err
		if err := d.reset(); err != nil {
			return driver.Unavailable(fmt.Errorf("kernel %s: %w; %w", k.name, err, d.faulty[k.name]))
		}
	}
}

// equip makes what the self-test needs.
func (d *Device) equip(config Config) error {
	d.lanes = make(chan *lane, config.Scans)
	steps := []func() error{
		func() error { return d.grant(config.Budget) },
		d.openStaging,
		d.openLanes,
		func() error { return d.load(config.Kernel) },
	}
	for _, step := range steps {
		if err := d.within(step); err != nil {
			return err
		}
	}
	return nil
}

// reset makes a new context after a fault, from which on every call in the old one fails. The context is that of the whole
// process: whoever else uses the device in it has lost what was there by the fault, and has to do the same.
func (d *Device) reset() error {
	if err := d.driver.Err("cuDevicePrimaryCtxReset", d.driver.PrimaryCtxReset(d.handle)); err != nil {
		return err
	}
	d.driver.PrimaryCtxRelease(d.handle) // whether the reset has done so depends on the driver; once more does no harm
	if err := d.retain(); err != nil {
		return err
	}
	d.lost.Store(nil)
	d.last.Store(nil)
	d.staging, d.modules, d.kernels = staging{}, nil, nil
	d.used.Store(0)
	clear(d.tables)
	return nil
}

// grant sets the budget.
func (d *Device) grant(budget int64) error {
	var free, total uintptr
	if err := d.call("cuMemGetInfo", d.driver.MemGetInfo(&free, &total)); err != nil {
		return err
	}
	if budget == 0 {
		budget = int64(free / 10 * 9)
	}
	if uint64(budget) > uint64(free) {
		d.log.Warn("the budget is more than the device has free", "device", d.name, "budget", budget, "free", uint64(free),
			"total", uint64(total))
	}
	d.budget = budget
	return nil
}

// Name is what the driver calls the device.
func (d *Device) Name() string { return d.name }

// Processors is the number of multiprocessors.
func (d *Device) Processors() int { return d.processors }

// Memory is how many bytes of device memory are in use, and how many may be. It waits for nothing.
func (d *Device) Memory() (used, budget int64) { return d.used.Load(), d.budget }

// Lost reports whether the device cannot be relied on any more.
func (d *Device) Lost() bool { return d.lost.Load() != nil }

// Close gives everything back, rows included. It waits for scans. A second Close does nothing.
func (d *Device) Close() error {
	d.use.Lock()
	defer d.use.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	// A lost device cannot be asked any more.
	err := d.within(d.dismantle)
	d.stopWaiters()
	if errors.Is(err, ErrDeviceLost) {
		err = nil
	}
	if d.hangs.Load() {
		return err // the context stays: giving it back would wait for the device
	}
	return errors.Join(err, d.driver.Err("cuDevicePrimaryCtxRelease", d.driver.PrimaryCtxRelease(d.handle)))
}

// within runs f with the device's context on this thread.
func (d *Device) within(f func() error) error {
	if lost := d.lost.Load(); lost != nil {
		return *lost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.call("cuCtxPushCurrent", d.driver.CtxPushCurrent(d.context)); err != nil {
		return err
	}
	err := f()
	var context uintptr
	if popped := d.call("cuCtxPopCurrent", d.driver.CtxPopCurrent(&context)); err == nil {
		err = popped
	}
	return err
}

// call makes an error of what a call returned. Lack of memory is nothing to worry about; after any other error nothing
// is known about the device, and it counts as lost.
func (d *Device) call(name string, code driver.Result) error {
	err := d.driver.Err(name, code)
	switch code {
	case driver.Success:
		return nil
	case driver.OutOfMemory:
		return fmt.Errorf("%w: %w", ErrMemory, err)
	}
	return d.setLost(err)
}

// setLost counts the device as lost from now on. The driver tells of a fault with whatever call comes next, and not by which
// kernel; Open tells by itself.
func (d *Device) setLost(err error) error {
	err = fmt.Errorf("%w: %w", ErrDeviceLost, err)
	if k := d.last.Load(); k != nil {
		err = fmt.Errorf("%w (launched last: kernel %s)", err, k.name)
	}
	if d.lost.CompareAndSwap(nil, &err) && d.opened {
		d.log.Error("cuda device lost", "device", d.name, "err", err)
	}
	return err
}
