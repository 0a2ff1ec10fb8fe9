//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/cuda/cudatest"
	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
	"refrain/sigstore/scan"
	"refrain/text"
)

// openDevices opens so many devices of a fake driver.
func openDevices(t *testing.T, f *cudatest.Driver, count int, log io.Writer) *gpu.Devices {
	t.Helper()
	f.Reset(1<<30, int32(count), 90, 2)
	cfg := gpu.DefaultDevices()
	cfg.Library, cfg.Kernel, cfg.Logger = f.Library, "popcount", slog.New(slog.NewTextHandler(log, nil))
	d, err := gpu.OpenDevices(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestDealing: each window gets the device with the fewest, whatever goes in between: windows that are closed, and those that
// nobody needs any more.
func TestDealing(t *testing.T) {
	d := openDevices(t, cudatest.New(t), 3, io.Discard)
	bounds := hashcodes.NewBounds(fourFifths, 1)
	engine := d.Engine(configOf(nil, bounds, 2, scan.New(bounds, 2), io.Discard))
	var windows []sigstore.Index
	deal := func(n int) {
		for range n {
			windows = append(windows, engine(nil))
		}
	}
	want := func(what string, want ...int) {
		t.Helper()
		if got := d.Windows(); !slices.Equal(got, want) {
			t.Errorf("%s: windows by device %v, want %v", what, got, want)
		}
	}
	deal(7)
	want("dealt", 3, 2, 2)
	for _, n := range []int{1, 4, 1} { // those of the second device, one of them twice
		if err := windows[n].(io.Closer).Close(); err != nil {
			t.Fatal(err)
		}
	}
	want("closed", 3, 0, 2)
	deal(3)
	want("dealt again", 3, 3, 2)
	windows = nil
	for range 10_000 {
		if runtime.GC(); slices.Max(d.Windows()) == 0 {
			return
		}
	}
	t.Errorf("windows that nobody needs count: %v", d.Windows())
}

// TestEventsOfDevices: the windows of partitions on two and three devices give the events of the prefix engine; so they do when
// a device is lost in the middle, which only its own windows leave, and those that come later do not try.
func TestEventsOfDevices(t *testing.T) {
	all := realSentences(t, ira, 3000)
	similar := text.Jaccard.At(text.Threshold{Num: 3, Den: 5})
	const partitions = 4
	want := playParts(t, partitions, similar, detector.Prefix, all, func(int) {})
	if len(want) < 100 {
		t.Fatalf("%d events: too few to say anything", len(want))
	}
	for _, devices := range []int{2, 3} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d devices, one lost %t", devices, lost), func(t *testing.T) {
				f := cudatest.New(t)
				var log bytes.Buffer
				d := openDevices(t, f, devices, io.Discard)
				windows := func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
					return d.Engine(configOf(nil, b, m.Words(), prefix.New(b), &log).WithMinDeviceCost(1))
				}
				var used []int64
				got := playParts(t, partitions, similar, windows, all, func(batch int) {
					if batch != 6 {
						return
					}
					for _, device := range d.Devices() {
						n, _ := device.Memory()
						used = append(used, n)
					}
					if lost {
						f.Forget = true
						f.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
					}
				})
				if !slices.Equal(got, want) {
					t.Errorf("%d events, want %d of the prefix engine, or others", len(got), len(want))
				}
				checkDealt(t, d.Windows(), used, lost, partitions)
				if n := strings.Count(log.String(), lostLine); lost && n < 1 || !lost && n > 0 {
					t.Errorf("log:\n%s", &log)
				}
			})
		}
	}
}

// checkDealt wants windows on all devices but the one that is lost, and rows on each before that.
func checkDealt(t *testing.T, windows []int, used []int64, lost bool, partitions int) {
	t.Helper()
	slices.Sort(windows)
	if lost {
		if windows[0] != 0 {
			t.Errorf("a lost device has windows: %v", windows)
		}
		windows = windows[1:]
	}
	if windows[0] == 0 || !lost && windows[len(windows)-1] > partitions/len(windows)+1 {
		t.Errorf("windows by device: %v", windows)
	}
	for _, n := range used {
		if n < 1<<16 {
			t.Errorf("bytes in use by device %v: one had no rows", used)
		}
	}
}

// playParts is play in partitions, each a window of its own that is asked for every sentence.
func playParts(t *testing.T, partitions int, similar text.Measure, engine detector.Engine, all []feed.Sentence, between func(batch int)) (names []feed.Hash) {
	t.Helper()
	const batch = 200
	var found []feed.Match
	windows := newPartitions(t, partitions, similar, engine)
	for i := 0; i < len(all); i += batch {
		var expected []*feed.Sentence
		for n := i; n < min(i+batch, len(all)); n++ {
			expected = append(expected, &all[n])
		}
		between(i / batch)
		for part, d := range windows {
			d.Expect(expected)
			for _, x := range expected {
				if found = d.LookupNew(found, x); int(x.Group[0])%partitions == part {
					d.Insert(x)
				}
			}
			d.Advance(expected[len(expected)-1].Time)
		}
	}
	for _, d := range windows {
		t.Cleanup(func() { _ = d.Close() })
	}
	for i := range found {
		names = append(names, found[i].ID)
	}
	slices.SortFunc(names, func(a, b feed.Hash) int { return bytes.Compare(a[:], b[:]) })
	return names
}

func newPartitions(t *testing.T, n int, similar text.Measure, engine detector.Engine) (all []*detector.Partition) {
	t.Helper()
	cfg := detector.Default()
	cfg.Similarity, cfg.Threshold, cfg.Span, cfg.Lateness = similar.Similarity, similar.Threshold, 1500*time.Second, time.Second
	cfg.Engine = engine
	for range n {
		d, err := detector.NewPartition(cfg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// TestRestoredPartition: it has one window, and what it began with counts no more.
func TestRestoredPartition(t *testing.T) {
	d := openDevices(t, cudatest.New(t), 2, io.Discard)
	parts := newPartitions(t, 2, fourFifths, func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		return d.Engine(configOf(nil, b, m.Words(), prefix.New(b), io.Discard))
	})
	tokens := []uint64{1, 2, 3, 4, 5}
	parts[0].Insert(&feed.Sentence{Post: "a", Time: 1000, Tokens: tokens, Group: feed.GroupHash(tokens)})
	var head bytes.Buffer
	pieces := map[string][]byte{}
	captured := parts[0].Capture()
	for i, p := range captured.Pieces {
		var piece bytes.Buffer
		if err := p.Write(&piece); err != nil {
			t.Fatal(err)
		}
		p.Name = fmt.Sprint(i)
		pieces[p.Name] = piece.Bytes()
	}
	if err := captured.Write(&head); err != nil {
		t.Fatal(err)
	}
	open := func(name string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(pieces[name])), nil }
	if _, err := parts[1].Restore(&head, open, func(string, string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if n := d.Windows(); n[0]+n[1] != 2 || parts[1].Len() != 1 {
		t.Errorf("%v windows of two partitions, %d texts restored", n, parts[1].Len())
	}
	for _, p := range parts {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := d.Windows(); n[0]+n[1] != 0 {
		t.Errorf("%v windows of closed partitions", n)
	}
}

// TestOneOfTwoCannotBeOpened: the other does its work, and there is one warning. Where none can be, that is an error.
func TestOneOfTwoCannotBeOpened(t *testing.T) {
	f := cudatest.New(t)
	f.Reset(1<<30, 2, 90, 2)
	f.Fail("cuMemGetInfo", 1, cudatest.OutOfMemory)
	var log bytes.Buffer
	cfg := gpu.DefaultDevices()
	cfg.Library, cfg.Kernel, cfg.Logger = f.Library, "popcount", slog.New(slog.NewTextHandler(&log, nil))
	d, err := gpu.OpenDevices(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Windows(); len(got) != 1 || strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "open device 0") {
		t.Errorf("%d devices, log:\n%s", len(got), &log)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	f.Reset(1<<30, 1, 90, 2)
	f.Fail("cuMemGetInfo", 1, cudatest.OutOfMemory)
	if _, err := gpu.OpenDevices(cfg); err == nil || !strings.Contains(err.Error(), "open device 0") {
		t.Errorf("got %v", err)
	}
}
