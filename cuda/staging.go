package cuda

import (
	"errors"
	"unsafe"

	"refrain/cuda/driver"
)

// staging is the way of data to the device: copied into one of two pinned buffers and on from there by the device, in
// order, while the caller goes on. A buffer is used again when the device has read all of it.
type staging struct {
	stream  uintptr
	copied  uintptr // event: all copies so far are done
	buffers [2]stagingBuffer
	current int
}

type stagingBuffer struct {
	memory pinned[uint32]
	filled int
	read   uintptr // event: the device has read the buffer
	sent   bool    // read has been recorded
	copies int     // since it was empty
}

func (d *Device) openStaging() error {
	s := &d.staging
	if err := d.call("cuStreamCreate", d.driver.StreamCreate(&s.stream, driver.StreamPlain)); err != nil {
		return err
	}
	if err := d.call("cuEventCreate", d.driver.EventCreate(&s.copied, driver.EventUntimed)); err != nil {
		return err
	}
	for i := range s.buffers {
		b := &s.buffers[i]
		var err error
		if b.memory, err = allocatePinned[uint32](d, d.sizes.staging); err != nil {
			return err
		}
		if err := d.call("cuEventCreate", d.driver.EventCreate(&b.read, driver.EventUntimed|driver.EventBlocking)); err != nil {
			return err
		}
	}
	return nil
}

// upload copies tables to device memory, one behind the other, behind whatever was uploaded before. The caller holds mu.
func (d *Device) upload(to uint64, tables ...[]uint32) error {
	for len(tables) > 0 {
		b, err := d.room()
		if err != nil {
			return err
		}
		from := b.filled
		tables = b.fill(tables)
		n := uintptr(4 * (b.filled - from))
		if err := d.copyIn(to, b.memory.slice[from:], n); err != nil {
			return err
		}
		b.copies++
		to += uint64(n)
	}
	return nil
}

// fill takes in as much of the tables as there is room for, and returns the rest.
func (b *stagingBuffer) fill(tables [][]uint32) (rest [][]uint32) {
	for i, table := range tables {
		n := copy(b.memory.slice[b.filled:], table)
		b.filled += n
		if n < len(table) {
			tables[i] = table[n:]
			return tables[i:]
		}
	}
	return nil
}

func (d *Device) copyIn(to uint64, from []uint32, bytes uintptr) error {
	if bytes == 0 {
		return nil
	}
	return d.call("cuMemcpyHtoDAsync", d.driver.MemcpyHtoD(to, unsafe.Pointer(&from[0]), bytes, d.staging.stream))
}

// maxCopies is how many copies a buffer is used for before it is waited for, however small they are: a call that finds the
// queue of a stream full waits for the device, and nothing watches it. Drivers have room for some 1,000.
const maxCopies = 256

// room is a buffer that is not full.
func (d *Device) room() (*stagingBuffer, error) {
	s := &d.staging
	b := &s.buffers[s.current]
	if b.filled < len(b.memory.slice) && b.copies < maxCopies {
		return b, nil
	}
	if err := d.call("cuEventRecord", d.driver.EventRecord(b.read, s.stream)); err != nil {
		return nil, err
	}
	b.sent = true
	s.current = 1 - s.current
	next := &s.buffers[s.current]
	next.filled, next.copies = 0, 0
	if !next.sent {
		return next, nil
	}
	return next, d.await("cuEventSynchronize", func() driver.Result { return d.driver.EventSynchronize(next.read) })
}

// awaitUploads makes a stream wait for all that was uploaded. The caller holds mu.
func (d *Device) awaitUploads(stream uintptr) error {
	if err := d.call("cuEventRecord", d.driver.EventRecord(d.staging.copied, d.staging.stream)); err != nil {
		return err
	}
	return d.call("cuStreamWaitEvent", d.driver.StreamWaitEvent(stream, d.staging.copied, 0))
}

func (s *staging) close(d *Device) error {
	if s.stream == 0 {
		return nil
	}
	err := d.awaitStream(s.stream)
	for i := range s.buffers {
		b := &s.buffers[i]
		err = errors.Join(err, b.memory.free(d), d.destroyEvent(b.read))
	}
	return errors.Join(err, d.destroyEvent(s.copied), d.destroyStream(s.stream))
}

func (d *Device) destroyStream(stream uintptr) error {
	return d.await("cuStreamDestroy", func() driver.Result { return d.driver.StreamDestroy(stream) })
}

func (d *Device) destroyEvent(event uintptr) error {
	if event == 0 {
		return nil
	}
	return d.await("cuEventDestroy", func() driver.Result { return d.driver.EventDestroy(event) })
}
