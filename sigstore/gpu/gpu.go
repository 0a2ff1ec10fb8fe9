// Package gpu is the engine that keeps the signatures of a window in the memory of a GPU and compares them there: the
// jobs of sigstore/scan, all blocks and bands of a batch of queries in one launch.
//
// Rows that came since a band was last sent are compared by the CPU, and so are those that the device's memory has no
// room for. When the device is lost, the window's rows are given to an engine on the CPU, and all goes on; the events are
// the same.
package gpu

import (
	"errors"
	"log/slog"

	"refrain/cuda"
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// Config says where the rows go.
type Config struct {
	Device *cuda.Device
	Bounds *hashcodes.Bounds
	Words  int             // of 32 bits a signature
	CPU    sigstore.Engine // takes over when the device is lost
	Logger *slog.Logger    // nil: slog.Default()
}

// Batch is the number of queries that a launch is worth.
const Batch = 1024

// sent is the number of rows of a band that are sent at once: fewer are compared here in less time than a launch takes.
const sent = 2048

// New makes the engine.
func New(cfg Config) sigstore.Engine {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return func(rows sigstore.Rows) sigstore.Index { return &index{cfg: cfg, source: rows} }
}

// index holds the signatures of a window.
type index struct {
	cfg    Config
	source sigstore.Rows
	first  uint32 // number of the oldest block
	blocks []*block
	cpu    sigstore.Index // instead of all this, once the device is lost
	full   bool           // the device has no room: told

	jobs []cuda.Job
	asks []ask
}

// block holds the signatures of a block, by number of tokens.
type block struct {
	bands [hashcodes.MaxSize + 1]*band
	rows  uint32
}

// band holds the signatures of the rows with one number of tokens: the first on the device, the others here.
type band struct {
	table   *cuda.Rows
	on      int        // rows on the device
	planes  [][]uint32 // [word][row], from row on of the band
	numbers []uint32   // of each row of the band, in the block
}

// ask is a job: which block and band, and whose queries they are.
type ask struct {
	number  uint32 // of the block
	band    *band
	queries []*sigstore.Query
}

func (x *index) Open() {
	if x.cpu != nil {
		x.cpu.Open()
		return
	}
	x.blocks = append(x.blocks, &block{})
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
	if err := b.free(); err != nil {
		x.fallBack(err)
	}
}

func (b *block) free() error {
	var errs []error
	for _, band := range b.bands {
		if band != nil && band.table != nil {
			errs = append(errs, band.table.Free())
		}
	}
	return errors.Join(errs...)
}

func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	if x.cpu != nil {
		x.cpu.Add(tokens, sig)
		return
	}
	b := x.blocks[len(x.blocks)-1]
	to := b.bands[len(tokens)]
	if to == nil {
		to = &band{planes: make([][]uint32, x.cfg.Words)}
		b.bands[len(tokens)] = to
	}
	for w, word := range sig {
		to.planes[w] = append(to.planes[w], word)
	}
	to.numbers = append(to.numbers, b.rows)
	b.rows++
}

func (x *index) Batch() int {
	if x.cpu != nil {
		return x.cpu.Batch()
	}
	return Batch
}

func (x *index) Search(queries []sigstore.Query) {
	if x.cpu == nil {
		if err := x.search(queries); err == nil {
			return
		} else {
			x.fallBack(err)
		}
	}
	x.cpu.Search(queries)
}

// search appends hits only when all of it has gone well.
func (x *index) search(queries []sigstore.Query) error {
	x.jobs, x.asks = x.jobs[:0], x.asks[:0]
	for n, b := range x.blocks {
		for size, band := range b.bands {
			if band == nil {
				continue
			}
			if err := x.send(band); err != nil {
				return err
			}
			x.ask(x.first+uint32(n), band, size, queries)
		}
	}
	if err := x.cfg.Device.Scan(x.jobs); err != nil {
		return err
	}
	for i := range x.asks {
		x.asks[i].answer(&x.jobs[i])
	}
	return nil
}

// ask adds the job of a band: the queries whose partners may have its size.
func (x *index) ask(number uint32, b *band, size int, queries []sigstore.Query) {
	job, a := cuda.Job{Rows: b.table, To: b.on}, ask{number: number, band: b}
	for i := range queries {
		q := &queries[i]
		s := x.cfg.Bounds.For(q.Size)
		if size < s.Min || size > s.Max {
			continue
		}
		job.Queries = append(job.Queries, hamming.Query{Signature: q.Signature, Radius: int(s.Radius[size-s.Min])})
		a.queries = append(a.queries, q)
	}
	if len(a.queries) == 0 {
		return
	}
	x.asks = append(x.asks, a)
	x.jobs = append(x.jobs, job)
}

// answer turns the device's hits into the queries', and compares the rows that are not there.
func (a *ask) answer(job *cuda.Job) {
	for i := range job.Queries {
		a.add(i, job.Queries[i].Hits, 0)
		job.Queries[i].Hits = job.Queries[i].Hits[:0]
	}
	hamming.ScanBlock(a.band.planes, job.Queries)
	for i := range job.Queries {
		a.add(i, job.Queries[i].Hits, a.band.on)
	}
}

func (a *ask) add(i int, hits []uint32, from int) {
	for _, row := range hits {
		a.queries[i].Hits = append(a.queries[i].Hits, sigstore.Row{Block: a.number, Row: a.band.numbers[from+int(row)]})
	}
}

// send moves the rows of a band to the device, when they are many. What does not fit stays.
func (x *index) send(b *band) (err error) {
	if b.table == nil {
		if b.table, err = x.cfg.Device.NewRows(x.cfg.Words, 0); err != nil {
			return err
		}
	}
	if len(b.planes[0]) < sent {
		return nil
	}
	switch err := b.table.Append(b.planes); {
	case errors.Is(err, cuda.ErrMemory):
		x.tellFull(err)
		return nil
	case err != nil:
		return err
	}
	b.on += len(b.planes[0])
	for w := range b.planes {
		b.planes[w] = b.planes[w][:0]
	}
	return nil
}

func (x *index) tellFull(err error) {
	if !x.full {
		x.cfg.Logger.Warn("gpu: the device has no room for more rows; the CPU compares the rest", "error", err)
		x.full = true
	}
}

// fallBack gives all rows to an engine on the CPU.
func (x *index) fallBack(err error) {
	x.cfg.Logger.Error("gpu: the device is lost; the CPU goes on alone", "error", err, "device", x.cfg.Device.Name())
	x.cpu = x.cfg.CPU(x.source)
	for range x.first { // its blocks are numbered like ours
		x.cpu.Open()
		x.cpu.Drop()
	}
	for n, b := range x.blocks {
		x.cpu.Open()
		for row := range b.rows {
			tokens := x.source.Tokens(sigstore.Row{Block: x.first + uint32(n), Row: row})
			x.cpu.Add(tokens, x.source.Signature(tokens))
		}
	}
	x.blocks = nil
}

// Close gives the device's memory back.
func (x *index) Close() error {
	var errs []error
	for _, b := range x.blocks {
		errs = append(errs, b.free())
	}
	x.blocks = nil
	return errors.Join(errs...)
}

// Bytes leaves out the device's memory, which has a budget of its own.
func (x *index) Bytes() (n int64) {
	if x.cpu != nil {
		return x.cpu.Bytes()
	}
	for _, b := range x.blocks {
		n += int64(len(b.bands)) * 8
		for _, band := range b.bands {
			if band != nil {
				n += 4 * int64(cap(band.numbers)+x.cfg.Words*cap(band.planes[0]))
			}
		}
	}
	return n
}
