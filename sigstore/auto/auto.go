// Package auto is the engine that chooses among engines, on the CPU and on a GPU where one can be had: by a model of what a
// look-up costs with each, from the rows that the window holds now, as often as a block begins. All engines find the same
// matches, so a change of engine changes no event; it costs the time to give all rows to the other one, and happens where
// that is a small part of what was spent since the last.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package auto

import (
	"io"
	"log/slog"
	"math"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// Choice is an engine and what a look-up costs with it.
type Choice struct {
	Name   string
	Engine sigstore.Engine
	Min    float64            // ns that no look-up costs less: where those of another engine cost little more, Cost is not asked
	Cost   func(Load) float64 // ns a look-up; infinity: the engine is not to be had; NaN: not known yet
}

// Config says what there is to choose from. Choices and Bounds are required, Default has the rest.
type Config struct {
	Choices []Choice // the first is the one for an empty window
	Bounds  *hashcodes.Bounds
	Logger  *slog.Logger // told of changes; nil: none
	Few     int          // rows up to which the first engine stays
}

// Default is the configuration but for the choices and their bounds.
func Default() Config { return Config{Few: 4096} }

// minGain is how many times cheaper another engine must be.
const minGain = 1.2

// New makes the engine.
func New(cfg Config) sigstore.Engine {
	return func(rows sigstore.Rows) sigstore.Index {
		return &index{Index: cfg.Choices[0].Engine(rows), cfg: cfg, choice: &cfg.Choices[0], source: rows, together: math.Inf(1)}
	}
}

// index is the index of the engine that is chosen, which answers.
type index struct {
	sigstore.Index
	cfg      Config
	choice   *Choice
	source   sigstore.Rows
	first    uint32   // number of the oldest block
	rows     []uint32 // of each block
	added    int      // rows since the load was last looked at
	searches int      // likewise
	queries  int      // in those
	together float64  // queries that come together, as far as engines let one see
	tokens   []uint32 // scratch
}

func (x *index) Open() {
	x.choose()
	x.Index.Open()
	x.rows = append(x.rows, 0)
}

func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	x.Index.Add(tokens, sig)
	x.rows[len(x.rows)-1]++
	x.added++
}

func (x *index) Drop() {
	x.Index.Drop()
	x.first++
	x.rows = x.rows[1:]
}

func (x *index) Search(queries []sigstore.Query) {
	x.searches++
	x.queries += len(queries)
	x.Index.Search(queries)
}

// maxNewRows is after how many new rows they are looked at again, in however large a window. A look takes one or two
// milliseconds, and some more where a GPU is weighed.
const maxNewRows = 1 << 16

// choose changes the engine when another is minGain times cheaper. It looks when half of the rows are new.
func (x *index) choose() {
	rows := x.count()
	if rows < x.cfg.Few || x.added < min(rows/2, maxNewRows) {
		return
	}
	x.added = 0
	load := x.load()
	now := x.choice.Cost(load)
	best, cost := x.cheapest(load, now)
	if best == x.choice || minGain*cost > now {
		return
	}
	x.log(best, load, now, cost)
	x.change(best)
}

// cheapest is the choice that costs least; now is what the present one does.
func (x *index) cheapest(l Load, now float64) (best *Choice, cost float64) {
	best, cost = x.choice, now
	for i := range x.cfg.Choices {
		c := &x.cfg.Choices[i]
		if c == x.choice || minGain*c.Min > now {
			continue
		}
		of := c.Cost(l)
		if math.IsNaN(of) {
			x.added = maxNewRows // it is asked again when the next block begins
		} else if of < cost {
			best, cost = c, of
		}
	}
	return best, cost
}

func (x *index) log(to *Choice, l Load, now, cost float64) {
	if x.cfg.Logger == nil {
		return
	}
	costs := []any{"from", x.choice.Name, "to", to.Name, "rows", int(l.Rows), "to_ns", int(cost)}
	if !math.IsInf(now, 1) { // a device that is lost
		costs = append(costs, "ns", int(now))
	}
	x.cfg.Logger.Info("engine: changed", costs...)
}

func (x *index) count() (n int) {
	for _, rows := range x.rows {
		n += int(rows)
	}
	return n
}

// change gives all rows to another engine.
func (x *index) change(to *Choice) {
	next := to.Engine(x.source)
	for range x.first { // its blocks are numbered like ours
		next.Open()
		next.Drop()
	}
	for n, rows := range x.rows {
		next.Open()
		for row := range rows {
			r := sigstore.Row{Block: x.first + uint32(n), Row: row}
			x.tokens = append(x.tokens[:0], x.source.Tokens(r)...) // next may ask for others meanwhile
			next.Add(x.tokens, x.source.Signature(x.tokens))       // a dead row has none: nothing is near it
		}
	}
	_ = x.Close()
	x.Index, x.choice = next, to
}

// Close closes the engine's index.
func (x *index) Close() error {
	if c, ok := x.Index.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
