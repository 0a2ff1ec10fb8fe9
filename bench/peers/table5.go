package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"refrain/bench/peers/pmtree"
	"refrain/hashcodes/hamming"
	"refrain/internal/terminal"
)

// searcher answers range searches in Hamming space over 32-bit signatures.
type searcher interface {
	// Add appends rows.
	Add(signatures []uint32)

	// Search counts the rows within the radius of each query, over all queries.
	Search(queries []uint32, radius int) (hits int)
}

// searchers are the columns of the table in this program. An engine of ours joins with a line each.
func searchers() (all []namedSearcher) {
	kernels := hamming.Kernels()
	reference, best := kernels[0], kernels[len(kernels)-1]
	all = append(all, namedSearcher{"plain Go", "one query a pass", func([]uint32) searcher { return &scan{kernel: reference, block: 1} }})
	if best.Name != reference.Name {
		all = append(all, namedSearcher{"hamming." + best.Name, "one query a pass", func([]uint32) searcher { return &scan{kernel: best, block: 1} }})
	}
	return append(all,
		namedSearcher{"hamming." + best.Name + ", blocks", "64 queries a pass", func([]uint32) searcher { return &scan{kernel: best, block: 64} }},
		namedSearcher{"PM-Tree", "20 pivots, pages of 2,048 bytes, building apart", func(sample []uint32) searcher { return &tree{Tree: pmtree.New(sample)} }},
	)
}

type namedSearcher struct {
	name, what string
	open       func(sample []uint32) searcher
}

// foreign are the columns of FAISS.
var foreign = []struct{ name, index string }{
	{"FAISS Flat", "flat"},
	{"FAISS MultiHash", "multihash"},
}

// paper is Table 5 of Zhang et al., SIGIR 2012: seconds for 2,000 queries, 0.1 to 1.0 M sentences.
var paper = []struct {
	name    string
	seconds [10]float64
}{
	{"paper: CPU", [10]float64{468, 939, 1406, 1873, 2339, 2807, 3279, 3749, 4216, 4685}},
	{"paper: PM-Tree", [10]float64{152, 297, 433, 569, 704, 852, 979, 1124, 1258, 1401}},
	{"paper: GPU", [10]float64{.39, .44, .49, .55, .61, .67, .73, .79, .85, .91}},
}

// scan goes through all rows.
type scan struct {
	kernel hamming.Kernel
	block  int // queries a pass
	rows   []uint32
	hits   []uint32
	batch  []hamming.Query
}

func (s *scan) Add(signatures []uint32) { s.rows = append(s.rows, signatures...) }

func (s *scan) Search(queries []uint32, radius int) (hits int) {
	planes := [][]uint32{s.rows}
	if s.block == 1 {
		for i := range queries {
			s.hits = s.kernel.Scan(s.hits[:0], planes, queries[i:i+1], radius)
			hits += len(s.hits)
		}
		return hits
	}
	s.batch = slices.Grow(s.batch, s.block)[:s.block]
	for first := 0; first < len(queries); first += s.block {
		batch := s.batch[:min(s.block, len(queries)-first)]
		for i := range batch {
			batch[i] = hamming.Query{Signature: queries[first+i : first+i+1], Radius: radius, Hits: batch[i].Hits[:0]}
		}
		s.kernel.ScanBlock(planes, batch)
		for i := range batch {
			hits += len(batch[i].Hits)
		}
	}
	return hits
}

type tree struct {
	*pmtree.Tree
	found []uint32
	pairs int // that a scan would have compared
}

// Note says what of a scan's work the tree is spared.
func (t *tree) Note() string {
	return fmt.Sprintf("computing %.0f %% of the distances of a scan", 100*float64(t.Distances())/float64(t.pairs))
}

func (t *tree) Add(signatures []uint32) {
	for _, s := range signatures {
		t.Insert(s)
	}
}

func (t *tree) Search(queries []uint32, radius int) (hits int) {
	t.pairs += t.Len() * len(queries)
	for _, q := range queries {
		t.found = t.Tree.Search(t.found[:0], q, radius)
		hits += len(t.found)
	}
	return hits
}

// column is one engine of the table.
type column struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Skipped string `json:"skipped,omitempty"`
	Cells   []cell `json:"cells,omitempty"`
}

type cell struct {
	Rows          int     `json:"rows"`
	Seconds       float64 `json:"seconds"` // of processor time, for all queries
	Hits          int     `json:"hits"`    // of all queries
	SecondsAdding float64 `json:"secondsAdding"`
}

// table5 is all of the table.
type table5 struct {
	conditions
	Bits    int      `json:"bits"`
	Ones    int      `json:"ones"`
	Radius  int      `json:"radius"`
	Queries int      `json:"queries"`
	Runs    int      `json:"runs"`
	Columns []column `json:"columns"`
	paper   bool     // the sizes are the paper's
}

const table5Usage = `usage: peers table5 [flags]   the paper's Table 5: seconds for 2,000 queries by size of the collection

Run bench/peers/install first; without it FAISS is skipped. Flags:`

func runTable5(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{bits: 32, distinct: math.MaxInt}
	flags := flag.NewFlagSet("peers table5", flag.ContinueOnError)
	o.common(flags)
	rows := flags.Int("rows", 1_000_000, "signatures; the table has ten sizes up to it")
	queries := flags.Int("queries", 2000, "queries, taken evenly from the first tenth of the signatures")
	flags.IntVar(&o.ones, "ones", 2, "ones of a token's code; the paper has 2")
	flags.IntVar(&o.radius, "radius", 3, "Hamming radius")
	flags.IntVar(&o.runs, "runs", 3, "runs of each figure, whose median counts; one where a run takes more than 2 s")
	if err := o.parse(flags, args, stderr, table5Usage); err != nil {
		return err
	}
	if *rows < 10 || *queries < 1 || *queries > *rows/10 || o.runs < 1 {
		return errors.New("want --rows of at least 10, and at least one of --runs and --queries, of these at most a tenth of the rows")
	}
	o.atMost = *rows
	folder, leave, err := o.scratch()
	if err != nil {
		return err
	}
	defer leave()
	c, err := o.collect(ctx, folder)
	if err != nil {
		return err
	}
	if c.rows() < *rows {
		return fmt.Errorf("there are %d sentences: want --rows %d or less", c.rows(), c.rows())
	}
	t, err := o.table5(ctx, c, folder, *queries)
	if err != nil {
		return err
	}
	t.paper = *rows == 1_000_000 && *queries == 2000
	if err := t.print(stdout); err != nil {
		return err
	}
	return writeJSON(o.json, t)
}

func (o *options) table5(ctx context.Context, c *collection, folder string, queries int) (*table5, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	t := &table5{Bits: o.bits, Ones: o.ones, Radius: o.radius, Queries: queries, Runs: o.runs, conditions: c.conditions()}
	codes, sizes := c.codes, tenths(c.rows())
	asked := evenly(codes[:sizes[0]], queries)
	if err := writeArray(filepath.Join(folder, "queries.u32"), asked); err != nil {
		return nil, err
	}
	for _, s := range searchers() {
		o.status.Set(s.name + " …")
		engine := s.open(codes[:sizes[0]/10])
		cells, err := o.measure(ctx, engine, codes, asked, sizes)
		if err != nil {
			return nil, err
		}
		c := column{Name: s.name, Note: s.what, Cells: cells}
		if n, ok := engine.(interface{ Note() string }); ok {
			c.Note += ", " + n.Note()
		}
		t.Columns = append(t.Columns, c)
		o.toldColumn(t.Columns)
	}
	p, err := newPlace(folder)
	if err != nil {
		return nil, err
	}
	for _, f := range foreign {
		o.status.Set(f.name + " …")
		t.Columns = append(t.Columns, o.foreign(ctx, p, f.name, f.index, sizes))
		o.toldColumn(t.Columns)
	}
	return t, errors.Join(ctx.Err(), t.agree())
}

func tenths(rows int) (sizes []int) {
	for i := 1; i <= 10; i++ {
		sizes = append(sizes, i*rows/10)
	}
	return sizes
}

func evenly(from []uint32, n int) (taken []uint32) {
	for i := range n {
		taken = append(taken, from[i*len(from)/n])
	}
	return taken
}

// measure lets a searcher grow and searches it at every size.
func (o *options) measure(ctx context.Context, s searcher, codes, queries []uint32, sizes []int) (cells []cell, err error) {
	before := 0
	for _, size := range sizes {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		begin := busy()
		s.Add(codes[before:size])
		c := cell{Rows: size, SecondsAdding: (busy() - begin).Seconds()}
		var took []float64
		for len(took) < o.runs && (len(took) == 0 || took[0] < 2) {
			begin := busy()
			c.Hits = s.Search(queries, o.radius)
			took = append(took, (busy() - begin).Seconds())
		}
		slices.Sort(took)
		c.Seconds = took[len(took)/2]
		cells = append(cells, c)
		before = size
	}
	return cells, nil
}

func (o *options) foreign(ctx context.Context, p place, name, index string, sizes []int) column {
	c := column{Name: name}
	var list []string
	for _, s := range sizes {
		list = append(list, strconv.Itoa(s))
	}
	cmd, err := p.command(ctx, python, []string{"table5_faiss.py", "--data", p.folder, "--index", index,
		"--radius", strconv.Itoa(o.radius), "--runs", strconv.Itoa(o.runs), "--sizes", strings.Join(list, ",")})
	if err == nil {
		err = output(cmd, &c)
	}
	if err != nil {
		c.Skipped = err.Error()
	}
	return c
}

func (o *options) toldColumn(columns []column) {
	c := &columns[len(columns)-1]
	if c.Skipped != "" {
		o.step("%s: skipped: %s", c.Name, c.Skipped)
		return
	}
	last := c.Cells[len(c.Cells)-1]
	o.step("%s: %s s, %d hits at %d rows", c.Name, seconds(last.Seconds), last.Hits, last.Rows)
}

// agree wants every column to have found the same number of rows.
func (t *table5) agree() error {
	first := t.Columns[0]
	for _, c := range t.Columns {
		for i, cell := range c.Cells {
			if cell.Hits != first.Cells[i].Hits {
				return fmt.Errorf("at %d rows %s finds %d hits and %s %d", cell.Rows, first.Name, first.Cells[i].Hits, c.Name, cell.Hits)
			}
		}
	}
	return nil
}

func (t *table5) print(out io.Writer) error {
	w := &writer{out: out}
	t.conditions.print(w)
	head, rule := "| signatures |", "|---|"
	ran := slices.DeleteFunc(slices.Clone(t.Columns), func(c column) bool { return c.Skipped != "" })
	for _, c := range ran {
		head, rule = head+" "+c.Name+" |", rule+"---|"
	}
	if t.paper {
		for _, p := range paper {
			head, rule = head+" "+p.name+" |", rule+"---|"
		}
	}
	w.line("%s\n%s", head, rule)
	for i, first := range ran[0].Cells {
		line := "| " + terminal.Thousands(int64(first.Rows)) + " |"
		for _, c := range ran {
			line += " " + seconds(c.Cells[i].Seconds) + " |"
		}
		if t.paper {
			for _, p := range paper {
				line += " " + seconds(p.seconds[i]) + " |"
			}
		}
		w.line("%s", line)
	}
	t.notes(w, ran)
	return w.err
}

func (t *table5) notes(w *writer, ran []column) {
	last := ran[0].Cells[len(ran[0].Cells)-1]
	w.line("\nSeconds of processor time, one thread, for %s queries at radius %d; signatures of %d bits, %d a token (MD5 codes);",
		terminal.Thousands(int64(t.Queries)), t.Radius, t.Bits, t.Ones)
	w.line("medians of %d, one run where it takes more than 2 s. %s hits among %s signatures, the same for all columns.", t.Runs,
		terminal.Thousands(int64(last.Hits)), terminal.Thousands(int64(last.Rows)))
	for _, c := range ran {
		var adding float64
		for _, cell := range c.Cells {
			adding += cell.SecondsAdding
		}
		w.line("- %s: %s; building all of it took %s s", c.Name, c.Note, seconds(adding))
	}
	for _, c := range t.Columns {
		if c.Skipped != "" {
			w.line("- skipped: %s: %s", c.Name, c.Skipped)
		}
	}
	if t.paper {
		w.line("- paper: Zhang et al., SIGIR 2012, Table 5, on the machine of its authors; its GPU is a Quadro 4000")
	}
}

// seconds writes three digits that count.
func seconds(s float64) string {
	switch {
	case s >= 100:
		return fmt.Sprintf("%.0f", s)
	case s >= 10:
		return fmt.Sprintf("%.1f", s)
	case s >= 1:
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.*f", 3+oneIf(s < 0.1), s)
}
