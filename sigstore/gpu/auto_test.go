//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/cuda/cudatest"
	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
	"refrain/text"
)

// TestSpeed: what is measured are times, of devices that are not lost, and once for each width.
func TestSpeed(t *testing.T) {
	f := cudatest.New(t)
	d := openDevices(t, f, 2, &bytes.Buffer{})
	s, err := d.Speed(2)
	if err != nil || s.Launch <= 0 || s.Comparison <= 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	launches := strings.Count(f.Log(), "cuLaunchKernel")
	if again, err := d.Speed(2); again != s || err != nil || strings.Count(f.Log(), "cuLaunchKernel") != launches {
		t.Errorf("measured again: %+v, then %+v, %v", s, again, err)
	}
	t.Logf("%+v", s)
}

// TestSpeedOfTheOthers: a device that is lost while it is measured gets no window, and the others do not suffer.
func TestSpeedOfTheOthers(t *testing.T) {
	f := cudatest.New(t)
	d := openDevices(t, f, 2, &bytes.Buffer{})
	f.Forget = true
	f.Fail("cuLaunchKernel", 2, cudatest.LaunchFailed)
	if s, err := d.Speed(1); err != nil || s.Launch <= 0 {
		t.Errorf("%+v, %v", s, err)
	}
	bounds := hashcodes.NewBounds(fourFifths, 1)
	engine := d.Engine(configOf(nil, bounds, 1, prefix.New(bounds), &bytes.Buffer{}))
	windows := []sigstore.Index{engine(nil), engine(nil)}
	if got := d.Windows(); !slices.Equal(got, []int{0, 2}) || d.Sharing() != 2 {
		t.Errorf("windows by device %v, %v on one", got, d.Sharing())
	}
	for _, x := range windows {
		if err := x.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAutoTakesGPU: auto moves a window to the GPU where that costs less, also when the GPU is lost after that, and stays where
// it costs more, or where few queries come at once. The events are those of the prefix engine.
func TestAutoTakesGPU(t *testing.T) {
	all := realSentences(t, ira, 6000)
	similar := text.Jaccard.At(text.Threshold{Num: 3, Den: 5})
	want := play(t, similar, detector.Prefix, all, func(int) {})
	dear := func(auto.Load) float64 { return 1e6 }
	for _, c := range []struct {
		name  string
		cpu   func(auto.Load) float64 // what a look-up is said to cost on the CPU; nil: as it is
		gpu   auto.GPU
		lost  bool
		moves bool
	}{
		{name: "cheaper", cpu: dear, gpu: auto.GPU{Launch: 5e4, Comparison: 1e-3, Sharing: 1}, moves: true},
		{name: "lost", cpu: dear, gpu: auto.GPU{Launch: 5e4, Comparison: 1e-3, Sharing: 1}, lost: true, moves: true},
		{name: "dearer", cpu: dear, gpu: auto.GPU{Launch: 5e4, Comparison: 1e3, Sharing: 1}},
		{name: "could never gain", gpu: auto.GPU{}},
		// Batches of 256 would be cheaper, those of 200 that come are not.
		{name: "too few at once", cpu: dear, gpu: auto.GPU{Launch: 2e8, Comparison: 1e-3, Sharing: 1}},
		{name: "shared by many", cpu: dear, gpu: auto.GPU{Launch: 5e4, Comparison: 1e-3, Sharing: 1e6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cudatest.New(t)
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, nil))
			devices := openDevices(t, f, 1, &log)
			asked := false
			engine := func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
				cuda := devices.Engine(configOf(nil, b, m.Words(), prefix.New(b), &log).WithMinDeviceCost(1))
				choices := auto.WithGPU(auto.Choices(b, m.Words())[:1], cuda, gpu.Batch, func() (auto.GPU, bool) {
					asked = true
					return c.gpu, true
				})
				if c.cpu != nil {
					choices[0].Cost = c.cpu
				}
				return auto.New(auto.Config{Choices: choices, Bounds: b, Few: 256, Logger: logger})
			}
			got := play(t, similar, engine, all, func(batch int) {
				if c.lost && batch == 20 {
					f.Forget = true
					f.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
				}
			})
			if !slices.Equal(got, want) {
				t.Errorf("%d events, want %d of the prefix engine, or others", len(got), len(want))
			}
			if moved := strings.Contains(log.String(), "to=cuda"); moved != c.moves || asked != (c.cpu != nil) {
				t.Errorf("moved to the GPU: %t, want %t; asked for its cost: %t; log:\n%s", moved, c.moves, asked, &log)
			}
			if strings.Contains(log.String(), lostLine) != c.lost {
				t.Errorf("log:\n%s", &log)
			}
		})
	}
}

// TestAutoOpensLate: auto opens the GPU once, when a window is so large that it could gain. Where there is no driver, or a driver
// and no GPU, nobody hears of it; a GPU that does not work is one warning, however many windows there are.
func TestAutoOpensLate(t *testing.T) {
	for _, c := range []struct {
		name          string
		rows          int
		fail          string
		code          int32
		library       string
		warnings      int
		opened, asked bool
	}{
		{name: "small window", rows: 5000},
		{name: "large window", rows: 50_000, asked: true, opened: true},
		{name: "no driver", rows: 50_000, library: "/nowhere/libcuda.so.1"},
		{name: "no GPU", rows: 50_000, fail: "cuInit", code: 100, asked: true},
		{name: "no working GPU", rows: 50_000, fail: "cuMemGetInfo", code: cudatest.OutOfMemory, asked: true, warnings: 1},
		{name: "lost while it is opened", rows: 50_000, fail: "cuMemAlloc", code: cudatest.LaunchFailed, asked: true, warnings: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cudatest.New(t)
			f.Forget = true // what auto opens stays open
			if c.fail != "" {
				f.Fail(c.fail, 1, c.code)
			}
			var log bytes.Buffer
			cfg := detector.DefaultEngineConfig()
			cfg.Name, cfg.Logger = "auto", slog.New(slog.NewTextHandler(&log, nil))
			cfg.GPUs.Library, cfg.GPUs.Kernel = f.Library, "popcount"
			if c.library != "" {
				cfg.GPUs.Library = c.library
			}
			engine, err := detector.NewEngine(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				fillWindow(t, engine, c.rows)
			}
			if n := strings.Count(f.Log(), "cuInit"); n > 3 || n > 0 != c.asked {
				t.Errorf("the driver was opened %d times, want it opened: %t", n, c.asked)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != c.warnings {
				t.Errorf("%d warnings, want %d; log:\n%s", n, c.warnings, &log)
			}
			if n := strings.Count(log.String(), "engine: cuda"); n > 1 || n > 0 != c.opened {
				t.Errorf("opened %d times, log:\n%s", n, &log)
			}
		})
	}
}

// fillWindow fills a window with rows of common words, which cost any engine much.
func fillWindow(t *testing.T, engine detector.Engine, rows int) {
	t.Helper()
	model, err := hashcodes.NewMD5(256, 1)
	if err != nil {
		t.Fatal(err)
	}
	bounds := hashcodes.NewBounds(text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), 1)
	w := sigstore.New(sigstore.Config{Span: 24 * time.Hour, Model: model, Bounds: bounds, Engine: engine(bounds, model)})
	defer w.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		var tokens []uint64
		for range 12 {
			tokens = append(tokens, r.Uint64N(2000))
		}
		tokens = text.Set(tokens)
		w.Insert(&feed.Sentence{Post: fmt.Sprint(i), Time: feed.Time(i * 1000), Tokens: tokens, Group: feed.GroupHash(tokens)})
		w.Advance(feed.Time(i * 1000))
	}
}
