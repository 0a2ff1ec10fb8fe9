//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// times says how long the next launches of kernels take, in milliseconds.
func (f fake) times(kernel string, milliseconds ...int32) {
	for _, ms := range milliseconds {
		f.Time(kernel, 1, 1000*ms)
	}
}

// choice opens a device, has a kernel chosen for signatures of two words, and returns its name, the launches that this took,
// and the log; prepare is called in between.
func (f fake) choice(t *testing.T, prepare func(d *Device), changes ...func(*Config)) (kernel string, launches int, log string) {
	t.Helper()
	var text bytes.Buffer
	d := f.open(t, append(changes, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})...)
	prepare(d)
	before := strings.Count(f.Log(), "cuLaunchKernel")
	if _, err := d.NewRows(2, 0); err != nil {
		t.Fatal(err)
	}
	return d.kernelFor(2).name, strings.Count(f.Log(), "cuLaunchKernel") - before, text.String()
}

// The kernel with the lowest median is taken, after a while of warming up: neither one launch that takes long decides, nor one
// that takes no time, nor what the warming up took.
func TestChoice(t *testing.T) {
	f := newFake(t)
	kernel, launches, log := f.choice(t, func(*Device) {
		f.times("popcount", 12, 3, 3, 3, 3, 3)
		f.times("imma", 10, 2, 2, 50, 2, 2)
		f.times("bmma", 8, 4, 1, 4, 4, 4)
	}, func(c *Config) { c.trial.warmUp, c.trial.rounds = 30*time.Millisecond, 5 })
	if kernel != "imma" || launches != 3+5*3 {
		t.Errorf("kernel %s after %d launches, want imma after 18", kernel, launches)
	}
	for _, want := range []string{
		`msg="cuda kernel timed" device="Fake 0" words=2 kernel=imma median=2ms min=2ms max=50ms rounds=5`,
		"kernel=popcount median=3ms", "kernel=bmma median=4ms min=1ms",
		`msg="cuda kernel chosen" device="Fake 0" words=2 kernel=imma median=2ms`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// A trial comes to an end: on a device that is slow, and on one that says that nothing takes time.
func TestChoiceIsBounded(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		milliseconds int32
		want         int
	}{
		"slow":    {400, 1 + 3}, // the first warms up, and the first round is more than a second
		"no time": {0, maxWarmUpLaunches + 7*3},
	} {
		t.Run(name, func(t *testing.T) {
			f.Reset(1<<30, 1, 90, 2)
			_, launches, _ := f.choice(t, func(*Device) {
				for _, k := range []string{"popcount", "imma", "bmma"} {
					f.Time(k, 1000, 1000*c.milliseconds)
				}
			}, func(config *Config) {
				config.trial = Default().trial
				config.trial.rows, config.trial.queries = 1, 1
			})
			if launches != c.want {
				t.Errorf("%d launches, want %d", launches, c.want)
			}
		})
	}
}

// Nothing is tried where there is nothing to choose from; memory for it is no condition.
func TestChoiceWithoutTrial(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		capability int32
		change     func(*Config)
		prepare    func(d *Device)
		want       string
	}{
		"told":          {90, func(c *Config) { c.Kernel = "bmma" }, func(*Device) {}, "bmma"},
		"told the last": {90, func(c *Config) { c.Kernel = paper }, func(*Device) {}, paper},
		"one kernel":    {75, func(*Config) {}, func(*Device) {}, "popcount"},
		"no memory":     {90, func(*Config) {}, func(d *Device) { d.budget = d.used.Load() }, "popcount"},
	} {
		t.Run(name, func(t *testing.T) {
			f.Reset(1<<30, 1, c.capability, 2)
			if kernel, launches, _ := f.choice(t, c.prepare, c.change); kernel != c.want || launches != 0 {
				t.Errorf("kernel %s after %d launches, want %s after none", kernel, launches, c.want)
			}
		})
	}
}

// Many ask for tables of the same width at once, and of others: each width is tried once.
func TestChoiceOnce(t *testing.T) {
	f := newFake(t)
	var log bytes.Buffer
	d := f.open(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	var wait sync.WaitGroup
	for n := range 12 {
		wait.Go(func() {
			if _, err := d.NewRows(1+n%3, 0); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := strings.Count(log.String(), "cuda kernel chosen"); got != 3 {
		t.Errorf("%d choices for 3 widths:\n%s", got, &log)
	}
}
