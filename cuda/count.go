package cuda

import "errors"

// Count is the number of devices that the driver's library finds. The error holds ErrUnavailable where there is no driver
// or no device.
func Count(library string) (int, error) {
	driver, err := bind(library)
	if err != nil {
		return 0, err
	}
	if err := driver.err("cuInit", driver.init(0)); err != nil {
		return 0, unavailable{err}
	}
	var count int32
	if err := driver.err("cuDeviceGetCount", driver.deviceGetCount(&count)); err != nil {
		return 0, unavailable{err}
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
