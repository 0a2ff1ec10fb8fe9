package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"refrain/internal/memory"
	"refrain/lab/bench/peers/ppjoin"
	"refrain/lab/cpu"
	"refrain/text"
)

// engine is a peer in Go that runs in this program, as a process of its own: "peers engine NAME".
type engine interface {
	// Match looks every row of a block up among all rows before it, those of the block too, and takes the block in. For
	// each pair whose Jaccard is at least the threshold it appends the number of the later row, then that of the earlier
	// one. It keeps nothing of the block.
	Match(pairs []uint32, b *block) []uint32

	// Candidates counts the pairs that had to be verified.
	Candidates() int
}

// block is some rows of the stream: tokens, ends and codes of a collection. Its rows count from first on in the stream.
type block struct {
	collection
	first int
}

// signature is that of row i of the block.
func (b *block) signature(i int) []uint32 { return b.codes[i*b.words : (i+1)*b.words] }

// engines are all that there are. Blocks are large, so that an engine may take a batch at a time.
var engines = []struct {
	name, what string
	open       func(t text.Threshold, order []uint64, words int) (engine, error)
}{
	{yardstick, "plain streaming PPJoin, Go, exact", openPPJoin},
	{"prefix", "Refrain, prefix, exact", openPrefix},
	{"scan", "Refrain, scan, exact", openScan},
}

// yardstick is the engine that the others are compared with; it also gives the truth.
const yardstick = "ppjoin"

type plain struct {
	*ppjoin.Join
	hits []uint32
}

func openPPJoin(t text.Threshold, order []uint64, _ int) (engine, error) {
	return &plain{Join: ppjoin.New(t, order)}, nil
}

func (p *plain) Match(pairs []uint32, b *block) []uint32 {
	for i := range b.rows() {
		p.hits = p.Next(p.hits[:0], b.set(i))
		for _, h := range p.hits {
			pairs = append(pairs, uint32(b.first+i), h)
		}
	}
	return pairs
}

// report is the line of JSON that every peer prints at its end. Seconds are of processor time.
type report struct {
	Rows           int     `json:"rows"`   // taken in
	Looked         int     `json:"looked"` // of these, looked up
	Candidates     int     `json:"candidates"`
	Note           string  `json:"note"`
	SecondsAdding  float64 `json:"secondsAdding"`
	SecondsLooking float64 `json:"secondsLooking"`
	PeakBytes      int64   `json:"peakBytes"`
	Growth         []point `json:"growth,omitempty"`
}

// point is how long the first rows took.
type point struct {
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"`
}

// runEngine is the process of one engine. It reads the rows block by block, so that its memory is the engine's.
func runEngine(ctx context.Context, name string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("engine", flag.ContinueOnError)
	folder := flags.String("data", "", "folder that the driver wrote")
	threshold := flags.String("threshold", "4/5", "as a fraction")
	rows := flags.Int("rows", 0, "rows to take, from the first")
	limit := flags.Float64("limit", 1e9, "seconds of processor time after which to stop")
	path := flags.String("out", "", "file for the pairs found")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t, err := text.ParseThreshold(*threshold)
	if err != nil {
		return err
	}
	in, err := openRows(*folder, *rows)
	if err != nil {
		return err
	}
	defer in.close()
	e, err := openEngine(name, t, *folder, in.block.words)
	if err != nil {
		return err
	}
	memory.Frugal()
	r, err := matchRows(ctx, e, in, *limit, *path)
	if err != nil {
		return err
	}
	r.PeakBytes = peakBytes()
	return json.NewEncoder(out).Encode(r)
}

func openEngine(name string, t text.Threshold, folder string, words int) (engine, error) {
	for _, e := range engines {
		if e.name == name {
			order, err := readArray[uint64](filepath.Join(folder, "order.u64"))
			if err != nil {
				return nil, err
			}
			return e.open(t, order, words)
		}
	}
	return nil, fmt.Errorf("there is no engine %q", name)
}

// matchRows gives an engine all rows and writes the pairs. Only what the engine does is timed.
func matchRows(ctx context.Context, e engine, in *rowReader, limit float64, path string) (r report, err error) {
	f, err := os.Create(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pairs := bufio.NewWriterSize(f, 1<<16)
	var found []uint32
	for in.next() && ctx.Err() == nil && r.SecondsLooking < limit {
		begin := cpu.Time()
		found = e.Match(found[:0], &in.block)
		r.SecondsLooking += (cpu.Time() - begin).Seconds()
		r.Rows += in.block.rows()
		r.Growth = append(r.Growth, point{r.Rows, r.SecondsLooking})
		if err := binary.Write(pairs, binary.LittleEndian, found); err != nil {
			return r, err
		}
	}
	r.Looked, r.Candidates = r.Rows, e.Candidates()
	return r, errors.Join(in.err, ctx.Err(), pairs.Flush())
}

// rowReader reads a collection block by block.
type rowReader struct {
	block block // the rows at hand
	err   error

	left   int
	before uint64 // tokens of the blocks read
	files  []*os.File
	in     []*bufio.Reader // ends, tokens, codes
}

const blockRows = 8192

func openRows(folder string, rows int) (*rowReader, error) {
	r := &rowReader{left: rows}
	var sizes []int64
	for _, name := range []string{"ends.u64", "tokens.u64", "codes.u32"} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			r.close()
			return nil, err
		}
		r.files, r.in = append(r.files, f), append(r.in, bufio.NewReaderSize(f, 1<<16))
		info, err := f.Stat()
		if err != nil {
			r.close()
			return nil, err
		}
		sizes = append(sizes, info.Size())
	}
	if sizes[0] > 0 {
		r.block.words = int(sizes[2] / 4 / (sizes[0] / 8))
	}
	return r, nil
}

func (r *rowReader) close() {
	for _, f := range r.files {
		f.Close()
	}
}

// next reads the next block; it is false at the end and after an error.
func (r *rowReader) next() bool {
	n := min(r.left, blockRows)
	if n == 0 {
		return false
	}
	b := &r.block
	b.first += b.rows()
	b.ends = resized(b.ends, n)
	r.err = r.read(0, b.ends)
	last := r.before
	for i, end := range b.ends {
		last, b.ends[i] = end, end-r.before
	}
	b.tokens, b.codes = resized(b.tokens, int(last-r.before)), resized(b.codes, n*b.words)
	r.err = errors.Join(r.err, r.read(1, b.tokens), r.read(2, b.codes))
	r.before = last
	r.left -= n
	return r.err == nil
}

func (r *rowReader) read(file int, values any) error {
	return binary.Read(r.in[file], binary.LittleEndian, values)
}

// resized is a slice of n elements, whose content does not matter.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// peakBytes is the greatest memory of this program so far; 0 where the system does not tell. What wait tells the
// parent would not do: a child is born with its parent's memory, and keeps that as its peak.
func peakBytes() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}
