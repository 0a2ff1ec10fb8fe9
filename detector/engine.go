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

// Engines are the names that NewDealer knows.
var Engines = []string{DefaultEngine, "prefix", "scan", "cuda"}

// DefaultEngine is the name of Default's.
const DefaultEngine = "auto"

// NewEngine makes one engine for all windows, on the CPU, of a name: auto chooses between prefix and scan by what they cost.
// For GPUs there is the Dealer. log hears what the engine decides by itself; nil: nobody does.
func NewEngine(name string, log *slog.Logger) (Engine, error) {
	switch name {
	case "auto":
		return Auto(log), nil
	case "prefix":
		return Prefix, nil
	case "scan":
		return Scan, nil
	}
	return nil, fmt.Errorf("%q: want %s", name, strings.Join(Engines, ", "))
}

// Auto is the cheaper one of those on the CPU, by what they cost now.
func Auto(log *slog.Logger) Engine {
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return chooser(log, b, auto.Choices(b, m.Words()))
	}
}

func chooser(log *slog.Logger, b *hashcodes.Bounds, choices []auto.Choice) sigstore.Engine {
	cfg := auto.Default()
	cfg.Choices, cfg.Bounds, cfg.Logger = choices, b, log
	return auto.New(cfg)
}

// Prefix is the inverted index of the rarest tokens.
func Prefix(bounds *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine { return prefix.New(bounds) }

// Scan is the Hamming range scan on the CPU.
func Scan(bounds *hashcodes.Bounds, model *hashcodes.Model) sigstore.Engine {
	return scan.New(bounds, model.Words())
}

// onDevice is the engine of windows on a device. Should it be lost, prefix goes on.
func onDevice(device *gpu.Device) Engine {
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return device.Engine(b, m.Words(), prefix.New(b))
	}
}
