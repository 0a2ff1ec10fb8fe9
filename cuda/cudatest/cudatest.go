//go:build linux && (amd64 || arm64) && !nocuda

package cudatest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
)

// Codes of errors that calls can be told to fail with.
const (
	OutOfMemory    = 2   // the device goes on
	IllegalAddress = 700 // the device is lost, as by the others
	Misaligned     = 716
	LaunchFailed   = 719
)

// Order is when a device does what is put on its streams, where the driver's manual leaves it open.
type Order int32

// The orders. A program that is right gives the same in each.
const (
	Late  Order = iota // when someone waits for it; so after Reset
	Early              // at once, unless it has to wait
	Mixed              // now and then, some of it
)

func (o Order) String() string { return [...]string{"late", "early", "mixed"}[o] }

// Orders are all of them.
func Orders() []Order { return []Order{Late, Early, Mixed} }

// Driver is the library and what tests do to it.
type Driver struct {
	Library string // for cuda.Config
	// Reset forgets what went before and makes devices with so many bytes of memory, of a capability such as 90, with so
	// many multiprocessors.
	Reset func(memory uintptr, devices, capability, processors int32) int32
	// Order says when work is done from now on.
	Order func(Order) int32
	// Fail lets a call fail with a code: the next one where after is 1.
	Fail func(call string, after, code int32) int32
	// Break lets kernels whose names begin so do nothing.
	Break func(kernel string) int32
	// Fault lets kernels whose names begin so fail, which takes their context with it: every call returns the code until the
	// context is reset.
	Fault func(kernel string, code int32) int32
	// Hang lets kernels whose names begin so never end, until Release, which returns when nobody waits for one any more.
	Hang    func(kernel string) int32
	Release func() int32
	// Waiting is the number of threads that wait for a kernel that hangs.
	Waiting func() int32
	// Time lets the next launches of kernels whose names begin so take so long, and behind them those of later calls. From then
	// on all others take no time.
	Time func(kernel string, launches, microseconds int32) int32
	// Live is the number of things made and not given back: contexts, memory, streams, events, modules.
	Live func() int32
	// Log is one line a call.
	Log func() string
	// Forms is the names of the PTX instructions that it knows, one a line.
	Forms func() string
	// Forget says that the device is lost, which gives nothing back: nobody counts at the end of the test.
	Forget bool
	// Complains says that the test makes mistakes by intention, and looks at the log itself.
	Complains bool
}

// New is a driver with one device of a gigabyte. It is one for the whole process: tests that use it run one by one. At the
// end of the test all must be given back and all calls right. Where there is no compiler the test is skipped.
func New(tb testing.TB) *Driver {
	tb.Helper()
	d := &Driver{Library: Library(tb)}
	handle, err := purego.Dlopen(d.Library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		tb.Fatal(err)
	}
	for name, function := range map[string]any{"fake_reset": &d.Reset, "fake_order": &d.Order, "fake_fail": &d.Fail, "fake_break": &d.Break,
		"fake_fault": &d.Fault, "fake_hang": &d.Hang, "fake_release": &d.Release, "fake_waiting": &d.Waiting, "fake_time": &d.Time,
		"fake_live": &d.Live, "fake_log": &d.Log, "fake_forms": &d.Forms} {
		purego.RegisterLibFunc(function, handle, name)
	}
	d.Reset(1<<30, 1, 90, 2)
	before := d.Live()
	tb.Cleanup(func() { d.check(tb, before) })
	return d
}

func (d *Driver) check(tb testing.TB, before int32) {
	tb.Helper()
	d.Release() // or the next test's kernels hang
	if leaked := d.Live() - before; leaked != 0 && !d.Forget && !tb.Failed() {
		tb.Errorf("%d things of the driver were not given back", leaked)
	}
	for line := range strings.Lines(d.Log()) {
		if strings.HasPrefix(line, "WRONG") && !d.Complains {
			tb.Errorf("the driver complains: %s", line)
		}
	}
}

// LibraryVariable names a library that is built already: one for many processes (cuda's TestMutants).
const LibraryVariable = "REFRAIN_CUDATEST_LIBRARY"

// Library is the path of the driver's library, built by the first call of the process.
func Library(tb testing.TB) string {
	tb.Helper()
	if library := os.Getenv(LibraryVariable); library != "" {
		return library
	}
	if _, err := exec.LookPath("g++"); err != nil {
		tb.Skip("no C++ compiler (Debian: g++): the PTX of the kernels is not executed")
	}
	library, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return library
}

// Main runs the tests of a package, for its TestMain, and removes the library.
func Main(m *testing.M) int {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	return code
}

var built string // the folder

var build = sync.OnceValues(func() (string, error) {
	source, err := sources()
	if err != nil {
		return "", err
	}
	if built, err = os.MkdirTemp("", "refrain-cuda"); err != nil {
		return "", err
	}
	library := filepath.Join(built, "libcuda.so")
	link := []string{"-shared", "-o", library}
	var wait sync.WaitGroup
	parts := []string{"forms", "grid", "read", "libcuda"}
	errs := make([]error, len(parts))
	for i, name := range parts {
		object := filepath.Join(built, name+".o")
		link = append(link, object)
		wait.Go(func() {
			errs[i] = compile("-std=c++20", "-O2", "-march=native", "-fPIC", "-c", filepath.Join(source, name+".cc"), "-o", object)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return library, compile(link...)
})

// sources is the folder cuda/testdata of the repository that holds the test at hand.
func sources() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for up := ""; up != dir; up, dir = dir, filepath.Dir(dir) {
		source := filepath.Join(dir, "cuda", "testdata")
		if _, err := os.Stat(filepath.Join(source, "libcuda.cc")); err == nil {
			return source, nil
		}
	}
	return "", errors.New("no cuda/testdata above the test")
}

func compile(arguments ...string) error {
	if output, err := exec.Command("g++", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("g++: %w\n%s", err, output)
	}
	return nil
}
