//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	shortTimeout = 500 * time.Millisecond
	openTimeout  = 5 * time.Second // for the scans of Open that do not hang, on a busy machine
)

// wantHang wants the error of a device that has not answered a call.
func wantHang(t *testing.T, err error, call string) {
	t.Helper()
	wantHangAfter(t, err, call, shortTimeout)
}

func wantHangAfter(t *testing.T, err error, call string, timeout time.Duration) {
	t.Helper()
	if !errors.Is(err, ErrDeviceLost) || !strings.Contains(err.Error(), fmt.Sprintf("%s: no answer in %v", call, timeout)) {
		t.Errorf("got %v, want ErrDeviceLost and no answer to %s", err, call)
	}
}

// A device that hangs is lost: the scan says what it waited for, all that follows fails at once, and Close does not wait. One
// thread stays behind, and does no harm when the device goes on after all.
func TestHang(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel, c.Timeout = "popcount", time.Minute })
	table := MustTable(t, d, rand.New(rand.NewPCG(17, 17)), 2, 3000)
	d.timeout = shortTimeout
	f.Hang("popcount2")
	b := newFlood(3, table, 0, 3000).batch()
	err := d.Scan(b, func(Hit) { t.Error("a hit") })
	wantHang(t, err, "cuStreamSynchronize")
	if !strings.Contains(err.Error(), "kernel popcount") {
		t.Errorf("got %v, want the kernel's name", err)
	}
	wantHang(t, d.Scan(b, func(Hit) {}), "cuStreamSynchronize")
	wantHang(t, table.rows.Append([][]uint32{{1}, {1}}), "cuStreamSynchronize")
	if err := errors.Join(table.rows.Free(), d.Close()); err != nil {
		t.Error(err)
	}
	if got := f.Waiting(); got != 1 {
		t.Errorf("%d threads stay behind, want 1", got)
	}
	f.Release()
	f.Forget = true
}

// What waits for the device by the way is given up, too: memory that is allocated or freed while another scan hangs.
func TestHangElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		call string
		do   func(d *Device, t *table) error
	}{
		"room for rows": {"cuMemAlloc", func(_ *Device, t *table) error { return t.rows.Append([][]uint32{make([]uint32, 9000)}) }},
		"room for hits": {"cuMemAlloc", func(d *Device, t *table) error {
			return d.Scan(newFlood(3, t, 0, 2500).batch(), func(Hit) {})
		}},
		"tables": {"cuMemFree", func(d *Device, t *table) error {
			return d.Scan(newFlood(1<<16, t, 0, 1).batch(), func(Hit) {})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			d := f.open(t, func(c *Config) { c.Kernel, c.sizes.hits = "popcount", 200 })
			random := rand.New(rand.NewPCG(18, 18))
			narrow, wide := MustTable(t, d, random, 1, 2500), MustTable(t, d, random, 2, 2500)
			makeRoom(t, d, narrow)
			d.timeout = shortTimeout
			f.Hang("popcount2")
			hanging := newFlood(1, wide, 0, 1).batch()
			if err := d.Start(hanging); err != nil {
				t.Fatal(err)
			}
			wantHang(t, test.do(d, narrow), test.call)
			wantHang(t, hanging.Wait(func(Hit) {}), test.call)
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			f.Forget = true
		})
	}
}

// makeRoom has two scans at once make what memory small ones need.
func makeRoom(t *testing.T, d *Device, of *table) {
	t.Helper()
	a, b := newFlood(1, of, 0, 1).batch(), newFlood(1, of, 0, 1).batch()
	err := errors.Join(d.Start(a), d.Start(b))
	if err := errors.Join(err, a.Wait(func(Hit) {}), b.Wait(func(Hit) {})); err != nil {
		t.Fatal(err)
	}
}

// A device that hangs while it is tested is not opened.
func TestHangAtOpen(t *testing.T) {
	f := newFake(t)
	f.Hang("imma4")
	config := Default()
	config.Library, config.Timeout = f.Library, openTimeout
	_, err := Open(config)
	wantHangAfter(t, err, "cuStreamSynchronize", openTimeout)
	if err == nil || !strings.Contains(err.Error(), "open device 0: test kernel imma: 3 words: ") {
		t.Errorf("got %v, want the kernel's name", err)
	}
	f.Forget = true
}

// Several scans wait when the device hangs: each comes back.
func TestHangOfMany(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel, c.Scans = "popcount", 2 })
	table := MustTable(t, d, rand.New(rand.NewPCG(19, 19)), 1, 300)
	makeRoom(t, d, table)
	d.timeout = shortTimeout
	f.Hang("popcount")
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() { wantHang(t, d.Scan(newFlood(1, table, 0, 300).batch(), func(Hit) {}), "cuStreamSynchronize") })
	}
	wait.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if got := f.Waiting(); got < 1 || got > 2 {
		t.Errorf("%d threads stay behind, want one for each scan of two at once", got)
	}
	f.Forget = true
}

func TestTimeout(t *testing.T) {
	f := newFake(t)
	config := Default()
	config.Library, config.Timeout = f.Library, 0
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "timeout 0s: want more than 0") {
		t.Errorf("got %v", err)
	}
}

// However small appends are, so many of them are not queued that the driver waits for the device without being watched.
func TestManyAppends(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Kernel = "popcount" })
	rows, err := d.NewRows(1, 5000)
	if err != nil {
		t.Fatal(err)
	}
	before := len(f.Log())
	for i := range uint32(5000) {
		if err := rows.Append([][]uint32{{i}}); err != nil {
			t.Fatal(err)
		}
	}
	queued, most := 0, 0
	for line := range strings.Lines(f.Log()[before:]) {
		switch {
		case strings.HasPrefix(line, "cuMemcpyHtoDAsync"):
			queued++
		case strings.HasPrefix(line, "cuEventSynchronize"):
			queued = maxCopies // what the other buffer has sent
		}
		most = max(most, queued)
	}
	if most > 2*maxCopies {
		t.Errorf("%d copies in the queue, want at most %d", most, 2*maxCopies)
	}
}
