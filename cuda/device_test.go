//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"refrain/cuda/cudatest"
)

func TestOpen(t *testing.T) {
	f := newFake(t)
	d := f.open(t, tested)
	if d.Name() != "Fake 0" || d.Processors() != 2 {
		t.Errorf("got %q with %d multiprocessors", d.Name(), d.Processors())
	}
	if got, want := d.Kernels(), []string{"popcount", "imma", "bmma", "paper"}; !slices.Equal(got, want) {
		t.Errorf("kernels %q, want %q", got, want)
	}
	if used, budget := d.Memory(); used <= 0 || used > 2<<20 || budget <= 1<<29 || budget > 1<<30 {
		t.Errorf("%d bytes of %d in use", used, budget)
	}
}

// What is not there is said, and is no other error.
func TestUnavailable(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		library string // "": the fake one
		device  int
		prepare func()
		want    string
	}{
		"no driver":      {library: "libnone.so.1", want: "there is no NVIDIA driver: libnone.so.1"},
		"not the driver": {library: "libc.so.6", want: "too old"},
		"no device":      {prepare: func() { f.Reset(1<<30, 0, 90, 2) }, want: "the NVIDIA driver finds no GPU"},
		"not so many":    {device: 1, want: "there is no GPU 1: the NVIDIA driver finds 1"},
		"initialisation": {prepare: func() { f.Fail("cuInit", 1, 100) }, want: "cuInit: CUDA_ERROR_100: by order (error 100)"},
		"old device":     {prepare: func() { f.Reset(1<<30, 1, 61, 2) }, want: "Fake 0 has compute capability 6.1: want 7.5 or later"},
		"all wrong": {prepare: func() { f.Break("p"); f.Reset(1<<30, 1, 75, 2); f.Break("p") },
			want: "no kernel gives the results"},
	} {
		t.Run(name, func(t *testing.T) {
			f.Reset(1<<30, 1, 90, 2)
			if c.prepare != nil {
				c.prepare()
			}
			config := Default()
			config.Device, config.Library = c.device, cmp.Or(c.library, f.Library)
			d, err := Open(config)
			if d != nil || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrUnavailable and %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), ErrUnavailable.Error()) {
				t.Errorf("got %v: the reason is enough", err)
			}
		})
	}
}

// An older device has the kernels it can run; a wrong one is left out, and the log says so.
func TestKernelsLeftOut(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		capability int32
		wrong      string
		want       []string
		log        string
	}{
		"Turing":       {capability: 75, want: []string{"popcount", "paper"}, log: "the target is too new"},
		"wrong kernel": {capability: 90, wrong: "imma4", want: []string{"popcount", "bmma", "paper"}, log: "3 words: query"},
		"Blackwell":    {capability: 100, want: []string{"popcount", "imma", "paper"}, log: "kernel=bmma below=100"},
		"wrong first":  {capability: 90, wrong: "popcountn", want: []string{"imma", "bmma", "paper"}, log: "3 words: query"},
	} {
		t.Run(name, func(t *testing.T) {
			f.Reset(1<<30, 1, c.capability, 2)
			f.Break(c.wrong)
			var log bytes.Buffer
			d := f.open(t, tested, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			if got := d.Kernels(); !slices.Equal(got, c.want) {
				t.Errorf("kernels %q, want %q", got, c.want)
			}
			if !strings.Contains(log.String(), c.log) {
				t.Errorf("the log lacks %q:\n%s", c.log, &log)
			}
		})
	}
}

func TestUnknownKernel(t *testing.T) {
	f := newFake(t)
	config := Default()
	config.Library, config.Kernel = f.Library, "quantum"
	_, err := Open(config)
	if err == nil || !strings.Contains(err.Error(), `kernel "quantum": want popcount, imma, bmma, paper`) {
		t.Errorf("got %v", err)
	}
}

// An append beyond the budget changes nothing, and the device goes on.
func TestBudget(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Budget, c.Kernel = 700_000, "popcount" })
	random := rand.New(rand.NewPCG(1, 2))
	table := MustTable(t, d, random, 2, 5000)
	used, _ := d.Memory()
	for range 2 {
		if err := table.rows.Append(randomPlanes(random, 2, 100_000)); !errors.Is(err, ErrMemory) {
			t.Fatalf("got %v, want ErrMemory", err)
		}
	}
	if now, budget := d.Memory(); now != used || now > budget {
		t.Errorf("%d bytes in use, %d before", now, used)
	}
	table.MustAppend(t, random, 100)
	newQuestion(random, 5, table).ask(t, d, nil)
}

// The device may have less than the budget promises, and the log says so.
func TestDeviceFull(t *testing.T) {
	f := newFake(t)
	var log bytes.Buffer
	d := f.open(t, func(c *Config) {
		c.Budget, c.Kernel, c.Logger = 1<<40, "popcount", slog.New(slog.NewTextHandler(&log, nil))
	})
	if want := `msg="the budget is more than the device has free" device="Fake 0" budget=1099511627776 free=1073741824`; !strings.Contains(log.String(), want) {
		t.Errorf("no %s in\n%s", want, &log)
	}
	random := rand.New(rand.NewPCG(1, 3))
	table := MustTable(t, d, random, 1, 100)
	f.Fail("cuMemAlloc", 1, 2)
	table.MustAppend(t, random, 3000) // at first as much again as there is, then as much as is needed
	f.Fail("cuMemAlloc", 1, 2)
	if err := table.rows.Append(randomPlanes(random, 1, 9*chunkUnit)); err != nil && !errors.Is(err, ErrMemory) {
		t.Errorf("got %v, want ErrMemory or nothing", err)
	}
	newQuestion(random, 5, table).ask(t, d, nil)
}

// Whatever call fails, a scan says that the device is lost, and so does all that follows.
func TestDeviceLost(t *testing.T) {
	f := newFake(t)
	for call, after := range map[string]int32{"cuMemcpyHtoDAsync": 5, "cuLaunchKernel": 5, "cuStreamSynchronize": 5,
		"cuMemcpyDtoHAsync": 9,
		"cuEventRecord":     12, "cuStreamWaitEvent": 5, "cuStreamQuery": 5, "cuMemsetD32Async": 5, "cuEventElapsedTime": 5} {
		t.Run(call, func(t *testing.T) {
			f.Reset(1<<30, 1, 90, 2)
			var log bytes.Buffer
			d := f.open(t, func(c *Config) {
				c.Kernel, c.Logger, c.sizes.hits, c.sizes.maxHits, c.sizes.staging = "popcount",
					slog.New(slog.NewTextHandler(&log, nil)), 1<<12, 1<<12, 1000
			})
			random := rand.New(rand.NewPCG(8, 8))
			table := MustTable(t, d, random, 1, 10_000)
			batch := newFlood(1, table, 0, 10_000).batch()
			f.Fail(call, after, 719)                         // in the middle: the hits come in parts, and some are there already
			err := d.scan(batch, d.kernels[0], func(Hit) {}) // timed, for the sake of cuEventElapsedTime
			if !errors.Is(err, ErrDeviceLost) || !strings.Contains(err.Error(), call) {
				t.Fatalf("got %v, want ErrDeviceLost and %s", err, call)
			}
			for _, err := range []error{d.Scan(batch, func(Hit) {}), table.rows.Append([][]uint32{{1}})} {
				if !errors.Is(err, ErrDeviceLost) {
					t.Errorf("got %v, want ErrDeviceLost", err)
				}
			}
			if got := strings.Count(log.String(), `msg="cuda device lost"`); got != 1 {
				t.Errorf("%d lines in the log, want 1:\n%s", got, &log)
			}
			f.Forget = true
		})
	}
}

func TestClosed(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel = "popcount" })
	table := MustTable(t, d, rand.New(rand.NewPCG(9, 9)), 1, 100)
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	for _, err := range []error{d.Scan(newFlood(1, table, 0, 0).batch(), func(Hit) {}), table.rows.Append([][]uint32{{1}})} {
		if !errors.Is(err, errClosed) {
			t.Errorf("got %v, want errClosed", err)
		}
	}
	if err := table.rows.Free(); err != nil {
		t.Error(err)
	}
}

// The caller's bugs are panics, before anything reaches the device.
func TestPanics(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel = "popcount" })
	rows := MustTable(t, d, rand.New(rand.NewPCG(9, 9)), 2, 10).rows
	narrow := MustTable(t, d, rand.New(rand.NewPCG(9, 9)), 1, 10).rows
	var b Batch
	scan := func(j Job) {
		b.Reset(2, 1, 1)
		b.AddQuery([]uint32{1, 2}, 0)
		b.AddJob(j)
		if err := d.Scan(&b, func(Hit) {}); err != nil {
			t.Error(err)
		}
	}
	for name, do := range map[string]func(){
		"rows beyond the end":            func() { scan(Job{Rows: rows, To: 11}) },
		"rows in the wrong order":        func() { scan(Job{Rows: rows, From: 3, To: 2}) },
		"rows of another width":          func() { scan(Job{Rows: narrow, To: 1}) },
		"rows of a class there isn't":    func() { scan(Job{Rows: rows, To: 1, Class: 1}) },
		"queries beyond the end":         func() { scan(Job{Rows: rows, To: 1, Last: 2}) },
		"queries in the wrong order":     func() { scan(Job{Rows: rows, To: 1, First: 1}) },
		"a narrow query":                 func() { b.AddQuery([]uint32{1}, 0) },
		"a query of a class there isn't": func() { b.AddQuery([]uint32{1, 2}, 1) },
		"a plane too few":                func() { _ = rows.Append([][]uint32{{1}}) },
		"planes of two lengths":          func() { _ = rows.Append([][]uint32{{1}, {1, 2}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do()
		})
	}
	scan(Job{Rows: rows, To: 10, Last: 1}) // after the panics
	if _, err := d.NewRows(33, 0); err == nil {
		t.Error("33 words: no error")
	}
}

// BenchmarkOpen is mostly the self-test, by the driver that has no device.
func BenchmarkOpen(b *testing.B) {
	f := newFake(b)
	for b.Loop() {
		if err := f.open(b, tested).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// A launch that fails half made for want of memory leaves the device nothing to do: the scan after it has other tables.
func TestNoMemoryForALaunch(t *testing.T) {
	f := newFake(t)
	for call, after := range map[string]int32{"cuMemsetD32Async": 1, "cuLaunchKernel": 1, "cuMemcpyDtoHAsync": 2} {
		for _, order := range cudatest.Orders() {
			t.Run(call+" "+order.String(), func(t *testing.T) {
				d := f.open(t, func(c *Config) { c.Kernel, c.Scans = "popcount", 1 })
				random := rand.New(rand.NewPCG(20, 20))
				table := MustTable(t, d, random, 2, 500)
				f.Order(order)
				f.Fail(call, after, cudatest.OutOfMemory)
				if err := d.Scan(newFlood(3, table, 0, 500).batch(), func(Hit) {}); !errors.Is(err, ErrMemory) || d.Lost() {
					t.Fatalf("got %v, want ErrMemory alone", err)
				}
				newWholeQuestion(random, 60, table).ask(t, d, nil)
			})
		}
	}
}
