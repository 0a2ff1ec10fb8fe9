package gpu

import (
	"errors"
	"fmt"
	"log/slog"

	"refrain/cuda"
)

// OpenDevice opens the first GPU. log is told of it, and of its loss; nil: none.
func OpenDevice(log *slog.Logger) (*cuda.Device, error) {
	cfg := cuda.Default()
	if log != nil {
		cfg.Logger = log
	}
	device, err := cuda.Open(cfg)
	if errors.Is(err, cuda.ErrUnavailable) {
		return nil, fmt.Errorf("%w; auto needs no GPU", err)
	}
	if err != nil {
		return nil, err
	}
	if log != nil {
		log.Info("engine: cuda", "device", device.Name())
	}
	return device, nil
}
