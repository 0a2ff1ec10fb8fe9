package rates

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"refrain/cuda/driver"
)

// device is an open one, with its context on the thread of whoever opened it.
type device struct {
	*driver.Driver
	card       Card
	handle     int32
	context    uintptr
	stream     uintptr
	start, end uintptr        // events
	out        uint64         // what the threads leave, two words each
	back       unsafe.Pointer // the same in pinned memory
}

// refusedError says that the driver's compiler did not take a kernel.
type refusedError struct{ error }

func open(c Config) (*device, error) {
	api, err := driver.Open(c.Library)
	if err != nil {
		return nil, err
	}
	d := &device{Driver: api}
	if err := d.identify(c.Device); err != nil {
		return nil, err
	}
	if err := d.Err("cuDevicePrimaryCtxRetain", d.PrimaryCtxRetain(&d.context, d.handle)); err != nil {
		return nil, err
	}
	runtime.LockOSThread() // the context is that of the thread
	if err := d.prepare(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *device) identify(ordinal int) error {
	var major, minor, processors, version int32
	name := make([]byte, 256)
	err := first(
		func() error { return d.Err("cuInit", d.Init(0)) },
		func() error { return d.Err("cuDriverGetVersion", d.DriverGetVersion(&version)) },
		func() error { return d.get(ordinal) },
		func() error { return d.Err("cuDeviceGetName", d.DeviceGetName(&name[0], int32(len(name)), d.handle)) },
		func() error { return d.attribute(driver.AttributeMajor, &major) },
		func() error { return d.attribute(driver.AttributeMinor, &minor) },
		func() error { return d.attribute(driver.AttributeMultiprocessors, &processors) },
	)
	d.card = Card{Name: driver.CString(&name[0]), Capability: int(10*major + minor), Processors: int(processors), CUDA: int(version)}
	return err
}

// get finds the device of a number.
func (d *device) get(ordinal int) error {
	var count int32
	if err := d.Err("cuDeviceGetCount", d.DeviceGetCount(&count)); err != nil {
		return err
	}
	if ordinal >= int(count) {
		return fmt.Errorf("there is no GPU %d: the NVIDIA driver finds %d", ordinal, count)
	}
	return d.Err("cuDeviceGet", d.DeviceGet(&d.handle, int32(ordinal)))
}

func (d *device) attribute(number int32, value *int32) error {
	return d.Err("cuDeviceGetAttribute", d.DeviceGetAttribute(value, number, d.handle))
}

// first does one step after the other, up to the first that fails.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) prepare() error {
	return first(
		func() error { return d.Err("cuCtxPushCurrent", d.CtxPushCurrent(d.context)) },
		func() error { return d.Err("cuStreamCreate", d.StreamCreate(&d.stream, driver.StreamPlain)) },
		func() error { return d.Err("cuEventCreate", d.EventCreate(&d.start, 0)) },
		func() error { return d.Err("cuEventCreate", d.EventCreate(&d.end, 0)) },
		func() error { return d.Err("cuMemAlloc", d.MemAlloc(&d.out, d.bytes())) },
		func() error { return d.Err("cuMemHostAlloc", d.MemHostAlloc(&d.back, d.bytes(), 0)) },
	)
}

func (d *device) threads() int   { return d.card.Processors * blocks * threads }
func (d *device) bytes() uintptr { return uintptr(8 * d.threads()) }

// close gives back what was made.
func (d *device) close() error {
	defer runtime.UnlockOSThread()
	var errs []error
	if d.back != nil {
		errs = append(errs, d.Err("cuMemFreeHost", d.MemFreeHost(d.back)))
	}
	if d.out != 0 {
		errs = append(errs, d.Err("cuMemFree", d.MemFree(d.out)))
	}
	for _, event := range []uintptr{d.start, d.end} {
		if event != 0 {
			errs = append(errs, d.Err("cuEventDestroy", d.EventDestroy(event)))
		}
	}
	if d.stream != 0 {
		errs = append(errs, d.Err("cuStreamDestroy", d.StreamDestroy(d.stream)))
	}
	var context uintptr
	return errors.Join(append(errs, d.Err("cuCtxPopCurrent", d.CtxPopCurrent(&context)),
		d.Err("cuDevicePrimaryCtxRelease", d.PrimaryCtxRelease(d.handle)))...)
}

// load has the driver compile a kernel.
func (d *device) load(i instruction) (function uintptr, unload func(), err error) {
	text, err := ptx.ReadFile(i.file)
	if err != nil {
		return 0, nil, err
	}
	text = append(text, 0)
	var module, value uintptr
	var option int32
	if err := d.Err("cuModuleLoadDataEx", d.ModuleLoad(&module, unsafe.Pointer(&text[0]), 0, &option, &value)); err != nil {
		return 0, nil, &refusedError{err}
	}
	name := append([]byte(i.function), 0)
	err = d.Err("cuModuleGetFunction", d.ModuleGetFunc(&function, module, &name[0]))
	return function, func() { d.ModuleUnload(module) }, err
}

// run runs a kernel on all multiprocessors, and returns the median of the blocks' cycles.
func (d *device) run(function uintptr, loops int) (took time.Duration, cycles float64, err error) {
	a := &argument{out: d.out, loops: uint32(loops), seed: 1}
	params := unsafe.Pointer(a)
	var milliseconds float32
	err = first(
		func() error { return d.Err("cuEventRecord", d.EventRecord(d.start, d.stream)) },
		func() error {
			return d.Err("cuLaunchKernel", d.LaunchKernel(function, uint32(d.card.Processors*blocks), 1, 1, threads, 1, 1, 0,
				d.stream, &params, nil))
		},
		func() error { return d.Err("cuEventRecord", d.EventRecord(d.end, d.stream)) },
		func() error { return d.Err("cuMemcpyDtoHAsync", d.MemcpyDtoH(d.back, d.out, d.bytes(), d.stream)) },
		func() error { return d.Err("cuStreamSynchronize", d.StreamSynchronize(d.stream)) },
		func() error { return d.Err("cuEventElapsedTime", d.EventElapsedTime(&milliseconds, d.start, d.end)) },
	)
	return time.Duration(float64(milliseconds) * float64(time.Millisecond)), d.cycles(), err
}

// cycles is the median of the blocks, of which the first thread speaks for all.
func (d *device) cycles() float64 {
	all := unsafe.Slice((*[2]uint32)(d.back), d.threads())
	var blocks []uint32
	for i := 0; i < len(all); i += threads {
		blocks = append(blocks, all[i][0])
	}
	slices.Sort(blocks)
	return float64(blocks[len(blocks)/2])
}

// sums are what the threads' chains came to.
func (d *device) sums() (sums []uint32) {
	for _, thread := range unsafe.Slice((*[2]uint32)(d.back), d.threads()) {
		sums = append(sums, thread[1])
	}
	return sums
}
