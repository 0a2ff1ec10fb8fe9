package driver

import "unsafe"

// Driver is the part of NVIDIA's driver API that Refrain uses, under the names of its manual without cu. Handles are
// uintptr, addresses in device memory uint64.
type Driver struct {
	Init             func(flags uint32) Result
	DriverGetVersion func(version *int32) Result
	GetErrorName     func(code Result, text **byte) Result
	GetErrorString   func(code Result, text **byte) Result

	DeviceGetCount     func(count *int32) Result
	DeviceGet          func(device *int32, ordinal int32) Result
	DeviceGetName      func(name *byte, size int32, device int32) Result
	DeviceGetAttribute func(value *int32, attribute int32, device int32) Result

	PrimaryCtxSetFlags func(device int32, flags uint32) Result
	PrimaryCtxRetain   func(context *uintptr, device int32) Result
	PrimaryCtxRelease  func(device int32) Result
	PrimaryCtxReset    func(device int32) Result
	CtxPushCurrent     func(context uintptr) Result
	CtxPopCurrent      func(context *uintptr) Result

	MemGetInfo    func(free, total *uintptr) Result
	MemAlloc      func(at *uint64, bytes uintptr) Result
	MemFree       func(at uint64) Result
	MemHostAlloc  func(at *unsafe.Pointer, bytes uintptr, flags uint32) Result
	MemFreeHost   func(at unsafe.Pointer) Result
	MemcpyHtoD    func(to uint64, from unsafe.Pointer, bytes uintptr, stream uintptr) Result
	MemcpyDtoH    func(to unsafe.Pointer, from uint64, bytes uintptr, stream uintptr) Result
	MemsetD32     func(at uint64, value uint32, count uintptr, stream uintptr) Result
	ModuleLoad    func(module *uintptr, image unsafe.Pointer, n uint32, options *int32, values *uintptr) Result
	ModuleUnload  func(module uintptr) Result
	ModuleGetFunc func(function *uintptr, module uintptr, name *byte) Result
	LaunchKernel  func(function uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, stream uintptr,
		params *unsafe.Pointer, extra *unsafe.Pointer) Result

	StreamCreate      func(stream *uintptr, flags uint32) Result
	StreamDestroy     func(stream uintptr) Result
	StreamSynchronize func(stream uintptr) Result
	StreamQuery       func(stream uintptr) Result
	StreamWaitEvent   func(stream, event uintptr, flags uint32) Result

	EventCreate      func(event *uintptr, flags uint32) Result
	EventDestroy     func(event uintptr) Result
	EventRecord      func(event, stream uintptr) Result
	EventSynchronize func(event uintptr) Result
	EventElapsedTime func(milliseconds *float32, start, end uintptr) Result
}

// symbols are the names of the functions in the library, and where they go. The ending _v2 is that of the
// functions which the manual means by the name without.
func (d *Driver) symbols() map[string]any {
	return map[string]any{
		"cuInit": &d.Init, "cuDriverGetVersion": &d.DriverGetVersion,
		"cuGetErrorName": &d.GetErrorName, "cuGetErrorString": &d.GetErrorString,
		"cuDeviceGetCount": &d.DeviceGetCount, "cuDeviceGet": &d.DeviceGet,
		"cuDeviceGetName": &d.DeviceGetName, "cuDeviceGetAttribute": &d.DeviceGetAttribute,
		"cuDevicePrimaryCtxSetFlags_v2": &d.PrimaryCtxSetFlags, "cuDevicePrimaryCtxRetain": &d.PrimaryCtxRetain,
		"cuDevicePrimaryCtxRelease_v2": &d.PrimaryCtxRelease, "cuDevicePrimaryCtxReset_v2": &d.PrimaryCtxReset,
		"cuCtxPushCurrent_v2": &d.CtxPushCurrent, "cuCtxPopCurrent_v2": &d.CtxPopCurrent,
		"cuMemGetInfo_v2": &d.MemGetInfo, "cuMemAlloc_v2": &d.MemAlloc, "cuMemFree_v2": &d.MemFree,
		"cuMemHostAlloc": &d.MemHostAlloc, "cuMemFreeHost": &d.MemFreeHost,
		"cuMemcpyHtoDAsync_v2": &d.MemcpyHtoD, "cuMemcpyDtoHAsync_v2": &d.MemcpyDtoH, "cuMemsetD32Async": &d.MemsetD32,
		"cuModuleLoadDataEx": &d.ModuleLoad, "cuModuleUnload": &d.ModuleUnload, "cuModuleGetFunction": &d.ModuleGetFunc,
		"cuLaunchKernel": &d.LaunchKernel,
		"cuStreamCreate": &d.StreamCreate, "cuStreamDestroy_v2": &d.StreamDestroy,
		"cuStreamSynchronize": &d.StreamSynchronize, "cuStreamQuery": &d.StreamQuery, "cuStreamWaitEvent": &d.StreamWaitEvent,
		"cuEventCreate": &d.EventCreate, "cuEventDestroy_v2": &d.EventDestroy, "cuEventRecord": &d.EventRecord,
		"cuEventSynchronize": &d.EventSynchronize, "cuEventElapsedTime": &d.EventElapsedTime,
	}
}

// Constants of the driver API.
const (
	AttributeMultiprocessors = 16
	AttributeMajor           = 75
	AttributeMinor           = 76

	ScheduleBlocking = 4 // a thread that waits for the device sleeps
	StreamPlain      = 1 // does not wait for the legacy default stream
	EventBlocking    = 1
	EventUntimed     = 2

	JitErrorLog     = 5
	JitErrorLogSize = 6
)

// Err makes an error of what a call returned.
func (d *Driver) Err(call string, code Result) error {
	if code == Success {
		return nil
	}
	return &CallError{Call: call, Code: code, Text: d.text(code)}
}

func (d *Driver) text(code Result) string {
	var name, text *byte
	if d.GetErrorName(code, &name) != Success || d.GetErrorString(code, &text) != Success || name == nil || text == nil {
		return "unknown error"
	}
	return CString(name) + ": " + CString(text)
}

// CString copies a string that ends with a zero.
func CString(at *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}
