package gpu

// WithMinDeviceCost sends rows when they have cost so many comparisons: 1 is at once.
func (c Config) WithMinDeviceCost(comparisons int) Config {
	c.minDeviceCost = comparisons
	return c
}
