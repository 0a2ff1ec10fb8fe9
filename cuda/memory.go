package cuda

import (
	"fmt"
	"unsafe"

	"refrain/cuda/driver"
)

// block is a piece of device memory.
type block struct {
	at    uint64
	bytes int64
}

// allocate takes device memory within the budget. The caller holds mu.
func (d *Device) allocate(bytes int64) (block, error) {
	if d.used+bytes > d.budget {
		return block{}, fmt.Errorf("%w: %d bytes more than the %d of %d in use", ErrMemory, bytes, d.used, d.budget)
	}
	b := block{bytes: bytes}
	if err := d.call("cuMemAlloc", d.driver.MemAlloc(&b.at, uintptr(bytes))); err != nil {
		return block{}, err
	}
	d.used += bytes
	return b, nil
}

// release gives device memory back. The caller holds mu.
func (d *Device) release(b block) error {
	if b.at == 0 {
		return nil
	}
	d.used -= b.bytes
	return d.await("cuMemFree", func() driver.Result { return d.driver.MemFree(b.at) })
}

// pinned is host memory that the device copies from and to by itself.
type pinned[T any] struct {
	slice []T
	at    unsafe.Pointer
}

func allocatePinned[T any](d *Device, n int) (pinned[T], error) {
	var p pinned[T]
	var zero T
	if err := d.call("cuMemHostAlloc", d.driver.MemHostAlloc(&p.at, uintptr(n)*unsafe.Sizeof(zero), 0)); err != nil {
		return p, err
	}
	p.slice = unsafe.Slice((*T)(p.at), n)
	return p, nil
}

func (p *pinned[T]) free(d *Device) error {
	if p.at == nil {
		return nil
	}
	at := p.at
	return d.await("cuMemFreeHost", func() driver.Result { return d.driver.MemFreeHost(at) })
}
