//go:build purego || !amd64

package hamming

func machineKernels() []Kernel { return nil }
