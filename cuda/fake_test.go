//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
)

// fake is a driver without a device (testdata/libcuda.cc).
type fake struct {
	library string
	reset   func(memory uintptr, devices, capability, processors int32) int32
	fail    func(call string, after, code int32) int32
	disable func(kernel string) int32
	live    func() int32
	log     func() string
}

var builtFake = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "refrain-cuda")
	if err != nil {
		return "", err
	}
	library := filepath.Join(dir, "libcuda.so")
	sources, err := filepath.Glob("testdata/*.cc")
	if err != nil {
		return "", err
	}
	arguments := append([]string{"-std=c++17", "-O2", "-fPIC", "-shared", "-o", library}, sources...)
	output, err := exec.Command("g++", arguments...).CombinedOutput()
	os.Stderr.Write(output)
	return library, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if library, err := builtFake(); err == nil {
		os.RemoveAll(filepath.Dir(library))
	}
	os.Exit(code)
}

// newFake is a driver with one device of a gigabyte. It is one for the whole process: tests that use it run one by one.
func newFake(tb testing.TB) *fake {
	tb.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		tb.Skip("no C++ compiler (Debian: g++): the kernels are not tried")
	}
	library, err := builtFake()
	if err != nil {
		tb.Fatal(err)
	}
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		tb.Fatal(err)
	}
	f := &fake{library: library}
	for name, function := range map[string]any{"fake_reset": &f.reset, "fake_fail": &f.fail, "fake_break": &f.disable,
		"fake_live": &f.live, "fake_log": &f.log} {
		purego.RegisterLibFunc(function, handle, name)
	}
	f.reset(1<<30, 1, 90, 2)
	before := f.live()
	tb.Cleanup(func() {
		if left := f.live() - before; left != 0 && !tb.Failed() {
			tb.Errorf("%d things of the driver were not given back", left)
		}
		if log := f.log(); strings.Contains(log, "WRONG") {
			tb.Errorf("the driver complains:\n%s", log[strings.Index(log, "WRONG"):])
		}
	})
	return f
}

// open opens the device of a fake driver, with buffers so small that tests fill them.
func (f *fake) open(tb testing.TB, config Config) *Device {
	tb.Helper()
	config.library = f.library
	if config.sizes == (sizes{}) {
		config.sizes = sizes{staging: 3000, hits: 1 << 12, trial: 64, chunk: 4 * chunkUnit}
	}
	d, err := Open(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}
