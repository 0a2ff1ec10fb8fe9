package detector

import (
	"fmt"
	"log/slog"
	"strings"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
	"refrain/sigstore/scan"
)

// Engine makes the engine of one window; see sigstore.Engine. All engines give the same events.
type Engine func(bounds *hashcodes.Bounds, model *hashcodes.Model) sigstore.Engine

// Engines are the names that NewEngine knows.
var Engines = []string{DefaultEngine, "prefix", "scan", "cuda"}

// DefaultEngine is the name of Default's.
const DefaultEngine = "auto"

// EngineConfig names an engine, and says which GPUs cuda and auto may use. DefaultEngineConfig has values for all of it.
type EngineConfig struct {
	Name   string // one of Engines
	GPUs   GPUs
	Logger *slog.Logger // hears what the engine decides by itself; nil: nobody does, but of a GPU that is lost slog.Default()
}

// GPUs says which GPUs may be used, and how.
type GPUs struct {
	Device  int    // the number of one, from 0, or AllGPUs
	Budget  int64  // bytes of the memory of each at most; 0: 90 % of what is free
	Kernel  string // that compares; "": the fastest by a short trial
	Library string // the driver's: its path, or a name that the loader finds
}

// AllGPUs, in place of a number, is every GPU that the driver finds.
const AllGPUs = gpu.AllDevices

// DefaultEngineConfig is the default engine, and all GPUs with nearly all of their memory.
func DefaultEngineConfig() EngineConfig {
	d := gpu.DefaultDevices()
	return EngineConfig{Name: DefaultEngine, GPUs: GPUs{Device: d.Device, Budget: d.Budget, Kernel: d.Kernel, Library: d.Library}}
}

// NewEngine makes an engine: auto chooses among the others by what they cost, and opens GPUs when they could be the
// cheapest. cuda opens them at once, for the life of the process, so that one that is missing is told at the start.
func NewEngine(cfg EngineConfig) (Engine, error) {
	switch cfg.Name {
	case "auto":
		return autoWithGPUs(cfg), nil
	case "prefix":
		return Prefix, nil
	case "scan":
		return Scan, nil
	case "cuda":
		devices, err := openGPUs(cfg)
		if err != nil {
			return nil, fmt.Errorf("cuda: %w", err)
		}
		return onGPUs(devices, cfg.Logger), nil
	}
	return nil, fmt.Errorf("%q: want %s", cfg.Name, strings.Join(Engines, ", "))
}

// Auto is the cheaper one of those on the CPU, by what they cost now.
func Auto(log *slog.Logger) Engine {
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return autoOf(auto.Choices(b, m.Words()), b, log)
	}
}

func autoOf(choices []auto.Choice, bounds *hashcodes.Bounds, log *slog.Logger) sigstore.Engine {
	cfg := auto.Default()
	cfg.Choices, cfg.Bounds, cfg.Logger = choices, bounds, log
	return auto.New(cfg)
}

// Prefix is the inverted index of the rarest tokens.
func Prefix(bounds *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine { return prefix.New(bounds) }

// Scan is the Hamming range scan on the CPU.
func Scan(bounds *hashcodes.Bounds, model *hashcodes.Model) sigstore.Engine {
	return scan.New(bounds, model.Words())
}

// openGPUs opens GPUs for the life of the process.
func openGPUs(cfg EngineConfig) (*gpu.Devices, error) {
	c := gpu.DefaultDevices()
	c.Device, c.Budget, c.Kernel, c.Library = cfg.GPUs.Device, cfg.GPUs.Budget, cfg.GPUs.Kernel, cfg.GPUs.Library
	if cfg.Logger != nil {
		c.Logger = cfg.Logger
	}
	return gpu.OpenDevices(c)
}

// onGPUs deals windows to GPUs. Should one be lost, prefix goes on with its windows.
func onGPUs(devices *gpu.Devices, log *slog.Logger) Engine {
	cfg := gpu.Default()
	if log != nil {
		cfg.Logger = log
	}
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		cfg := cfg
		cfg.Bounds, cfg.Words, cfg.CPU = b, m.Words(), prefix.New(b)
		return devices.Engine(cfg)
	}
}
