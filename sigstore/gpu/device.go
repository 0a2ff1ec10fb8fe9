package gpu

import (
	"errors"
	"fmt"

	"refrain/cuda"
)

// AllDevices, in place of a number, is every GPU that the driver finds.
const AllDevices = -1

// DefaultDevices is what OpenDevices opens unless it is told otherwise: all GPUs.
func DefaultDevices() cuda.Config {
	cfg := cuda.Default()
	cfg.Device = AllDevices
	return cfg
}

// ErrNone is in the chain of the error of OpenDevices on a machine that has no GPU, or no driver for one.
var ErrNone = errors.New("there is no GPU")

// noneError says why, and what to do.
type noneError struct{ reason error }

func (e noneError) Error() string   { return e.reason.Error() + "; auto needs no GPU" }
func (e noneError) Unwrap() []error { return []error{ErrNone, e.reason} }

// OpenDevices opens the GPU of a number, or with AllDevices each that works: one that does not is a warning as long as
// there is another. The budget is that of each.
func OpenDevices(cfg cuda.Config) (*Devices, error) {
	numbers, err := numbersOf(cfg)
	if err != nil {
		return nil, err
	}
	d := &Devices{}
	var errs []error
	for _, cfg.Device = range numbers {
		errs = append(errs, d.open(cfg))
	}
	err = errors.Join(errs...)
	if len(d.cards) == 0 {
		return nil, err
	}
	if err != nil {
		cfg.Logger.Warn("gpu: not every GPU can be used", "error", err)
	}
	return d, nil
}

func numbersOf(cfg cuda.Config) (numbers []int, err error) {
	count, err := cuda.Count(cfg.Library)
	if errors.Is(err, cuda.ErrUnavailable) {
		return nil, noneError{err}
	}
	if err != nil {
		return nil, err
	}
	if cfg.Device >= count {
		return nil, fmt.Errorf("there is no GPU %d: the NVIDIA driver finds %d", cfg.Device, count)
	}
	for n := range count {
		if cfg.Device == AllDevices || cfg.Device == n {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

func (d *Devices) open(cfg cuda.Config) error {
	device, err := cuda.Open(cfg)
	if err != nil {
		return err
	}
	cfg.Logger.Info("engine: cuda", "device", device.Name(), "number", cfg.Device)
	d.cards = append(d.cards, &card{device: device})
	return nil
}

// Close closes the devices. No window may use them any more.
func (d *Devices) Close() error {
	var errs []error
	for _, c := range d.cards {
		errs = append(errs, c.device.Close())
	}
	return errors.Join(errs...)
}
