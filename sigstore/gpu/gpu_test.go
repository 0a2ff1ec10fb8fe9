//go:build linux && (amd64 || arm64) && !nocuda

package gpu_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/cuda"
	"refrain/cuda/cudatest"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/gpu"
	"refrain/sigstore/prefix"
	"refrain/sigstore/scan"
	"refrain/text"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

const never = 1 << 60 // a cost that no rows reach

// open opens the device of a fake driver.
func open(tb testing.TB, f *cudatest.Driver, budget ...int64) *cuda.Device {
	tb.Helper()
	config := cuda.Default()
	for _, b := range budget {
		config.Budget = b
	}
	config.Library, config.Kernel, config.Scans = f.Library, "popcount", 1
	return openAs(tb, config)
}

func openAs(tb testing.TB, config cuda.Config) *cuda.Device {
	tb.Helper()
	config.Timeout = time.Hour // a simulated device may take what it takes
	d, err := cuda.Open(config)
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

// window is what an index sees of one, with an index on the device and sigstore/scan beside it.
type window struct {
	*rand.Rand
	tb        testing.TB
	model     *hashcodes.Model
	log       bytes.Buffer
	index     sigstore.Index
	reference sigstore.Index
	first     uint32
	blocks    [][][]uint32 // token sets, nil of a dead row
	lent      []uint32
	hits      int
}

// fourFifths is Jaccard at 0.8.
var fourFifths = text.Jaccard.At(text.Threshold{Num: 4, Den: 5})

// configOf is the default configuration with what it lacks.
func configOf(d *cuda.Device, bounds *hashcodes.Bounds, words int, cpu sigstore.Engine, log io.Writer) gpu.Config {
	c := gpu.Default()
	c.Device, c.Bounds, c.Words, c.CPU, c.Logger = d, bounds, words, cpu, slog.New(slog.NewTextHandler(log, nil))
	return c
}

// newWindow has codes of one bit where the seed is even, of two where it is odd.
func newWindow(tb testing.TB, d *cuda.Device, words, minCost int, similar text.Measure, seed uint64) *window {
	tb.Helper()
	model, err := hashcodes.NewMD5(32*words, 1+int(seed)%2)
	if err != nil {
		tb.Fatal(err)
	}
	w := &window{Rand: rand.New(rand.NewPCG(seed, uint64(words))), tb: tb, model: model}
	bounds := hashcodes.NewBounds(similar, model.Ones())
	if d != nil { // else the test makes the index
		w.index = gpu.New(configOf(d, bounds, words, scan.New(bounds, words), &w.log).WithMinDeviceCost(minCost))(w)
	}
	w.reference = scan.New(bounds, words)(w)
	return w
}

func (w *window) Frequencies() []uint32 { return nil }

// Tokens lends its answer, as a window does.
func (w *window) Tokens(r sigstore.Row) []uint32 {
	tokens := w.blocks[r.Block-w.first][r.Row]
	if tokens == nil {
		return nil
	}
	w.lent = append(w.lent[:0], tokens...)
	return w.lent
}

func (w *window) Signature(tokens []uint32) hashcodes.Signature {
	return w.model.Sign(make(hashcodes.Signature, w.model.Words()), ids(tokens))
}

// query asks for a set, every other time with its holders.
func (w *window) query(set []uint32) sigstore.Query {
	q := sigstore.Query{Tokens: set, Size: len(set), Signature: w.Signature(set)}
	if w.IntN(2) == 0 {
		q.Holders = w.model.Hold(hashcodes.NewHolders(w.model.Bits()), ids(set))
	}
	return q
}

func ids(tokens []uint32) (ids []uint64) {
	for _, t := range tokens {
		ids = append(ids, uint64(t))
	}
	return ids
}

func (w *window) open() {
	w.index.Open()
	w.reference.Open()
	w.blocks = append(w.blocks, nil)
}

// drop asks the index while the block is still there, as a window does.
func (w *window) drop() {
	w.index.Drop()
	w.reference.Drop()
	w.blocks = w.blocks[1:]
	w.first++
}

func (w *window) add(rows int) {
	last := &w.blocks[len(w.blocks)-1]
	for range rows {
		tokens := w.set()
		for _, x := range []sigstore.Index{w.index, w.reference} {
			lent := w.Signature(tokens)
			x.Add(tokens, lent)
			clear(lent)
		}
		*last = append(*last, tokens)
	}
}

// kill makes a row dead, of which the index is not told.
func (w *window) kill() {
	if b := w.blocks[w.IntN(len(w.blocks))]; len(b) > 0 {
		b[w.IntN(len(b))] = nil
	}
}

// set is a token set, often like one of a row.
func (w *window) set() []uint32 {
	size := 1 + w.IntN(12)
	if w.IntN(50) == 0 {
		size = 1 + w.IntN(hashcodes.MaxSize)
	}
	var set []uint32
	if b := w.blocks[w.IntN(len(w.blocks))]; len(b) > 0 && w.IntN(2) == 0 {
		set = slices.Clone(b[w.IntN(len(b))])
		size = max(1, len(set)-w.IntN(1+len(set)/6))
		set = set[:min(size, len(set))]
	}
	for len(set) < size {
		set = append(set, w.Uint32N(5000))
		slices.Sort(set)
		set = slices.Compact(set)
	}
	return set
}

// search wants the reference's candidates, each once, behind hits that are there already. It leaves out dead rows, as a
// window does.
func (w *window) search(queries int) {
	w.tb.Helper()
	earlier := sigstore.Row{Block: 1 << 31, Row: 7}
	var got, want []sigstore.Query
	for range queries {
		q := w.query(w.set())
		want = append(want, q)
		q.Hits = []sigstore.Row{earlier}
		got = append(got, q)
	}
	w.index.Search(got)
	w.reference.Search(want)
	for i := range got {
		if got[i].Hits[0] != earlier {
			w.tb.Fatal("earlier hits are gone")
		}
		hits, wanted := w.live(got[i].Hits[1:]), w.live(want[i].Hits)
		if w.hits += len(hits); !slices.Equal(hits, wanted) {
			w.tb.Fatalf("query %d of %d, %d tokens, blocks %d to %d:\n got %v\nwant %v\nlog %s", i, queries, got[i].Size,
				w.first, int(w.first)+len(w.blocks)-1, hits, wanted, &w.log)
		}
	}
}

func (w *window) live(rows []sigstore.Row) []sigstore.Row {
	rows = slices.DeleteFunc(rows, func(r sigstore.Row) bool { return w.blocks[r.Block-w.first][r.Row] == nil })
	slices.SortFunc(rows, func(a, b sigstore.Row) int {
		if a.Block != b.Block {
			return int(a.Block) - int(b.Block)
		}
		return int(a.Row) - int(b.Row)
	})
	return rows
}

// run lets blocks come and go.
func (w *window) run(steps int) {
	w.tb.Helper()
	for range steps {
		if w.IntN(3) == 0 || len(w.blocks) == 0 {
			w.open()
		}
		w.add(w.IntN(150))
		if w.IntN(6) == 0 && len(w.blocks) > 1 {
			w.drop()
		}
		w.kill()
		w.search(1 + w.IntN(1+w.IntN(60)))
	}
}

func (w *window) close() {
	w.tb.Helper()
	if err := w.index.(io.Closer).Close(); err != nil {
		w.tb.Error(err)
	}
}

func (w *window) lines(text string) int { return strings.Count(w.log.String(), text) }

const (
	lostLine = "the device cannot go on"
	fullLine = "the device has no room"
)

// Wherever rows are, the candidates are those of sigstore/scan, and in the end all memory is given back.
func TestCandidates(t *testing.T) {
	d := open(t, cudatest.New(t))
	before, _ := d.Memory()
	for _, words := range []int{1, 2, 4, 8} {
		for i, similar := range []text.Measure{text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), fourFifths,
			text.Jaccard.At(text.Threshold{Num: 1, Den: 1}), text.Cosine.At(text.Threshold{Num: 4, Den: 5}),
			text.Dice.At(text.Threshold{Num: 7, Den: 10})} {
			for _, minCost := range []int{1, 4000, never} {
				w := newWindow(t, d, words, minCost, similar, uint64(i))
				w.run(12)
				used, _ := d.Memory()
				if w.hits == 0 || w.log.Len() > 0 {
					t.Errorf("%d hits, log %q", w.hits, &w.log)
				}
				w.close()
				after, _ := d.Memory()
				if minCost == 1 && used == after {
					t.Errorf("%d words, minCost %d: no row was on the device", words, minCost)
				}
			}
		}
	}
	// What searches need stays with the device.
	if after, _ := d.Memory(); after > before+1<<20 {
		t.Errorf("%d bytes of the device in use, %d before", after, before)
	}
}

// The engine that takes over may ask for rows while it is given others, as prefix does when it posts them again: no row is
// given the tokens of another.
func TestLostToPrefix(t *testing.T) {
	f := cudatest.New(t)
	d := open(t, f)
	w, bounds := newWindow(t, d, 2, 1, fourFifths, 6), hashcodes.NewBounds(fourFifths, 1)
	w.index = gpu.New(configOf(d, bounds, 2, prefix.New(bounds), &w.log).WithMinDeviceCost(1))(w)
	w.open()
	w.add(6000)
	for row := range w.blocks[0] {
		if row%3 == 0 {
			w.blocks[0][row] = nil // dead
		}
	}
	f.Forget = true
	f.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
	for row, set := range w.blocks[0] {
		if set == nil {
			continue
		}
		q := []sigstore.Query{{Tokens: set, Size: len(set), Signature: w.Signature(set)}}
		w.index.Search(q)
		if !slices.Contains(q[0].Hits, sigstore.Row{Row: uint32(row)}) {
			t.Fatalf("row %d of %d tokens is not found by its own", row, len(set))
		}
	}
	if w.lines(lostLine) != 1 {
		t.Errorf("log:\n%s", &w.log)
	}
}

// Windows of several goroutines share the device, and are all told when it is lost.
func TestSideBySide(t *testing.T) {
	f := cudatest.New(t)
	d := open(t, f)
	for _, lost := range []bool{false, true} {
		if lost {
			f.Forget = true
			f.Fail("cuLaunchKernel", 40, cudatest.LaunchFailed)
		}
		t.Run(fmt.Sprintf("lost %t", lost), func(t *testing.T) {
			var windows []*window // all there before the device is lost
			for seed := range uint64(3) {
				windows = append(windows, newWindow(t, d, 1<<seed, 1, text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 20+seed))
			}
			for seed, w := range windows {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					w.tb = t
					w.run(40)
					if logged := w.lines(lostLine) == 1; logged != lost {
						t.Errorf("log:\n%s", &w.log)
					}
					w.close()
				})
			}
		})
	}
}

// Of more queries than one launch takes the next are made while the device is at those before: the rows that only they
// ask for are on their way before anyone waits for the first launch.
func TestNextIsMadeMeanwhile(t *testing.T) {
	f := cudatest.New(t)
	w := newWindow(t, open(t, f), 2, 1, fourFifths, 13)
	w.open()
	w.add(2000)
	queries := make([]sigstore.Query, 2*gpu.Batch)
	for i := range queries {
		size := 3
		if i >= gpu.Batch {
			size = 30
		}
		queries[i] = sigstore.Query{Size: size, Signature: w.Signature([]uint32{uint32(i)})}
	}
	before := len(f.Log())
	w.index.Search(queries)
	calls := strings.Split(f.Log()[before:], "\n")
	at := func(call string) (places []int) {
		for i, line := range calls {
			if strings.HasPrefix(line, call) {
				places = append(places, i)
			}
		}
		return places
	}
	launches, allocations, waits := at("cuLaunchKernel"), at("cuMemAlloc"), at("cuStreamSynchronize")
	if len(launches) != 2 {
		t.Fatalf("%d launches, want 2", len(launches))
	}
	if !slices.ContainsFunc(allocations, func(at int) bool { return launches[0] < at && at < waits[0] }) {
		t.Errorf("launches at %v, room for rows made at %v, first wait at %v", launches, allocations, waits[0])
	}
	w.close()
}

// A launch that fails in the middle leaves its queries to the CPU, and those before it as they are.
func TestLostInTheMiddle(t *testing.T) {
	for call, after := range map[string]int32{"cuLaunchKernel": 2, "cuStreamSynchronize": 2, "cuMemcpyDtoHAsync": 5} {
		t.Run(call, func(t *testing.T) {
			f := cudatest.New(t)
			w := newWindow(t, open(t, f), 2, 4000, text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 14)
			for range 3 {
				w.open()
				w.add(300)
			}
			f.Forget = true
			f.Fail(call, after, cudatest.LaunchFailed)
			w.search(3*gpu.Batch + 7)
			if w.hits == 0 || w.lines(lostLine) != 1 {
				t.Errorf("%d hits, log:\n%s", w.hits, &w.log)
			}
			w.close()
		})
	}
}

// Rows are sent once they have been compared often enough, and not before.
func TestFare(t *testing.T) {
	f := cudatest.New(t)
	d := open(t, f)
	w := newWindow(t, d, 1, 100_000, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 1)
	launches := func() int { return strings.Count(f.Log(), "cuLaunchKernel") }
	before := launches()
	w.open()
	w.add(300)
	w.search(20)
	if n := launches() - before; n != 0 {
		t.Errorf("%d launches without a row on the device", n)
	}
	w.open()
	for range 40 {
		w.search(50)
	}
	if n := launches() - before; n == 0 || n >= 40 {
		t.Errorf("%d launches in 40 searches, want some, and none at first", n)
	}
	w.close()
}

// Where memory is short some rows stay here. It is told once, and what a dropped block gives back is used again.
func TestDeviceFull(t *testing.T) {
	f := cudatest.New(t)
	config := cuda.Default()
	config.Library, config.Kernel, config.Scans = f.Library, "popcount", 1
	empty, err := cuda.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	used, _ := empty.Memory()
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, f, used+700_000)
	w := newWindow(t, d, 8, 1, text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 3)
	w.run(8)
	full, budget := d.Memory()
	w.run(30)
	if now, _ := d.Memory(); now == used || full == used || now > budget {
		t.Errorf("%d bytes in use, %d when it was first full, budget %d", now, full, budget)
	}
	if w.lines(fullLine) != 1 || w.lines(lostLine) != 0 {
		t.Errorf("want one line in the log, got\n%s", &w.log)
	}
	for len(w.blocks) > 1 {
		w.drop()
	}
	before, _ := d.Memory()
	w.run(1)
	if now, _ := d.Memory(); now <= before {
		t.Errorf("%d bytes in use, %d before: nothing was sent though there was room again", now, before)
	}
	w.close()
}

// Rows that come before the first search, as after a restart, do not fill all of the device: searches need some.
func TestRoomForSearches(t *testing.T) {
	d := open(t, cudatest.New(t), 4<<20)
	w := newWindow(t, d, 8, 1, text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), 12)
	for range 8 {
		w.open()
		w.add(60)
	}
	w.search(20)
	used, budget := d.Memory()
	if w.lines(fullLine) != 1 || w.lines(lostLine) != 0 || used > budget-budget/32 {
		t.Errorf("%d bytes of %d in use, log:\n%s", used, budget, &w.log)
	}
	w.search(30)
	w.close()
}

// Another call for memory fails: the rows stay here.
func TestAllocationFails(t *testing.T) {
	f := cudatest.New(t)
	w := newWindow(t, open(t, f), 2, 1, text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 4)
	w.open()
	w.add(300)
	f.Fail("cuMemAlloc", 2, cudatest.OutOfMemory) // then as much as is needed, which is as much
	w.search(5)
	w.run(5)
	if w.lines(lostLine) != 0 {
		t.Errorf("log:\n%s", &w.log)
	}
	w.close()
}

// A batch for which the device has no room is asked in parts.
func TestNoRoomForQueries(t *testing.T) {
	d := open(t, cudatest.New(t), 8<<20)
	w := newWindow(t, d, 8, 1, text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), 5)
	w.open()
	w.add(400)
	w.search(1)
	hog, err := d.NewRows(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	used, budget := d.Memory()
	if err := hog.Append([][]uint32{make([]uint32, (budget-used)/4/2048*2048)}); err != nil {
		t.Fatal(err)
	}
	w.search(700)
	if w.lines(fullLine) != 1 || w.lines(lostLine) != 0 {
		t.Errorf("log:\n%s", &w.log)
	}
	w.close()
}

// The device is lost in whatever call, after some blocks have gone: the CPU goes on with the same answers.
func TestDeviceLost(t *testing.T) {
	for call, after := range map[string]int32{"cuMemcpyHtoDAsync": 3, "cuMemAlloc": 1, "cuLaunchKernel": 1,
		"cuMemcpyDtoHAsync":   2,
		"cuStreamSynchronize": 1, "cuMemFree": 1} {
		t.Run(call, func(t *testing.T) {
			f := cudatest.New(t)
			w := newWindow(t, open(t, f), 2, 1, text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 6)
			w.run(15)
			for w.first < 3 {
				w.open()
				w.add(50)
				w.drop()
			}
			f.Forget = true
			f.Fail(call, after, cudatest.LaunchFailed)
			w.run(4)
			for len(w.blocks) > 1 {
				w.drop()
			}
			w.run(15)
			if w.lines(lostLine) != 1 {
				t.Errorf("want one line in the log, got\n%s", &w.log)
			}
			if got, want := w.index.Batch(), w.reference.Batch(); got != want {
				t.Errorf("batches of %d, want those of the CPU's engine, %d", got, want)
			}
			if got, want := w.index.Bytes(), w.reference.Bytes(); got < want/2 || got > 2*want {
				t.Errorf("%d bytes, the engine of the CPU alone has %d", got, want)
			}
			w.close()
		})
	}
}

// The next window of an engine does not try the device that failed the one before.
func TestLostForTheNext(t *testing.T) {
	f := cudatest.New(t)
	d := open(t, f)
	var log bytes.Buffer
	bounds := hashcodes.NewBounds(fourFifths, 1)
	engine := gpu.New(configOf(d, bounds, 1, scan.New(bounds, 1), &log).WithMinDeviceCost(1))
	f.Forget = true
	f.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
	for range 3 {
		w := newWindow(t, d, 1, 1, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 8)
		w.index = engine(w)
		w.open()
		w.add(100)
		w.search(10)
		w.close()
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d lines in the log, want 1:\n%s", n, &log)
	}
}

// A closed device is as good as a lost one.
func TestDeviceClosed(t *testing.T) {
	d := open(t, cudatest.New(t))
	w := newWindow(t, d, 1, 1, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 8)
	w.run(10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	w.run(10)
	if w.lines(lostLine) != 1 {
		t.Errorf("log:\n%s", &w.log)
	}
	w.close()
}

// The device's memory comes back from a window that nobody needs any more.
func TestForgotten(t *testing.T) {
	d := open(t, cudatest.New(t))
	w := newWindow(t, d, 1, 1, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 9)
	w.open()
	w.add(100)
	w.search(10)
	full, _ := d.Memory()
	w = nil
	for range 10_000 {
		runtime.GC()
		if now, _ := d.Memory(); now < full-8192 {
			return
		}
	}
	t.Errorf("still %d bytes in use", full)
}

// TestBytes compares what the index says it holds with what it does.
func TestBytes(t *testing.T) {
	d := open(t, cudatest.New(t))
	for _, minCost := range []int{1, never} {
		t.Run(fmt.Sprint(minCost), func(t *testing.T) {
			w := newWindow(t, d, 2, minCost, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 10)
			signature, tokens := w.Signature([]uint32{1}), make([]uint32, 40)
			q := []sigstore.Query{{Size: 20, Signature: make(hashcodes.Signature, 2)}}
			for i := range signature {
				q[0].Signature[i] = ^signature[i]
			}
			before := heap()
			for i := range 60_000 {
				if i%20_000 == 0 {
					w.index.Open()
				}
				w.index.Add(tokens[:10+i%30], signature)
				if i%2000 == 1999 {
					w.index.Search(q)
				}
			}
			got, want := w.index.Bytes(), heap()-before
			if ratio := float64(got) / float64(want); ratio < 0.85 || ratio > 1.1 {
				t.Errorf("says %d bytes, holds %d", got, want)
			}
			runtime.KeepAlive(w)
			w.close()
			if n := w.index.Bytes(); n != 0 {
				t.Errorf("%d bytes of a closed index", n)
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Searches use the memory of those before.
func TestSearchDoesNotAllocate(t *testing.T) {
	w := newWindow(t, open(t, cudatest.New(t)), 2, never, text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 11)
	w.open()
	w.add(500)
	var queries []sigstore.Query
	for range 30 {
		set := w.set()
		queries = append(queries, sigstore.Query{Size: len(set), Signature: w.Signature(set)})
	}
	allocated := testing.AllocsPerRun(20, func() {
		for i := range queries {
			queries[i].Hits = queries[i].Hits[:0]
		}
		w.index.Search(queries)
	})
	if allocated > 0 {
		t.Errorf("%v allocations a search", allocated)
	}
}
