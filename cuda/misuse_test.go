//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"strings"
	"testing"
	"unsafe"

	"refrain/cuda/cudatest"
	"refrain/cuda/driver"
)

// What package cuda must not ask of a driver, the fake one refuses, also where a real one would say nothing.
func TestMisuse(t *testing.T) {
	var handle uintptr
	var at unsafe.Pointer
	var milliseconds float32
	for name, c := range map[string]struct {
		do   func(r *rig) driver.Result
		want string
	}{
		"time of an event without": {func(r *rig) driver.Result {
			timed, untimed := r.event(driver.EventBlocking), r.event(driver.EventUntimed)
			r.must(r.EventRecord(timed, r.stream))
			r.must(r.EventRecord(untimed, r.stream))
			r.must(r.StreamSynchronize(r.stream))
			return r.EventElapsedTime(&milliseconds, timed, untimed)
		}, "time of an event made without"},
		"time of an event that never was": {func(r *rig) driver.Result {
			return r.EventElapsedTime(&milliseconds, r.event(0), r.event(0))
		}, "time of an event that never was"},
		"flags of an event":      {func(r *rig) driver.Result { return r.EventCreate(&handle, 8) }, "cuEventCreate: flags 8"},
		"flags of a stream":      {func(r *rig) driver.Result { return r.StreamCreate(&handle, 4) }, "cuStreamCreate: flags 4"},
		"flags of pinned memory": {func(r *rig) driver.Result { return r.MemHostAlloc(&at, 4, 64) }, "cuMemHostAlloc: flags 64"},
		"flags of a wait": {func(r *rig) driver.Result { return r.StreamWaitEvent(r.stream, r.event(0), 2) },
			"cuStreamWaitEvent: flags 2"},
		"flags of a context":     {func(r *rig) driver.Result { return r.PrimaryCtxSetFlags(40, 3) }, "cuDevicePrimaryCtxSetFlags: flags 3"},
		"default stream":         {func(r *rig) driver.Result { return r.StreamSynchronize(0) }, "a stream that is none"},
		"a stream as event":      {func(r *rig) driver.Result { return r.EventSynchronize(r.stream) }, "an event that is none"},
		"unaligned fill":         {func(r *rig) driver.Result { return r.MemsetD32(r.device(4)+2, 0, 1, r.stream) }, "fill of words that are not aligned"},
		"fill beyond the end":    {func(r *rig) driver.Result { return r.MemsetD32(r.device(4), 0, 5, r.stream) }, "fill of memory that is not the device's"},
		"copy beyond the end":    {func(r *rig) driver.Result { return r.toDevice(r.device(4), r.host(5), r.stream) }, "copy to memory that is not the device's"},
		"copy from plain memory": {func(r *rig) driver.Result { return r.toDevice(r.device(4), make([]uint32, 4), r.stream) }, "copy from memory that is not pinned"},
		"copy to plain memory":   {func(r *rig) driver.Result { return r.fromDevice(make([]uint32, 4), r.device(4), r.stream) }, "copy to memory that is not pinned"},
		"pinned memory freed too soon": {func(r *rig) driver.Result {
			r.must(r.MemHostAlloc(&at, 16, 0))
			r.must(r.MemcpyHtoD(r.device(4), at, 16, r.stream))
			r.must(r.MemFreeHost(at))
			return r.StreamSynchronize(r.stream)
		}, "copy from pinned memory that was freed meanwhile"},
		"device memory freed too soon": {func(r *rig) driver.Result {
			var to uint64
			r.must(r.MemAlloc(&to, 16))
			r.must(r.MemsetD32(to, 1, 4, r.stream))
			r.must(r.MemFree(to))
			return r.StreamSynchronize(r.stream)
		}, "fill of freed memory"},
		"freed twice": {func(r *rig) driver.Result {
			r.must(r.MemAlloc((*uint64)(unsafe.Pointer(&handle)), 16))
			r.must(r.MemFree(uint64(handle)))
			return r.MemFree(uint64(handle))
		}, "free of what was not allocated"},
		"stream of another device": {func(r *rig) driver.Result {
			var context uintptr
			r.fake.Reset(1<<30, 2, 90, 2)
			r.must(r.PrimaryCtxRetain(&context, 41))
			r.must(r.CtxPushCurrent(context))
			code := r.StreamSynchronize(r.stream)
			r.must(r.CtxPopCurrent(&context))
			r.must(r.PrimaryCtxRelease(41))
			return code
		}, "a stream that is none, or of another context"},
		"function of no module": {func(r *rig) driver.Result {
			return r.LaunchKernel(r.stream, 1, 1, 1, threads, 1, 1, 0, r.stream, &at, nil)
		}, "a function that is none"},
		"shape": {func(r *rig) driver.Result {
			function, code := r.load(probeBegin + probeEnd)
			r.must(code)
			return r.LaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, r.stream, &at, nil)
		}, "shape of a launch"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fake.Complains = true
			if code := c.do(r); code == driver.Success || !strings.Contains(r.fake.Log(), "WRONG: "+c.want) {
				t.Errorf("error %d, want %q:\n%s", code, c.want, r.fake.Log())
			}
			r.fake.Forget = strings.Contains(name, "too soon") // the device is lost
		})
	}
}

// The device does its work when it is told to, and whatever must wait for something does so.
func TestOrders(t *testing.T) {
	for _, order := range cudatest.Orders() {
		t.Run(order.String(), func(t *testing.T) {
			r := newRig(t)
			r.fake.Order(order)
			var other uintptr
			r.must(r.StreamCreate(&other, driver.StreamPlain))
			event := r.event(driver.EventUntimed)
			at, from, to := r.device(1), r.host(1), r.host(1)
			early := 0
			for n := range uint32(200) {
				from[0] = n
				r.must(r.toDevice(at, from, r.stream))
				r.must(r.EventRecord(event, r.stream))
				r.must(r.StreamWaitEvent(other, event, 0))
				r.must(r.fromDevice(to, at, other))
				if to[0] == n {
					early++
				}
				r.must(r.StreamSynchronize(other))
				if to[0] != n {
					t.Fatalf("copied %d after the wait, want %d", to[0], n)
				}
			}
			r.must(r.StreamDestroy(other))
			if got := min(early, 1) + early/200; got != map[cudatest.Order]int{cudatest.Late: 0, cudatest.Mixed: 1, cudatest.Early: 2}[order] {
				t.Errorf("%d of 200 results are there before anyone waits", early)
			}
		})
	}
}

// Without the wait for an event the driver.Result is wrong as soon as the work is done late.
func TestMissingWait(t *testing.T) {
	r := newRig(t)
	var other uintptr
	r.must(r.StreamCreate(&other, driver.StreamPlain))
	at, from, to := r.device(1), r.host(1), r.host(1)
	from[0] = 7
	r.must(r.toDevice(at, from, r.stream))
	r.must(r.fromDevice(to, at, other))
	r.must(r.StreamSynchronize(other))
	if to[0] == 7 {
		t.Error("the copy came through without a wait")
	}
	r.must(r.StreamSynchronize(r.stream))
	r.must(r.StreamDestroy(other))
}
