package cuda

import (
	"errors"

	"refrain/cuda/driver"
)

// ErrDeviceLost is in the chain of every error after which the device is of no use any more.
var ErrDeviceLost = errors.New("cuda: device lost")

// ErrMemory is in the chain of the error of what does not fit the memory that the device may use.
var ErrMemory = errors.New("cuda: out of device memory")

// ErrUnavailable is in the chain of the error of Open where there is no driver, no device, or no support in this build.
var ErrUnavailable = driver.ErrUnavailable

var errClosed = errors.New("cuda: device is closed")

// Results that no kernel can have which is right.
var (
	errNoSuchHit   = errors.New("a hit of a query or row that there is not")
	errTooManyHits = errors.New("more hits of one row and one query than there is room for")
)

// fault says whether a kernel may be to blame for the loss of the device.
func fault(err error) bool {
	var failed *driver.CallError
	if !errors.As(err, &failed) {
		return errors.Is(err, errNoSuchHit) || errors.Is(err, errTooManyHits)
	}
	switch failed.Code {
	case driver.IllegalAddress, driver.OutOfResources, driver.LaunchTimeout, driver.DeviceAssert, driver.HardwareStackError, driver.IllegalInstruction,
		driver.MisalignedAddress, driver.InvalidAddressSpace, driver.InvalidPC, driver.LaunchFailed:
		return true
	}
	return false
}
