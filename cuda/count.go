package cuda

// noDevice is what the driver says that finds no GPU.
const noDevice result = 100

// Count is how many GPUs the driver in a library shows, which CUDA_VISIBLE_DEVICES may make fewer. The error holds
// ErrUnavailable where there is no driver; any other is of a driver that does not work.
func Count(library string) (int, error) {
	d, err := bind(library)
	if err != nil {
		return 0, err
	}
	code := d.init(0)
	if code == noDevice {
		return 0, nil
	}
	if err := d.err("cuInit", code); err != nil {
		return 0, err
	}
	var count int32
	err = d.err("cuDeviceGetCount", d.deviceGetCount(&count))
	return int(count), err
}

// KernelNames are what Config.Kernel may be, whether a device offers them or not.
func KernelNames() (names []string) {
	for _, k := range kernels() {
		names = append(names, k.name)
	}
	return names
}
