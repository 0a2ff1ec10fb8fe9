//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/cuda"
	"refrain/cuda/cudatest"
	"refrain/hashcodes"
	"refrain/sigstore/gpu"
	"refrain/sigstore/scan"
)

func devicesConfig(f *cudatest.Driver, log *bytes.Buffer) gpu.DevicesConfig {
	c := gpu.DefaultDevices()
	c.Library, c.Kernel = f.Library, "popcount"
	c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return c
}

func openDevices(t *testing.T, c gpu.DevicesConfig) *gpu.Devices {
	t.Helper()
	d, err := gpu.OpenDevices(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestNumbers: what the setting may say.
func TestNumbers(t *testing.T) {
	for s, want := range map[string][]int{"all": nil, "0": {0}, "2, 0": {2, 0}} {
		if got, err := gpu.ParseNumbers(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "-1", "first", "0,0", "0,", "0 1", "99999999999999999999"} {
		if got, err := gpu.ParseNumbers(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", s)) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// TestDealing: windows are dealt evenly, whichever come and go, and one that goes makes room for the next on its device.
func TestDealing(t *testing.T) {
	f := cudatest.New(t)
	f.Reset(1<<30, 3, 90, 2)
	var log bytes.Buffer
	d := openDevices(t, devicesConfig(f, &log))
	if n := strings.Count(log.String(), "engine: cuda"); n != 3 {
		t.Errorf("%d devices are named in the log:\n%s", n, &log)
	}
	var taken []*gpu.Device
	for range 7 {
		taken = append(taken, d.Take())
	}
	windows := map[*gpu.Device]int{}
	for _, device := range taken {
		windows[device]++
	}
	wantEven(t, windows)
	for _, left := range taken {
		left.Release()
		windows[left]--
		windows[d.Take()]++
		wantEven(t, windows)
	}
}

// wantEven wants as many windows of each of three devices, about.
func wantEven(t *testing.T, windows map[*gpu.Device]int) {
	t.Helper()
	counts := slices.Sorted(maps.Values(windows))
	if len(counts) != 3 || counts[2]-counts[0] > 1 {
		t.Errorf("windows by device: %d", counts)
	}
}

// TestDevicesThatFail: of all that there are one that fails is left out, with a warning; one that is named has to work; and
// where none works or there is none the error says so. Nothing stays open.
func TestDevicesThatFail(t *testing.T) {
	f := cudatest.New(t)
	var log bytes.Buffer
	c := devicesConfig(f, &log)

	f.Reset(1<<30, 2, 90, 2)
	f.Fail("cuStreamCreate", 1, 999)
	f.Forget = true // a device that fails gives nothing back
	d := openDevices(t, c)
	if first, second := d.Take(), d.Take(); first != second || !strings.Contains(log.String(), "a device is left out") ||
		!strings.Contains(log.String(), "open device 0") {
		t.Errorf("the first device fails; the log says\n%s", &log)
	}

	c.Numbers = []int{1, 2}
	f.Reset(1<<30, 2, 90, 2)
	if _, err := gpu.OpenDevices(t.Context(), c); err == nil || !strings.Contains(err.Error(), "there is no GPU 2: the NVIDIA driver finds 2") {
		t.Errorf("a device that is not there: %v", err)
	}
	c.Numbers = nil
	f.Reset(1<<30, 0, 90, 2)
	if _, err := gpu.OpenDevices(t.Context(), c); !errors.Is(err, cuda.ErrUnavailable) || !strings.Contains(err.Error(), "finds no GPU") {
		t.Errorf("no GPU: %v", err)
	}
	c.Library = "no-such-library.so"
	if _, err := gpu.OpenDevices(t.Context(), c); !errors.Is(err, cuda.ErrUnavailable) {
		t.Errorf("no driver: %v", err)
	}
}

// TestNoMoreThanWindows: of all no more are opened than there are windows for, of those that are named all.
func TestNoMoreThanWindows(t *testing.T) {
	f := cudatest.New(t)
	for _, c := range []struct {
		windows int
		numbers []int
		want    int
	}{{0, nil, 3}, {2, nil, 2}, {5, nil, 3}, {1, []int{2, 0}, 2}} {
		f.Reset(1<<30, 3, 90, 2)
		var log bytes.Buffer
		cfg := devicesConfig(f, &log)
		cfg.Windows, cfg.Numbers = c.windows, c.numbers
		d, err := gpu.OpenDevices(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "engine: cuda"); n != c.want {
			t.Errorf("%+v: %d devices are open", c, n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTakeWhatWorks: a window is dealt to no device that has failed another, as long as one is left.
func TestTakeWhatWorks(t *testing.T) {
	f := cudatest.New(t)
	f.Reset(1<<30, 2, 90, 2)
	f.Forget = true
	var log bytes.Buffer
	d := openDevices(t, devicesConfig(f, &log))
	first, second := d.Take(), d.Take()
	failDevice(t, f, first)
	for range 3 {
		if got := d.Take(); got != second {
			t.Error("a window is dealt to a device that is lost")
		}
	}
	if !first.Lost() || second.Lost() {
		t.Errorf("lost: %v, %v", first.Lost(), second.Lost())
	}
	bounds := hashcodes.NewBounds(fourFifths, 1)
	w := newWindow(t, nil, 1, never, fourFifths, 4)
	w.index = first.Engine(bounds, 1, scan.New(bounds, 1))(w) // as when a window makes itself a new index
	w.run(15)
	if got, want := w.index.Batch(), w.reference.Batch(); got != want {
		t.Errorf("batches of %d, want those of the CPU's engine, %d: the device is tried again", got, want)
	}
}

// failDevice has a window of a device send rows, which fails.
func failDevice(t *testing.T, f *cudatest.Driver, device *gpu.Device) {
	t.Helper()
	w := newWindow(t, nil, 1, never, fourFifths, 2)
	bounds := hashcodes.NewBounds(fourFifths, 1)
	w.index = device.Engine(bounds, 1, scan.New(bounds, 1))(w)
	w.open()
	w.add(3000)
	f.Fail("cuMemAlloc", 1, cudatest.LaunchFailed)
	for range 100 {
		if w.search(100); device.Lost() {
			return
		}
	}
	t.Fatal("no row was sent")
}

// TestSpeed: what is measured is a time for each, without a device that stays behind.
func TestSpeed(t *testing.T) {
	f := cudatest.New(t)
	f.Reset(1<<30, 2, 90, 2)
	var log bytes.Buffer
	found := gpu.Find(devicesConfig(f, &log))
	if n := strings.Count(f.Log(), "\n"); n > 0 {
		t.Errorf("%d calls of the driver before somebody asks", n)
	}
	a, b := found.Place(), found.Place()
	for _, p := range []*gpu.Place{a, b} {
		for range 3 {
			if _, err := p.Speed(1); err != nil && !errors.Is(err, gpu.ErrNotYet) {
				t.Fatal(err)
			}
			found.Wait()
		}
		s, err := p.Speed(1)
		if err != nil || s.Launch <= 0 || s.Comparison <= 0 || s.Comparison > s.Launch {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if a.Device() == b.Device() {
		t.Error("two windows have the same of two devices")
	}
	f.Forget = true
	failDevice(t, f, a.Device())
	if _, err := a.Speed(1); !errors.Is(err, cuda.ErrDeviceLost) {
		t.Errorf("a lost device still has a speed: %v", err)
	}
	if _, err := b.Speed(1); err != nil {
		t.Errorf("the other device: %v", err)
	}
	for _, p := range []*gpu.Place{a, b} {
		p.Release()
	}
	if err := found.Close(); err != nil {
		t.Error(err)
	}
	if _, err := found.Place().Speed(2); err != nil && errors.Is(err, gpu.ErrNotYet) {
		t.Error("a closed finder begins to measure")
	}
}

// TestFindsNothing: without a driver or a GPU nobody is warned; of a GPU that does not work there is one line.
func TestFindsNothing(t *testing.T) {
	f := cudatest.New(t)
	f.Forget = true // contexts of devices that fail
	for _, c := range []struct {
		name, library string
		devices       int32
		fail          string
		warnings      int
	}{
		{name: "no driver", library: "no-such-library.so"},
		{name: "no GPU"},
		{name: "a driver that fails", devices: 1, fail: "cuInit", warnings: 1},
		{name: "a GPU that fails", devices: 1, fail: "cuStreamCreate", warnings: 1},
		{name: "a GPU that fails in use", devices: 1, fail: "cuMemcpyDtoHAsync", warnings: 1},
	} {
		f.Reset(1<<30, c.devices, 90, 2)
		if c.fail != "" {
			f.Fail(c.fail, 1, 999)
		}
		var log bytes.Buffer
		cfg := devicesConfig(f, &log)
		if c.library != "" {
			cfg.Library = c.library
		}
		found := gpu.Find(cfg)
		p := found.Place()
		for range 3 {
			_, _ = p.Speed(2)
			found.Wait()
		}
		if _, err := p.Speed(2); err == nil || errors.Is(err, gpu.ErrNotYet) {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != c.warnings {
			t.Errorf("%s: %d warnings, want %d:\n%s", c.name, n, c.warnings, &log)
		}
		p.Release()
		if err := found.Close(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestFindsQuietly: who gives no logger hears of nothing that works.
func TestFindsQuietly(t *testing.T) {
	f := cudatest.New(t)
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	cfg := devicesConfig(f, &log)
	cfg.Logger = nil
	found := gpu.Find(cfg)
	p := found.Place()
	for range 3 {
		_, _ = p.Speed(1)
		found.Wait()
	}
	if _, err := p.Speed(1); err != nil || log.Len() > 0 {
		t.Errorf("%v, log:\n%s", err, &log)
	}
	if err := found.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpeningIsEnded: whoever no longer wants the devices does not wait for one that hangs, and it is closed when the driver comes
// back.
func TestOpeningIsEnded(t *testing.T) {
	f := cudatest.New(t)
	before := f.Live()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	f.Hang("popcount")
	ended := make(chan error, 1)
	go func() {
		_, err := gpu.OpenDevices(ctx, devicesConfig(f, &log))
		ended <- err
	}()
	await(t, "a hang", func() bool { return f.Waiting() > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	f.Release()
	await(t, "the end of the device", func() bool { return f.Live() == before })
}

// cancelling is a log that ends what it hears of.
type cancelling func()

func (c cancelling) Write(p []byte) (int, error) {
	c()
	return len(p), nil
}

// TestOpeningIsEndedBehind: a device that was opened just then is given back, too.
func TestOpeningIsEndedBehind(t *testing.T) {
	f := cudatest.New(t)
	f.Reset(1<<30, 2, 90, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cfg := devicesConfig(f, new(bytes.Buffer))
	cfg.Logger = slog.New(slog.NewTextHandler(cancelling(cancel), nil)) // it hears first that the first is open
	if _, err := gpu.OpenDevices(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestFindingIsEnded: nor does who closes a Finder.
func TestFindingIsEnded(t *testing.T) {
	f := cudatest.New(t)
	before := f.Live()
	var log bytes.Buffer
	finder := gpu.Find(devicesConfig(f, &log))
	f.Hang("popcount")
	if _, err := finder.Place().Speed(2); !errors.Is(err, gpu.ErrNotYet) {
		t.Fatal(err)
	}
	await(t, "a hang", func() bool { return f.Waiting() > 0 })
	if err := finder.Close(); err != nil || log.Len() > 0 {
		t.Errorf("%v; log:\n%s", err, &log)
	}
	f.Release()
	await(t, "the end of the device", func() bool { return f.Live() == before })
}

// await polls what another goroutine brings about.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("no %s in a minute", what)
		}
	}
}
