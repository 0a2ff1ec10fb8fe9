//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"testing"
)

func TestCount(t *testing.T) {
	f := newFake(t)
	for _, want := range []int{1, 3} {
		f.Reset(1<<30, int32(want), 90, 2)
		if got, err := Count(f.Library); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	f.Reset(1<<30, 0, 90, 2)
	if got, err := Count(f.Library); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a device: got %d, %v", got, err)
	}
	for call, code := range map[string]int32{"cuInit": 100, "cuDeviceGetCount": 2} {
		f.Reset(1<<30, 1, 90, 2)
		f.Fail(call, 1, code)
		if got, err := Count(f.Library); err == nil || errors.Is(err, ErrUnavailable) != (code == int32(noDevice)) {
			t.Errorf("%s fails with %d: got %d, %v", call, code, got, err)
		}
	}
	f.Reset(1<<30, 1, 90, 2)
	if got, err := Count("/nowhere/libcuda.so.1"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a driver: got %d, %v", got, err)
	}
}
