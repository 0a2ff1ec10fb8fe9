package devicetest

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"slices"
	"testing"

	"refrain/cuda"
)

var small = flag.Bool("small", false, "a part of the cases: under a sanitizer, or where the device is simulated")

// Require is the variable that makes a missing device a failure.
const Require = "REFRAIN_REQUIRE_GPU"

// open opens the first device with a kernel, "" for the one it chooses. A kernel that fails the test at opening fails the
// test at hand.
func open(tb testing.TB, kernel string, changes ...func(*cuda.Config)) *cuda.Device {
	tb.Helper()
	config := cuda.Default()
	config.Kernel, config.Logger = kernel, slog.New(complaints{tb})
	for _, change := range changes {
		change(&config)
	}
	d, err := cuda.Open(config)
	if errors.Is(err, cuda.ErrUnavailable) && os.Getenv(Require) == "" {
		tb.Skipf("no device: %v (%s=1 makes this a failure)", err, Require)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// complaints is a log whose errors are the test's: a kernel that is wrong, a device that is lost.
type complaints struct{ tb testing.TB }

func (c complaints) Enabled(context.Context, slog.Level) bool { return true }
func (c complaints) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c complaints) WithGroup(string) slog.Handler            { return c }

func (c complaints) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	if r.Level >= slog.LevelError {
		c.tb.Error(line)
	} else {
		c.tb.Log(line)
	}
	return nil
}

// eachKernel runs a test with a device for each kernel that there is.
func eachKernel(t *testing.T, test func(t *testing.T, d *cuda.Device)) {
	t.Helper()
	for _, kernel := range kernels(t) {
		t.Run(kernel, func(t *testing.T) { test(t, open(t, kernel)) })
	}
}

var known []string

func kernels(t *testing.T) []string {
	t.Helper()
	if known == nil {
		known = open(t, "").Kernels()
	}
	return known
}

// The device opens, and no kernel that it can run is found wrong.
func TestOpen(t *testing.T) {
	d := open(t, "")
	t.Logf("%s, %d multiprocessors, kernels %q", d.Name(), d.Processors(), d.Kernels())
	for _, kernel := range []string{"popcount", "paper"} {
		if !slices.Contains(d.Kernels(), kernel) {
			t.Errorf("kernel %s is not offered: every device can run it", kernel)
		}
	}
	if used, budget := d.Memory(); used <= 0 || used > budget {
		t.Errorf("%d bytes of %d in use", used, budget)
	}
}
