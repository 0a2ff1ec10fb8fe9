//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"strings"
	"testing"

	"refrain/cuda/driver"
)

// TestCount: all that the driver shows; none is no mistake, a driver that does not work is one, and no driver another.
func TestCount(t *testing.T) {
	f := newFake(t)
	for _, devices := range []int32{1, 3, 0} {
		f.Reset(1<<30, devices, 90, 2)
		if n, err := Count(f.Library); n != int(devices) || err != nil {
			t.Errorf("%d, %v: want %d", n, err, devices)
		}
	}
	f.Reset(1<<30, 1, 90, 2)
	f.Fail("cuInit", 1, int32(driver.NoDevice))
	if n, err := Count(f.Library); n != 0 || err != nil {
		t.Errorf("%d, %v where the driver finds no GPU", n, err)
	}
	for _, call := range []string{"cuInit", "cuDeviceGetCount"} {
		f.Reset(1<<30, 1, 90, 2)
		f.Fail(call, 1, 999)
		if _, err := Count(f.Library); err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), call) {
			t.Errorf("%s fails: %v", call, err)
		}
	}
	if _, err := Count("no-such-library.so"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no driver: %v", err)
	}
}

// TestKernelNames: whatever a device offers has a name that may be told.
func TestKernelNames(t *testing.T) {
	f := newFake(t)
	d := f.openAll(t)
	if got, want := strings.Join(KernelNames(), " "), strings.Join(d.Kernels(), " "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
