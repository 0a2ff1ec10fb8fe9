package cuda

import "refrain/cuda/driver"

// Count is how many GPUs the driver in a library shows, which CUDA_VISIBLE_DEVICES may make fewer. The error holds
// ErrUnavailable where there is no driver; any other is of a driver that does not work.
func Count(library string) (int, error) {
	d, err := driver.Open(library)
	if err != nil {
		return 0, err
	}
	code := d.Init(0)
	if code == driver.NoDevice {
		return 0, nil
	}
	if err := d.Err("cuInit", code); err != nil {
		return 0, err
	}
	var count int32
	err = d.Err("cuDeviceGetCount", d.DeviceGetCount(&count))
	return int(count), err
}

// KernelNames are what Config.Kernel may be, whether a device offers them or not.
func KernelNames() (names []string) {
	for _, k := range kernels() {
		names = append(names, k.name)
	}
	return names
}
