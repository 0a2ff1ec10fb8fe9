package cuda

import (
	"fmt"
	"time"
)

// await makes a call that waits for the device, on a thread of its own, so that it can be given up: a device that does not
// answer within Config.Timeout is lost, and the thread stays in the driver. So call must touch nothing but handles of the
// driver. Until there is an answer the goroutine at hand only waits, and costs no thread.
func (d *Device) await(name string, call func() result) error {
	done := make(chan error, 1)
	go func() { done <- d.within(func() error { return d.call(name, call()) }) }()
	deadline := time.NewTimer(d.timeout)
	defer deadline.Stop()
	select {
	case err := <-done:
		return err
	case <-deadline.C:
		d.hangs.Store(true)
		return d.setLost(fmt.Errorf("%s: no answer in %v", name, d.timeout))
	}
}

// awaitStream waits until a stream has nothing to do. Where that is so already, as after a search that has compared something
// on the CPU meanwhile, no thread is needed.
func (d *Device) awaitStream(stream uintptr) error {
	var code result
	err := d.within(func() error {
		if code = d.driver.streamQuery(stream); code == notReady {
			return nil
		}
		return d.call("cuStreamQuery", code)
	})
	if err != nil || code == success {
		return err
	}
	return d.await("cuStreamSynchronize", func() result { return d.driver.streamSynchronize(stream) })
}
