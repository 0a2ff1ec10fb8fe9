package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"refrain/cuda"
	"refrain/detector"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
)

// engines are the names of those that exist.
var engines = []string{"auto", "prefix", "scan", "cuda"}

// engine makes the engine of a name. setting is where the name was given, for errors; log hears of what the engine decides
// by itself, nil: nobody does. auto chooses among those on the CPU. The device is opened here, so that one that is missing
// is told at the start.
func engine(setting, name string, log *slog.Logger) (detector.Engine, error) {
	switch name {
	case "auto":
		return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
			return auto.New(auto.Config{Choices: auto.Choices(b, m.Words()), Bounds: b, Logger: log})
		}, nil
	case "prefix":
		return prefixEngine, nil
	case "scan":
		return detector.Scan, nil
	case "cuda":
		e, err := cudaEngine(log)
		if errors.Is(err, cuda.ErrUnavailable) {
			return nil, fmt.Errorf("%s cuda: %w; %s auto needs no GPU", setting, err, setting)
		}
		if err != nil {
			return nil, fmt.Errorf("%s cuda: %w", setting, err)
		}
		return e, nil
	}
	return nil, usage("%s %q: want %s", setting, name, strings.Join(engines, ", "))
}

func prefixEngine(bounds *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine {
	return prefix.New(bounds)
}

// cudaEngine opens the first GPU for the life of the process. Should it be lost, prefix goes on.
func cudaEngine(log *slog.Logger) (detector.Engine, error) {
	device, err := cuda.Open(cuda.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	if log != nil {
		log.Info("engine: cuda", "device", device.Name())
	}
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return gpu.New(gpu.Config{Device: device, Bounds: b, Words: m.Words(), CPU: prefix.New(b), Logger: log})
	}, nil
}
