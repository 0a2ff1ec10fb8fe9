// Package driver calls NVIDIA's driver API without cgo, for package cuda and what measures beside it. On Linux it looks for the
// driver's library when Open is called; builds with the tag nocuda, and those for other systems, look for none.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package driver

import (
	"errors"
	"fmt"
)

// ErrUnavailable is in the chain of errors that say why no device can be used.
var ErrUnavailable = errors.New("cuda: not available")

// Unavailable is an error that says why no device can be used, and no more: ErrUnavailable is only in its chain.
func Unavailable(reason error) error { return unavailable{reason} }

type unavailable struct{ reason error }

func (e unavailable) Error() string   { return e.reason.Error() }
func (e unavailable) Unwrap() []error { return []error{ErrUnavailable, e.reason} }

// Result is what every call of the driver returns.
type Result int32

// Those that are told apart.
const (
	Success     Result = 0
	OutOfMemory Result = 2
	NoDevice    Result = 100
	NotReady    Result = 600
)

// Those that a kernel may be to blame for, by what it did or by what it needs.
const (
	IllegalAddress      Result = 700
	OutOfResources      Result = 701
	LaunchTimeout       Result = 702
	DeviceAssert        Result = 710
	HardwareStackError  Result = 714
	IllegalInstruction  Result = 715
	MisalignedAddress   Result = 716
	InvalidAddressSpace Result = 717
	InvalidPC           Result = 718
	LaunchFailed        Result = 719
)

// CallError is a call of the driver that failed.
type CallError struct {
	Call string
	Code Result
	Text string // the driver's own words
}

func (e *CallError) Error() string { return fmt.Sprintf("%s: %s (error %d)", e.Call, e.Text, e.Code) }
