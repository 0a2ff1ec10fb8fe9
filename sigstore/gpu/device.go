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

// OpenDevices opens the GPU of a number, or with AllDevices each that works: one that does not is a warning as long as
// there is another. The budget is that of each.
func OpenDevices(cfg cuda.Config) (*Devices, error) {
	numbers, err := numbersOf(cfg)
	if err != nil {
		return nil, hint(err)
	}
	d := &Devices{}
	var errs []error
	for _, cfg.Device = range numbers {
		errs = append(errs, d.open(cfg))
	}
	err = errors.Join(errs...)
	if len(d.cards) == 0 {
		return nil, hint(err)
	}
	if err != nil {
		cfg.Logger.Warn("gpu: not every GPU can be used", "error", err)
	}
	return d, nil
}

func numbersOf(cfg cuda.Config) (numbers []int, err error) {
	if cfg.Device != AllDevices {
		return []int{cfg.Device}, nil
	}
	count, err := cuda.Count(cfg.Library)
	for n := range count {
		numbers = append(numbers, n)
	}
	return numbers, err
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

func hint(err error) error {
	if errors.Is(err, cuda.ErrUnavailable) {
		return fmt.Errorf("%w; auto needs no GPU", err)
	}
	return err
}

// Close closes the devices. No window may use them any more.
func (d *Devices) Close() error {
	var errs []error
	for _, c := range d.cards {
		errs = append(errs, c.device.Close())
	}
	return errors.Join(errs...)
}
