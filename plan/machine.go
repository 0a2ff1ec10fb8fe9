package plan

import (
	"fmt"
	"math"
)

// Machine is what one worker has.
type Machine struct {
	Cores       int     `json:"cores"`       // processor cores; of two hardware threads of a core count one
	Memory      float64 `json:"memory"`      // bytes
	MemoryShare float64 `json:"memoryShare"` // of Memory that the worker may take; the system and the page cache have the rest
	Network     float64 `json:"network"`     // bytes/s that a worker may read and write

	Broker string `json:"broker"` // of the topics, where there are several workers: kafka or nats

	GPUs      int     `json:"gpus"`      // cards; 0: none
	GPUMemory float64 `json:"gpuMemory"` // bytes of each
}

// Brokers that topics may be on.
const (
	Kafka = "kafka"
	NATS  = "nats"
)

// DefaultMachine is a middling server without a GPU. Network is far below what such a machine's card does: what
// limits is a broker's client: some 300 MB/s, assumed and not measured.
func DefaultMachine() Machine {
	return Machine{Cores: 16, Memory: 64e9, MemoryShare: 0.8, Network: 300e6, Broker: Kafka, GPUMemory: 80e9}
}

// mistakes are the fields that make no sense. Comparisons are written so that NaN is one.
func (m Machine) mistakes(c Costs) (wrong Mistakes) {
	wrong.want(m.Cores >= 1 && m.Cores <= 4096, "Cores", m.Cores, "1 to 4096")
	wrong.want(m.MemoryShare > 0 && m.MemoryShare <= 1, "MemoryShare", m.MemoryShare, "more than 0, at most 1: a share of all")
	wrong.want(m.Memory*m.MemoryShare > c.ProcessBytes && m.Memory <= 1e18, "Memory", m.Memory,
		fmt.Sprintf("more than %.0f MB: a worker takes at most %.0f %% of it, and its process alone takes %.0f MB",
			math.Ceil(c.ProcessBytes/m.MemoryShare/1e6), 100*m.MemoryShare, c.ProcessBytes/1e6))
	wrong.want(m.Network > 0 && m.Network <= 1e18, "Network", m.Network, "more than 0")
	wrong.want(m.Broker == Kafka || m.Broker == NATS, "Broker", m.Broker, "kafka or nats")
	wrong.want(m.GPUs >= 0 && m.GPUs <= 64, "GPUs", m.GPUs, "0 to 64")
	wrong.want(m.GPUs <= 0 || m.GPUMemory > 0 && m.GPUMemory <= 1e18, "GPUMemory", m.GPUMemory, "more than 0")
	return wrong
}
