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
	if used := d.used.Load(); used+bytes > d.budget {
		return block{}, fmt.Errorf("%w: %d bytes more than the %d of %d in use", ErrMemory, bytes, used, d.budget)
	}
	at, err := obtain(d, "cuMemAlloc", func(at *uint64) driver.Result { return d.driver.MemAlloc(at, uintptr(bytes)) })
	if err != nil {
		return block{}, err
	}
	d.used.Add(bytes)
	return block{at, bytes}, nil
}

// release gives device memory back. The caller holds mu.
func (d *Device) release(b block) error {
	if b.at == 0 {
		return nil
	}
	d.used.Add(-b.bytes)
	return d.await("cuMemFree", func() driver.Result { return d.driver.MemFree(b.at) })
}

// pinned is host memory that the device copies from and to by itself.
type pinned[T any] struct {
	slice []T
	at    unsafe.Pointer
}

func allocatePinned[T any](d *Device, n int) (pinned[T], error) {
	var element T
	bytes := uintptr(n) * unsafe.Sizeof(element)
	at, err := obtain(d, "cuMemHostAlloc", func(at *unsafe.Pointer) driver.Result { return d.driver.MemHostAlloc(at, bytes, 0) })
	if err != nil {
		return pinned[T]{}, err
	}
	return pinned[T]{unsafe.Slice((*T)(at), n), at}, nil
}

func (p *pinned[T]) free(d *Device) error {
	if p.at == nil {
		return nil
	}
	at := p.at
	return d.await("cuMemFreeHost", func() driver.Result { return d.driver.MemFreeHost(at) })
}
