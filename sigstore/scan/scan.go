// Package scan is the engine that compares signatures: a Hamming range scan over the rows of a window that are of a
// size that may match.
//
// Rows lie in bands: rows of one block that have about as many tokens, since the threshold bounds both the sizes of a
// partner and, for two sizes, the radius (hashcodes.Bounds). A search is a list of jobs, a band and the queries of the
// batch whose partners may be of its sizes, each with the radius that loses nothing there. A job is one pass through
// the band's memory for all of its queries.
//
// A band goes through two states. An open one takes rows of one size in the order they come. A sealed one never
// changes, and its rows are sorted by weight, the number of ones of the signature, and then by the weight of the
// signature's first half. Two signatures differ in at least as many bits as the weights of their halves do, so a query
// reads a few runs of rows and passes over the rest, unless that costs more than it saves (see order and gap). A band is
// sealed when it is full, which bounds how long that takes, and when its block is no longer the newest. Then small
// bands of adjacent sizes become one, as a pass costs as much before its first row as some hundred rows do: such a
// band is read with the greatest radius of its sizes, and hits that are too far for their own size are dropped again. So
// are those that do not pass the query's holders (hashcodes.Holders), most of them where signatures are full.
//
// Every row of a block is in exactly one band, and every place of a band in at most one run of a query: so a query gets
// a row once. The order of its hits is that of the blocks and, in a block, of the bands; how many goroutines look for
// them does not change it.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package scan

import (
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// Config says how the engine works. Bounds and Words are required, Default has the rest, which changes nothing of what is
// found.
type Config struct {
	Bounds  *hashcodes.Bounds
	Words   int            // of 32 bits, of a signature
	Workers int            // goroutines that share a search, 1 or more, if it is large enough to pay for them
	Kernel  hamming.Kernel // one of hamming.Kernels
}

// Default is the best kernel that this machine has, in the goroutine that searches.
func Default() Config {
	kernels := hamming.Kernels()
	return Config{Workers: 1, Kernel: kernels[len(kernels)-1]}
}

// New makes the engine for a threshold's bounds and signatures of so many words of 32 bits.
func New(bounds *hashcodes.Bounds, words int) sigstore.Engine {
	c := Default()
	c.Bounds, c.Words = bounds, words
	return c.Engine()
}

// Engine makes the engine.
func (c Config) Engine() sigstore.Engine {
	return func(sigstore.Rows) sigstore.Index { return newIndex(c) }
}

// index holds the signatures of a window.
type index struct {
	cfg     Config
	merging merging
	first   uint32 // number of the oldest block
	blocks  []*block
	batch   batch
	workers []*worker
}

var _ sigstore.Index = (*index)(nil)

func newIndex(c Config) *index {
	x := &index{cfg: c, merging: mergingFor(c.Bounds, c.Words)}
	for range c.Workers {
		x.workers = append(x.workers, &worker{kernel: c.Kernel, gap: gap(c.Kernel.Name, c.Words)})
	}
	return x
}

func (x *index) Open() {
	if n := len(x.blocks); n > 1 {
		x.blocks[n-2].sealAll(x.merging)
	}
	x.blocks = append(x.blocks, &block{words: x.cfg.Words})
}

func (x *index) Drop() {
	x.first++
	x.blocks[0] = nil
	x.blocks = x.blocks[1:]
}

// Add also seals a band of the block before the newest: so Open need not stop for all of them.
func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	n := len(x.blocks)
	x.blocks[n-1].add(len(tokens), sig)
	if n > 1 {
		x.blocks[n-2].sealSome(x.merging)
	}
}

// Batch is where microseconds a query, over queries a batch, have become flat: a band's rows come from memory once for
// so many queries.
func (x *index) Batch() int { return 64 }

func (x *index) Bytes() (n int64) {
	for _, b := range x.blocks {
		n += b.held()
	}
	return n
}
