//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"refrain/cuda/driver"
)

// rig calls a fake driver by itself, to try PTX that no kernel has, and calls that package cuda does not make.
type rig struct {
	*driver.Driver
	fake    fake
	tb      testing.TB
	context uintptr
	stream  uintptr
	memory  []uint64
	pinned  []unsafe.Pointer
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{fake: newFake(tb), tb: tb}
	var err error
	if r.Driver, err = driver.Open(r.fake.Library); err != nil {
		tb.Fatal(err)
	}
	runtime.LockOSThread() // the context is that of the thread
	r.must(r.PrimaryCtxRetain(&r.context, 40))
	r.must(r.CtxPushCurrent(r.context))
	r.must(r.StreamCreate(&r.stream, driver.StreamPlain))
	tb.Cleanup(r.close)
	return r
}

// close gives all back; calls fail where a fault has come before, and so are not looked at.
func (r *rig) close() {
	var context uintptr
	for _, at := range r.memory {
		r.MemFree(at)
	}
	for _, at := range r.pinned {
		r.MemFreeHost(at)
	}
	r.StreamDestroy(r.stream)
	r.CtxPopCurrent(&context)
	r.PrimaryCtxRelease(40)
	runtime.UnlockOSThread()
}

func (r *rig) must(code driver.Result) {
	r.tb.Helper()
	if code != driver.Success {
		r.tb.Fatalf("error %d: %s", code, r.fake.Log())
	}
}

// device is device memory for so many words.
func (r *rig) device(words int) (at uint64) {
	r.tb.Helper()
	r.must(r.MemAlloc(&at, uintptr(4*words)))
	r.memory = append(r.memory, at)
	return at
}

// host is pinned memory for so many words.
func (r *rig) host(words int) []uint32 {
	r.tb.Helper()
	var at unsafe.Pointer
	r.must(r.MemHostAlloc(&at, uintptr(4*words), 0))
	r.pinned = append(r.pinned, at)
	return unsafe.Slice((*uint32)(at), words)
}

func (r *rig) event(flags uint32) (event uintptr) {
	r.tb.Helper()
	r.must(r.EventCreate(&event, flags))
	r.tb.Cleanup(func() { r.EventDestroy(event) })
	return event
}

// toDevice copies words there, on a stream.
func (r *rig) toDevice(to uint64, words []uint32, stream uintptr) driver.Result {
	return r.MemcpyHtoD(to, unsafe.Pointer(&words[0]), uintptr(4*len(words)), stream)
}

// fromDevice copies words back, on a stream.
func (r *rig) fromDevice(words []uint32, from uint64, stream uintptr) driver.Result {
	return r.MemcpyDtoH(unsafe.Pointer(&words[0]), from, uintptr(4*len(words)), stream)
}

// load has the driver read PTX, and returns its function probe.
func (r *rig) load(text string) (function uintptr, code driver.Result) {
	image, name := append([]byte(text), 0), []byte("probe\x00")
	var module uintptr
	var option int32
	var value uintptr
	if code := r.ModuleLoad(&module, unsafe.Pointer(&image[0]), 0, &option, &value); code != driver.Success {
		return 0, code
	}
	r.tb.Cleanup(func() { r.ModuleUnload(module) })
	return function, r.ModuleGetFunc(&function, module, &name[0])
}

// The parts of a program that tries instructions. A thread has three words of input in %r2 to %r4, the first two also in
// %rd5 and the last two in %rd6, the lowest bits of the first two in %p1 and %p2, its number in %r1; what it leaves in %r10 and
// %r11 goes out. Its input is at %rd3, its output at %rd4, all output at %rd2.
const (
	probeBegin = `
.version 7.1
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 shared[];
.visible .entry probe(
	.param .align 8 .b8 probe_param_0[16]
)
.maxntid 256, 1, 1
{
	.reg .pred %p<20>;
	.reg .b16 %rs<8>;
	.reg .b32 %r<60>;
	.reg .b64 %rd<20>;
	ld.param.u64 %rd1, [probe_param_0];
	ld.param.u64 %rd2, [probe_param_0+8];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 12;
	add.s64 %rd3, %rd1, %rd3;
	ld.global.u32 %r2, [%rd3];
	ld.global.u32 %r3, [%rd3+4];
	ld.global.u32 %r4, [%rd3+8];
	mul.wide.u32 %rd4, %r1, 8;
	add.s64 %rd4, %rd2, %rd4;
	mov.b64 %rd5, {%r2,%r3};
	mov.b64 %rd6, {%r3,%r4};
	and.b32 %r5, %r2, 1;
	setp.ne.s32 %p1, %r5, 0;
	and.b32 %r5, %r3, 1;
	setp.ne.s32 %p2, %r5, 0;
	mov.u32 %r10, 0;
	mov.u32 %r11, 0;
`
	probeEnd = `
	st.global.v2.u32 [%rd4], {%r10, %r11};
$end:
	ret;
}
`
)

type probeInput [threads][3]uint32

// probe runs a program in a block, and returns what its threads leave.
func (r *rig) probe(body string, in *probeInput) (out [threads][2]uint32, code driver.Result) {
	r.tb.Helper()
	function, code := r.load(probeBegin + strings.ReplaceAll(body, ";", ";\n") + probeEnd)
	if code != driver.Success {
		return out, code
	}
	argument := &[2]uint64{r.device(3 * threads), r.device(2 * threads)}
	words := r.host(3 * threads)
	for i := range in {
		copy(words[3*i:], in[i][:])
	}
	r.must(r.toDevice(argument[0], words, r.stream))
	params := unsafe.Pointer(argument)
	r.must(r.LaunchKernel(function, 1, 1, 1, threads, 1, 1, 4096, r.stream, &params, nil))
	back := r.host(2 * threads)
	r.must(r.fromDevice(back, argument[1], r.stream))
	if code := r.StreamSynchronize(r.stream); code != driver.Success {
		return out, code
	}
	for i := range out {
		copy(out[i][:], back[2*i:])
	}
	return out, driver.Success
}
