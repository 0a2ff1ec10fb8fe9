package cuda

import (
	"errors"
	"fmt"
)

// ErrDeviceLost is in the chain of every error after which the device is of no use any more.
var ErrDeviceLost = errors.New("cuda: device lost")

// ErrMemory is in the chain of the error of what does not fit the memory that the device may use.
var ErrMemory = errors.New("cuda: out of device memory")

// ErrUnavailable is in the chain of the error of Open where there is no driver, no device, or no support in this build.
var ErrUnavailable = errors.New("cuda: not available")

// unavailable is an error that says why no device can be used, and no more: ErrUnavailable is only in its chain.
type unavailable struct{ reason error }

func (e unavailable) Error() string   { return e.reason.Error() }
func (e unavailable) Unwrap() []error { return []error{ErrUnavailable, e.reason} }

var errClosed = errors.New("cuda: device is closed")

// result is what every call of the driver returns.
type result int32

// Those that are told apart.
const (
	success     result = 0
	outOfMemory result = 2
	notReady    result = 600
)

// Those that a kernel may be to blame for, by what it did or by what it needs.
const (
	illegalAddress      result = 700
	outOfResources      result = 701
	launchTimeout       result = 702
	deviceAssert        result = 710
	hardwareStackError  result = 714
	illegalInstruction  result = 715
	misalignedAddress   result = 716
	invalidAddressSpace result = 717
	invalidPC           result = 718
	launchFailed        result = 719
)

// Results that no kernel can have which is right.
var (
	errNoSuchHit   = errors.New("a hit of a query or row that there is not")
	errTooManyHits = errors.New("more hits of one row and one query than there is room for")
)

// fault says whether a kernel may be to blame for the loss of the device.
func fault(err error) bool {
	var failed *callError
	if !errors.As(err, &failed) {
		return errors.Is(err, errNoSuchHit) || errors.Is(err, errTooManyHits)
	}
	switch failed.code {
	case illegalAddress, outOfResources, launchTimeout, deviceAssert, hardwareStackError, illegalInstruction,
		misalignedAddress, invalidAddressSpace, invalidPC, launchFailed:
		return true
	}
	return false
}

// callError is a call of the driver that failed.
type callError struct {
	call string
	code result
	text string // the driver's own words
}

func (e *callError) Error() string { return fmt.Sprintf("%s: %s (error %d)", e.call, e.text, e.code) }
