package gpu

import "refrain/cuda"

// WithMinDeviceCost sends rows when they have cost so many comparisons: 1 is at once.
func (c Config) WithMinDeviceCost(comparisons int) Config {
	c.minDeviceCost = comparisons
	return c
}

// Windows is how many each device has.
func (d *Devices) Windows() (all []int) {
	for _, c := range d.cards {
		all = append(all, int(c.windows.Load()))
	}
	return all
}

// Devices are those that were opened.
func (d *Devices) Devices() (all []*cuda.Device) {
	for _, c := range d.cards {
		all = append(all, c.device)
	}
	return all
}
