package cuda

import (
	"fmt"
	"time"

	"refrain/cuda/driver"
)

// waiter is a goroutine that makes calls that wait for the device, one after the other.
type waiter struct {
	calls chan func() error
	done  chan error // has room for what nobody waits for any more
}

func (d *Device) startWaiter() *waiter {
	w := &waiter{calls: make(chan func() error), done: make(chan error, 1)}
	go func() {
		defer close(w.done)
		for call := range w.calls {
			w.done <- d.within(call)
		}
	}()
	return w
}

// waiter is one that has nothing to do.
func (d *Device) waiter() *waiter {
	select {
	case w := <-d.waiters:
		return w
	default:
		return d.startWaiter()
	}
}

// stopWaiters ends those that have nothing to do. No scan runs.
func (d *Device) stopWaiters() {
	for range len(d.waiters) {
		w := <-d.waiters
		close(w.calls)
		for range w.done { // until it has ended
		}
	}
}

// await has a waiter make a call, so that it can be given up: a device that does not answer within Config.Timeout is lost, and
// the waiter's thread stays in the driver. So call must touch nothing but handles of the driver.
func (d *Device) await(name string, call func() driver.Result) error {
	w := d.waiter()
	w.calls <- func() error { return d.call(name, call()) }
	deadline := time.NewTimer(d.timeout)
	defer deadline.Stop()
	select {
	case err := <-w.done:
		d.waiters <- w // as many as there are scans, and one for the holder of mu: there is room
		return err
	case <-deadline.C:
		close(w.calls) // it ends should the driver come back
		d.hangs.Store(true)
		return d.setLost(fmt.Errorf("%s: no answer in %v", name, d.timeout))
	}
}

// obtain awaits a call that gives a handle.
func obtain[T any](d *Device, name string, call func(*T) driver.Result) (T, error) {
	handle := new(T) // the waiter's; should it be given up, the driver may still write there
	if err := d.await(name, func() driver.Result { return call(handle) }); err != nil {
		return *new(T), err
	}
	return *handle, nil
}

// awaitStream waits until a stream has nothing to do. Where that is so already, as after a search that has compared something
// on the CPU meanwhile, no thread is needed.
func (d *Device) awaitStream(stream uintptr) error {
	var code driver.Result
	err := d.within(func() error {
		if code = d.driver.StreamQuery(stream); code == driver.NotReady {
			return nil
		}
		return d.call("cuStreamQuery", code)
	})
	if err != nil || code == driver.Success {
		return err
	}
	return d.await("cuStreamSynchronize", func() driver.Result { return d.driver.StreamSynchronize(stream) })
}
