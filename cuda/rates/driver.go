package rates

import (
	"fmt"
	"unsafe"
)

// driver is the part of NVIDIA's driver API that this package uses. Package cuda has more of it, for itself.
type driver struct {
	init               func(flags uint32) int32
	version            func(version *int32) int32
	errorName          func(code int32, text **byte) int32
	deviceGet          func(device *int32, ordinal int32) int32
	deviceName         func(name *byte, size int32, device int32) int32
	deviceAttribute    func(value *int32, attribute int32, device int32) int32
	primaryCtxRetain   func(context *uintptr, device int32) int32
	primaryCtxRelease  func(device int32) int32
	ctxPushCurrent     func(context uintptr) int32
	ctxPopCurrent      func(context *uintptr) int32
	memAlloc           func(at *uint64, bytes uintptr) int32
	memFree            func(at uint64) int32
	memHostAlloc       func(at *unsafe.Pointer, bytes uintptr, flags uint32) int32
	memFreeHost        func(at unsafe.Pointer) int32
	memcpyDtoH         func(to unsafe.Pointer, from uint64, bytes uintptr, stream uintptr) int32
	moduleLoad         func(module *uintptr, image unsafe.Pointer, n uint32, options *int32, values *uintptr) int32
	moduleUnload       func(module uintptr) int32
	moduleFunction     func(function *uintptr, module uintptr, name *byte) int32
	launchKernel       func(function uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, stream uintptr, params, extra *unsafe.Pointer) int32
	streamCreate       func(stream *uintptr, flags uint32) int32
	streamDestroy      func(stream uintptr) int32
	streamSynchronize  func(stream uintptr) int32
	eventCreate        func(event *uintptr, flags uint32) int32
	eventDestroy       func(event uintptr) int32
	eventRecord        func(event, stream uintptr) int32
	eventElapsedMillis func(milliseconds *float32, start, end uintptr) int32
}

// symbols are the names of the functions in the library, and where they go.
func (d *driver) symbols() map[string]any {
	return map[string]any{
		"cuInit": &d.init, "cuDriverGetVersion": &d.version, "cuGetErrorName": &d.errorName, "cuDeviceGet": &d.deviceGet,
		"cuDeviceGetName": &d.deviceName, "cuDeviceGetAttribute": &d.deviceAttribute,
		"cuDevicePrimaryCtxRetain": &d.primaryCtxRetain, "cuDevicePrimaryCtxRelease_v2": &d.primaryCtxRelease,
		"cuCtxPushCurrent_v2": &d.ctxPushCurrent, "cuCtxPopCurrent_v2": &d.ctxPopCurrent,
		"cuMemAlloc_v2": &d.memAlloc, "cuMemFree_v2": &d.memFree,
		"cuMemHostAlloc": &d.memHostAlloc, "cuMemFreeHost": &d.memFreeHost, "cuMemcpyDtoHAsync_v2": &d.memcpyDtoH,
		"cuModuleLoadDataEx": &d.moduleLoad, "cuModuleUnload": &d.moduleUnload, "cuModuleGetFunction": &d.moduleFunction,
		"cuLaunchKernel": &d.launchKernel, "cuStreamCreate": &d.streamCreate, "cuStreamDestroy_v2": &d.streamDestroy,
		"cuStreamSynchronize": &d.streamSynchronize, "cuEventCreate": &d.eventCreate, "cuEventDestroy_v2": &d.eventDestroy,
		"cuEventRecord": &d.eventRecord, "cuEventElapsedTime": &d.eventElapsedMillis,
	}
}

// Constants of the driver API.
const (
	attributeProcessors = 16
	attributeMajor      = 75
	attributeMinor      = 76
	streamPlain         = 1 // does not wait for the legacy default stream
)

// err makes an error of what a call returned.
func (d *driver) err(call string, code int32) error {
	if code == 0 {
		return nil
	}
	var name *byte
	if d.errorName(code, &name) != 0 || name == nil {
		return fmt.Errorf("%s: error %d", call, code)
	}
	return fmt.Errorf("%s: %s (error %d)", call, cString(name), code)
}

// cString copies a string that ends with a zero.
func cString(at *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}
