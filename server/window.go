package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"golang.org/x/time/rate"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/internal/memory"
	"refrain/sigstore"
	"refrain/sigstore/gpu"
	"refrain/text"
)

// openDealer opens what windows compare on; nil where no role has any: they want no GPU.
func openDealer(ctx context.Context, cfg *Config) (*detector.Dealer, error) {
	if !cfg.has(roleMatch) {
		return nil, nil
	}
	return newDealer(ctx, cfg.Window, cfg.Topics.Partitions, cfg.Logger)
}

// newDealer opens what the windows of so many partitions compare on.
func newDealer(ctx context.Context, w Window, partitions int, log *slog.Logger) (*detector.Dealer, error) {
	cfg := detector.DefaultDealer()
	numbers, err := gpu.ParseNumbers(w.CUDA.Device)
	if err != nil {
		return nil, fmt.Errorf("configuration: window.cuda.device: %w", err)
	}
	cfg.Engine, cfg.Logger = w.Engine, log
	cfg.GPUs.Numbers, cfg.GPUs.Windows = numbers, partitions
	cfg.GPUs.Budget, cfg.GPUs.Kernel = int64(w.CUDA.Budget), w.CUDA.Kernel
	d, err := detector.NewDealer(ctx, cfg)
	if errors.Is(err, gpu.ErrNumber) {
		return nil, fmt.Errorf("configuration: window.cuda.device: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: window.engine: %w", err)
	}
	return d, nil
}

// windowConfig makes the detector's configuration of the file's, but for the engine.
func windowConfig(w Window, log *slog.Logger) (cfg detector.Config, err error) {
	cfg = detector.Default()
	if cfg.Similarity, err = text.ParseSimilarity(w.Measure); err != nil {
		return cfg, fmt.Errorf("configuration: window.measure: %w", err)
	}
	if cfg.Threshold, err = text.ParseThreshold(w.Threshold); err != nil {
		return cfg, fmt.Errorf("configuration: window.threshold: %w", err)
	}
	if cfg.Model, err = hashcodes.Open(w.ModelName(), w.Bits, w.Ones); err != nil {
		return cfg, err
	}
	if cfg.Budget = int64(w.Budget); cfg.Budget == 0 {
		cfg.Budget = memory.Total() / 2
	}
	cfg.Span, cfg.Lateness = w.Span, w.Lateness
	cfg.MaxMatches, cfg.Flood, cfg.OmitTexts = w.MaxMatches, min(w.Flood, w.MaxMatches), !w.Texts
	if w.Flood == 0 {
		cfg.Flood = w.MaxMatches
	}
	// Later occurrences of one text are all in one partition: each has the whole limit.
	cfg.MaxLater, cfg.FloodLater = cfg.MaxMatches, cfg.Flood
	cfg.OnForced = warnForced(log)
	return cfg, nil
}

// warnForced logs early expiry at most once a minute.
func warnForced(log *slog.Logger) func(sigstore.Forced) {
	warning := rate.Sometimes{Interval: time.Minute}
	return func(f sigstore.Forced) {
		warning.Do(func() {
			log.Warn("the window's budget is full: texts are dropped before their time",
				"texts", f.Groups, "occurrences", f.Occurrences, "effective_span", f.Span.String(), "bytes", f.Bytes)
		})
	}
}

// shareLimits gives every partition its share of what a look-up may report, and of what the windows here may hold: all of
// them share that, however many they are.
func (m *matcher) shareLimits() {
	p := m.n.cfg.Topics.Partitions
	w := &m.window
	floodIsMax := w.Flood == w.MaxMatches
	m.budget = w.Budget
	w.Reserved = m.reserved
	w.MaxMatches = shareOfMatches(w.MaxMatches, p)
	w.Flood = (w.Flood + p - 1) / p
	if floodIsMax {
		w.Flood = w.MaxMatches
	}
}

// shareOfMatches is how many of so many matches may be in one of p partitions: they fall on them at random, so one may
// have more than its part, but not by more than four standard deviations.
func shareOfMatches(all, p int) int {
	part := float64(all) / float64(p)
	return min(all, int(math.Ceil(part+4*math.Sqrt(part))))
}
