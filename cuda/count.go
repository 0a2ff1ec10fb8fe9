package cuda

import (
	"errors"
	"fmt"
)

// noDevice is what cuInit returns where the driver is there and no device.
const noDevice result = 100

// Count is the number of devices that the driver's library finds, 1 or more. The error holds ErrUnavailable where there is
// no driver or no device; another one says that the driver does not work.
func Count(library string) (int, error) {
	driver, err := bind(library)
	if err != nil {
		return 0, err
	}
	code := driver.init(0)
	if err := driver.err("cuInit", code); code == noDevice {
		return 0, unavailable{err}
	} else if err != nil {
		return 0, fmt.Errorf("count devices: %w", err)
	}
	var count int32
	if err := driver.err("cuDeviceGetCount", driver.deviceGetCount(&count)); err != nil {
		return 0, fmt.Errorf("count devices: %w", err)
	}
	if count == 0 {
		return 0, unavailable{errors.New("the NVIDIA driver finds no GPU")}
	}
	return int(count), nil
}

// KernelNames are the names that Config.Kernel may have. A device may lack some: see Device.Kernels.
func KernelNames() (names []string) {
	for _, k := range kernels() {
		names = append(names, k.name)
	}
	return names
}
