package plan

import (
	"errors"
	"fmt"
)

// Machine is what one worker has.
type Machine struct {
	Cores       int     // processor cores; of two hardware threads of a core count one
	Memory      float64 // bytes
	MemoryShare float64 // of Memory that the worker may take; the rest is the system's and the page cache's
	Network     float64 // bytes/s that a worker may read and write

	GPUs      int     // cards; 0: none
	GPUMemory float64 // bytes of each
}

// DefaultMachine is a middling server without a GPU. Network is far below what such a machine's card does: what
// limits is a broker's client: some 300 MB/s, assumed and not measured.
func DefaultMachine() Machine {
	return Machine{Cores: 16, Memory: 64e9, MemoryShare: 0.8, Network: 300e6, GPUMemory: 80e9}
}

// Validate returns an error for every field that makes no sense.
func (m Machine) Validate() error {
	errs := above(Share{"cores", float64(m.Cores)}, Share{"memory", m.Memory}, Share{"memory share", m.MemoryShare}, Share{"network", m.Network})
	if m.Cores > 4096 {
		errs = append(errs, fmt.Errorf("cores %d: want at most 4096", m.Cores))
	}
	if m.MemoryShare > 1 {
		errs = append(errs, fmt.Errorf("memory share %v: want at most 1", m.MemoryShare))
	}
	if m.GPUs < 0 || m.GPUs > 64 {
		errs = append(errs, fmt.Errorf("GPUs %d: want 0 to 64", m.GPUs))
	}
	if m.GPUs > 0 && !(m.GPUMemory > 0) {
		errs = append(errs, fmt.Errorf("GPU memory %v: want more than 0", m.GPUMemory))
	}
	return errors.Join(errs...)
}
