package server

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/internal/memory"
	"refrain/sigstore"
	"refrain/text"
)

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

// openEngine is for who matches: others have no windows, and want no GPU.
func (n *node) openEngine() (err error) {
	if !n.cfg.has(roleMatch) {
		return nil
	}
	if n.window.Engine, err = detector.NewEngine(n.cfg.Window.engine(n.log)); err != nil {
		return fmt.Errorf("configuration: window.engine: %w", err)
	}
	return nil
}

// engine is the engine's part. Validate has said whether the device is a number.
func (w *Window) engine(log *slog.Logger) detector.EngineConfig {
	cfg := detector.DefaultEngineConfig()
	cfg.Name, cfg.Logger = w.Engine, log
	cfg.GPUs.Budget, cfg.GPUs.Kernel = int64(w.CUDA.Budget), w.CUDA.Kernel
	if n, err := strconv.Atoi(w.CUDA.Device); err == nil {
		cfg.GPUs.Device = n
	}
	return cfg
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
