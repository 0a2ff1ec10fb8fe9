package cuda

import "unsafe"

// driver is the part of NVIDIA's driver API that this package uses, under the names of its manual. Handles are
// uintptr, addresses in device memory uint64.
type driver struct {
	init             func(flags uint32) result
	driverGetVersion func(version *int32) result
	getErrorName     func(code result, text **byte) result
	getErrorString   func(code result, text **byte) result

	deviceGetCount     func(count *int32) result
	deviceGet          func(device *int32, ordinal int32) result
	deviceGetName      func(name *byte, size int32, device int32) result
	deviceGetAttribute func(value *int32, attribute int32, device int32) result

	primaryCtxSetFlags func(device int32, flags uint32) result
	primaryCtxRetain   func(context *uintptr, device int32) result
	primaryCtxRelease  func(device int32) result
	primaryCtxReset    func(device int32) result
	ctxPushCurrent     func(context uintptr) result
	ctxPopCurrent      func(context *uintptr) result

	memGetInfo    func(free, total *uintptr) result
	memAlloc      func(at *uint64, bytes uintptr) result
	memFree       func(at uint64) result
	memHostAlloc  func(at *unsafe.Pointer, bytes uintptr, flags uint32) result
	memFreeHost   func(at unsafe.Pointer) result
	memcpyHtoD    func(to uint64, from unsafe.Pointer, bytes uintptr, stream uintptr) result
	memcpyDtoH    func(to unsafe.Pointer, from uint64, bytes uintptr, stream uintptr) result
	memsetD32     func(at uint64, value uint32, count uintptr, stream uintptr) result
	moduleLoad    func(module *uintptr, image unsafe.Pointer, n uint32, options *int32, values *uintptr) result
	moduleUnload  func(module uintptr) result
	moduleGetFunc func(function *uintptr, module uintptr, name *byte) result
	launchKernel  func(function uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, stream uintptr,
		params *unsafe.Pointer, extra *unsafe.Pointer) result

	streamCreate      func(stream *uintptr, flags uint32) result
	streamDestroy     func(stream uintptr) result
	streamSynchronize func(stream uintptr) result
	streamQuery       func(stream uintptr) result
	streamWaitEvent   func(stream, event uintptr, flags uint32) result

	eventCreate      func(event *uintptr, flags uint32) result
	eventDestroy     func(event uintptr) result
	eventRecord      func(event, stream uintptr) result
	eventSynchronize func(event uintptr) result
	eventElapsedTime func(milliseconds *float32, start, end uintptr) result
}

// symbols are the names of the functions in the library, and where they go. The ending _v2 is that of the
// functions which the manual means by the name without.
func (d *driver) symbols() map[string]any {
	return map[string]any{
		"cuInit": &d.init, "cuDriverGetVersion": &d.driverGetVersion,
		"cuGetErrorName": &d.getErrorName, "cuGetErrorString": &d.getErrorString,
		"cuDeviceGetCount": &d.deviceGetCount, "cuDeviceGet": &d.deviceGet,
		"cuDeviceGetName": &d.deviceGetName, "cuDeviceGetAttribute": &d.deviceGetAttribute,
		"cuDevicePrimaryCtxSetFlags_v2": &d.primaryCtxSetFlags, "cuDevicePrimaryCtxRetain": &d.primaryCtxRetain,
		"cuDevicePrimaryCtxRelease_v2": &d.primaryCtxRelease, "cuDevicePrimaryCtxReset_v2": &d.primaryCtxReset,
		"cuCtxPushCurrent_v2": &d.ctxPushCurrent, "cuCtxPopCurrent_v2": &d.ctxPopCurrent,
		"cuMemGetInfo_v2": &d.memGetInfo, "cuMemAlloc_v2": &d.memAlloc, "cuMemFree_v2": &d.memFree,
		"cuMemHostAlloc": &d.memHostAlloc, "cuMemFreeHost": &d.memFreeHost,
		"cuMemcpyHtoDAsync_v2": &d.memcpyHtoD, "cuMemcpyDtoHAsync_v2": &d.memcpyDtoH, "cuMemsetD32Async": &d.memsetD32,
		"cuModuleLoadDataEx": &d.moduleLoad, "cuModuleUnload": &d.moduleUnload, "cuModuleGetFunction": &d.moduleGetFunc,
		"cuLaunchKernel": &d.launchKernel,
		"cuStreamCreate": &d.streamCreate, "cuStreamDestroy_v2": &d.streamDestroy,
		"cuStreamSynchronize": &d.streamSynchronize, "cuStreamQuery": &d.streamQuery, "cuStreamWaitEvent": &d.streamWaitEvent,
		"cuEventCreate": &d.eventCreate, "cuEventDestroy_v2": &d.eventDestroy, "cuEventRecord": &d.eventRecord,
		"cuEventSynchronize": &d.eventSynchronize, "cuEventElapsedTime": &d.eventElapsedTime,
	}
}

// Constants of the driver API.
const (
	attributeMultiprocessors = 16
	attributeMajor           = 75
	attributeMinor           = 76

	scheduleBlocking = 4 // a thread that waits for the device sleeps
	streamPlain      = 1 // does not wait for the legacy default stream
	eventBlocking    = 1
	eventUntimed     = 2

	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// err makes an error of what a call returned.
func (d *driver) err(call string, code result) error {
	if code == success {
		return nil
	}
	return &callError{call: call, code: code, text: d.text(code)}
}

func (d *driver) text(code result) string {
	var name, text *byte
	if d.getErrorName(code, &name) != success || d.getErrorString(code, &text) != success || name == nil || text == nil {
		return "unknown error"
	}
	return cString(name) + ": " + cString(text)
}

// cString copies a string that ends with a zero.
func cString(at *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}
