package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"refrain/cuda/driver"
)

// kernel is one way to scan. It has a function for each of some widths of signatures.
type kernel struct {
	name      string
	file      string
	below     int        // capability from which on it is not offered; 0: none
	functions []function // by words
}

// function is a kernel for signatures of up to some words; or, where exact, of just these.
type function struct {
	name   string
	words  int
	exact  bool
	tile   int                 // rows a block of threads compares
	shared func(words int) int // bytes of shared memory a block, for queries
	handle uintptr
}

// kernels is what there is, by what they are told apart; the sizes are those of the .cu files. The first can run on
// every device and is the one that the others are measured against; the last is a baseline and never chosen.
func kernels() []*kernel {
	bytes := func(n int) func(int) int { return func(int) int { return n } }
	return []*kernel{
		{name: "popcount", file: "popcount.ptx", functions: []function{
			{name: "popcount1", words: 1, exact: true, tile: 2048, shared: bytes(1024 * 8)},
			{name: "popcount2", words: 2, exact: true, tile: 2048, shared: bytes(1024 * 16)},
			{name: "popcount4", words: 4, exact: true, tile: 2048, shared: bytes(512 * 24)},
			{name: "popcount8", words: 8, exact: true, tile: 1024, shared: bytes(256 * 40)},
			{name: "popcountn", words: maxWords, tile: 1024, shared: func(words int) int { return 128 * 4 * (words + 1) }},
		}},
		{name: "imma", file: "imma.ptx", functions: []function{
			{name: "imma1", words: 1, tile: 2048, shared: bytes(16<<10 + 512*8)},
			{name: "imma2", words: 2, tile: 2048, shared: bytes(16<<10 + 256*8)},
			{name: "imma4", words: 4, tile: 512, shared: bytes(16<<10 + 128*8)},
			{name: "imma8", words: 8, tile: 256, shared: bytes(16<<10 + 64*8)},
			{name: "imma16", words: 16, tile: 128, shared: bytes(16<<10 + 32*8)},
			{name: "imma32", words: 32, tile: 128, shared: bytes(16<<10 + 16*8)},
		}},
		{name: "bmma", file: "bmma.ptx", below: 100, functions: []function{
			{name: "bmma2", words: 2, tile: 1024, shared: bytes(8<<10 + 512*8)},
			{name: "bmma4", words: 4, tile: 1024, shared: bytes(8<<10 + 512*8)},
			{name: "bmma8", words: 8, tile: 512, shared: bytes(8<<10 + 256*8)},
			{name: "bmma16", words: 16, tile: 256, shared: bytes(8<<10 + 128*8)},
			{name: "bmma32", words: 32, tile: 128, shared: bytes(8<<10 + 64*8)},
		}},
		{name: "paper", file: "paper.ptx", functions: []function{{name: "paper", words: maxWords, tile: threads,
			shared: bytes(0)}}},
	}
}

const paper = "paper"

// gathered is the size of struct Gathered, before the queries in shared memory.
const gathered = 16 + 512*8

// function is the one for signatures of so many words.
func (k *kernel) function(words int) *function {
	for i := range k.functions {
		if f := &k.functions[i]; f.words == words || f.words > words && !f.exact {
			return f
		}
	}
	panic("cuda: no kernel for signatures of this width")
}

// Kernels are the names of the kernels that this device can run and that passed the test at opening.
func (d *Device) Kernels() []string {
	var names []string
	for _, k := range d.kernels {
		names = append(names, k.name)
	}
	return names
}

func (d *Device) kernel(name string) (*kernel, error) {
	for _, k := range d.kernels {
		if k.name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("kernel %q: there are %s", name, strings.Join(d.Kernels(), ", "))
}

// force makes all scans use a kernel.
func (d *Device) force(name string) (err error) {
	if name != "" {
		d.forced, err = d.kernel(name)
	}
	return err
}

// load has the driver compile the kernel that is told, or, with "", all of them. One that needs another device, or that has
// faulted on this one, is left out; without any, nothing works.
func (d *Device) load(only string) error {
	var refused []error
	for _, k := range kernels() {
		if only != "" && k.name != only {
			continue
		}
		if k.below > 0 && d.capability >= k.below {
			d.log.Info("cuda kernel not offered: its instructions are emulated from some capability on", "device", d.name,
				"capability", d.capability, "kernel", k.name, "below", k.below)
			continue
		}
		if err := d.faulty[k.name]; err != nil {
			refused = append(refused, err)
			continue
		}
		if err := d.loadKernel(k); err != nil {
			d.log.Warn("cuda kernel not offered", "device", d.name, "capability", d.capability, "kernel", k.name, "err", err)
			refused = append(refused, fmt.Errorf("load kernel %s: %w", k.name, err))
			continue
		}
		d.kernels = append(d.kernels, k)
	}
	if len(d.kernels) == 0 {
		return driver.Unavailable(errors.Join(refused...))
	}
	return nil
}

func (d *Device) loadKernel(k *kernel) error {
	module, err := d.compile(k.file)
	if err != nil {
		return err
	}
	d.modules = append(d.modules, module)
	for i := range k.functions {
		f := &k.functions[i]
		name := append([]byte(f.name), 0)
		if err := d.driver.Err("cuModuleGetFunction", d.driver.ModuleGetFunc(&f.handle, module, &name[0])); err != nil {
			return err
		}
	}
	return nil
}

// compile loads a module; when the driver refuses it, the error has its reasons.
func (d *Device) compile(file string) (module uintptr, err error) {
	text, err := d.ptx.ReadFile(file)
	if err != nil {
		return 0, err
	}
	text = append(text, 0)
	log := make([]byte, 4096)
	var pin runtime.Pinner // the driver is told where the log is by a number
	pin.Pin(&log[0])
	defer pin.Unpin()
	options := []int32{driver.JitErrorLog, driver.JitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log) - 1)}
	code := d.driver.ModuleLoad(&module, unsafe.Pointer(&text[0]), uint32(len(options)), &options[0], &values[0])
	if err := d.driver.Err("cuModuleLoadDataEx", code); err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(driver.CString(&log[0])))
	}
	return module, nil
}
