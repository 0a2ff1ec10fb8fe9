// Package gpu is the engine that keeps the signatures of a window in the memory of a GPU and compares them there: the
// jobs of sigstore/scan, all blocks and bands of a batch of queries in one launch.
//
// A row begins on the host, where the CPU compares it. When the rows of a band that are still on the host have cost as
// much as it costs to send them, they are sent (minDeviceCost): whatever comes after, that is at most twice what the
// best choice would have cost. Rows that the device's memory has no room for stay on the host. When the device is lost,
// the window's rows are given to an engine on the CPU, and all goes on. The candidates are the same in every case.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package gpu

import (
	"errors"
	"io"
	"log/slog"
	"sync"

	"refrain/cuda"
	"refrain/hashcodes"
	"refrain/sigstore"
)

// Config says where the rows go. Device, Bounds, Words and CPU are required, Default has the rest.
type Config struct {
	Device *cuda.Device
	Bounds *hashcodes.Bounds
	Words  int             // of 32 bits a signature
	CPU    sigstore.Engine // takes over when the device is lost
	Logger *slog.Logger    // told of a device that is full or lost

	minDeviceCost int // see the constant
}

// Default is the configuration but for the device and what is kept on it.
func Default() Config { return Config{Logger: slog.Default(), minDeviceCost: minDeviceCost} }

// Batch is the number of queries that a launch is worth. A launch takes some forty microseconds, which were not measured on
// a card, and reads the rows once for all queries. But a window compares its queries one by one with what was added since
// they were asked, half a batch on the average: a look-up that finds nothing takes 1.4 µs of the processor at 128, 1.6
// at 256, 2.3 at 512 (BenchmarkLookup).
const Batch = 256

// minDeviceCost is what it costs to send rows, in comparisons by the CPU: some ten microseconds. A pass through rows
// costs as much as so many comparisons before the first.
const (
	minDeviceCost = 1 << 17
	pass          = 128
)

// New makes the engine. Once the device is lost, no index tries it again.
func New(cfg Config) sigstore.Engine {
	told := &sync.Once{}
	return func(rows sigstore.Rows) sigstore.Index {
		x := &index{cfg: cfg, source: rows, told: told}
		if cfg.Device.Lost() {
			x.cpu = cfg.CPU(rows)
		}
		return x
	}
}

// index holds the signatures of a window.
type index struct {
	cfg      Config
	source   sigstore.Rows
	first    uint32 // number of the oldest block
	blocks   []*block
	cpu      sigstore.Index // instead of all this, once the device is lost
	full     bool           // the device had no room since a block was last dropped
	told     *sync.Once     // that it had none: by all indexes of an engine, of which a window makes itself a new one now and then
	searches [2]search
}

func (x *index) Open() {
	if x.cpu != nil {
		x.cpu.Open()
		return
	}
	if n := len(x.blocks); n > 0 {
		x.blocks[n-1].close()
	}
	x.blocks = append(x.blocks, &block{words: x.cfg.Words, open: true})
}

func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	if x.cpu != nil {
		x.cpu.Add(tokens, sig)
		return
	}
	x.blocks[len(x.blocks)-1].add(len(tokens), sig)
}

func (x *index) Drop() {
	if x.cpu != nil {
		x.cpu.Drop()
		return
	}
	b := x.blocks[0]
	x.first++
	x.blocks[0] = nil
	x.blocks = x.blocks[1:]
	x.full = false
	if err := b.free(); err != nil {
		x.fallBack(err)
	}
}

func (x *index) Batch() int {
	if x.cpu != nil {
		return x.cpu.Batch()
	}
	return Batch
}

// Bytes leaves out the device's memory, which has a budget of its own.
func (x *index) Bytes() (n int64) {
	if x.cpu != nil {
		return x.cpu.Bytes()
	}
	for _, b := range x.blocks {
		n += b.held()
	}
	return n
}

// Close gives the device's memory back.
func (x *index) Close() error {
	if c, ok := x.cpu.(io.Closer); ok {
		return c.Close()
	}
	var errs []error
	for _, b := range x.blocks {
		errs = append(errs, b.free())
	}
	x.blocks = nil
	return errors.Join(errs...)
}

// send moves the rows of a band to the device. What does not fit stays; it is tried again when a block has gone.
func (x *index) send(b *band) error {
	if x.full {
		return nil
	}
	if !b.fits(x.cfg.Device) {
		x.logFull()
		return nil
	}
	err := b.send(x.cfg.Device)
	if errors.Is(err, cuda.ErrMemory) {
		x.logFull()
		return nil
	}
	return err
}

func (x *index) logFull() {
	x.full = true
	x.told.Do(func() {
		used, budget := x.cfg.Device.Memory()
		x.cfg.Logger.Warn("gpu: the device has no room for more rows; the CPU compares the rest", "used", used,
			"budget", budget)
	})
}

// fallBack gives all rows to an engine on the CPU.
func (x *index) fallBack(err error) {
	x.cfg.Logger.Error("gpu: the device cannot go on; the CPU does, alone", "error", err, "device", x.cfg.Device.Name())
	blocks := x.blocks
	_ = x.Close()
	x.cpu, x.searches = x.cfg.CPU(x.source), [2]search{}
	for range x.first { // its blocks are numbered like ours
		x.cpu.Open()
		x.cpu.Drop()
	}
	var tokens []uint32
	for n, b := range blocks {
		x.cpu.Open()
		for row := range b.rows {
			r := sigstore.Row{Block: x.first + uint32(n), Row: row}
			tokens = append(tokens[:0], x.source.Tokens(r)...) // x.cpu may ask for others meanwhile
			x.cpu.Add(tokens, x.source.Signature(tokens))      // a dead row has none: nothing is near it
		}
	}
}
