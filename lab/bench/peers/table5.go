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

	"refrain/internal/units"
	"refrain/lab/bench/peers/searchers"
	"refrain/text"
)

// faissColumns are the columns of FAISS.
var faissColumns = []struct{ name, index string }{
	{"FAISS Flat", "flat"},
	{"FAISS MultiHash", "multihash"},
}

// column is one engine of the table.
type column struct {
	Name    string           `json:"name"`
	Note    string           `json:"note"`
	Window  bool             `json:"window,omitempty"` // answers the question of a window, not that of a radius
	Skipped string           `json:"skipped,omitempty"`
	Cells   []searchers.Cell `json:"cells,omitempty"`
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

// table5Threshold is what the window's engines are asked for.
var table5Threshold = text.Threshold{Num: 4, Den: 5}

const table5Usage = `usage: peers table5 [flags]   the paper's Table 5: seconds for 2,000 queries by size of the collection

Run lab/bench/peers/install first; without it FAISS is skipped. Flags:`

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
		return errors.New("want --rows of at least 10, and at least one of --runs and --queries, of these at most a " +
			"tenth of the rows")
	}
	o.maxRows = *rows
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
	codes, sizes := c.codes, searchers.Tenths(c.rows())
	queryCodes := searchers.Evenly(codes[:sizes[0]], queries)
	if err := writeArray(filepath.Join(folder, "queries.u32"), queryCodes); err != nil {
		return nil, err
	}
	windows, err := searchers.Windows(table5Threshold, c.set, searchers.EvenRows(sizes[0], queries))
	if err != nil {
		return nil, err
	}
	ours := searchers.All()
	radius := len(ours)
	for i, s := range append(ours, windows...) {
		o.status.Set(s.Name + " …")
		engine := s.Open(codes[:sizes[0]/10])
		cells, err := searchers.Measure(ctx, engine, codes, queryCodes, sizes, o.radius, o.runs)
		if err != nil {
			return nil, err
		}
		c := column{Name: s.Name, Note: s.What, Window: i >= radius, Cells: cells}
		if n, ok := engine.(interface{ Note() string }); ok {
			c.Note += ", " + n.Note()
		}
		t.Columns = append(t.Columns, c)
		o.logColumn(t.Columns)
	}
	p, err := newPeerDirs(folder)
	if err != nil {
		return nil, err
	}
	for _, f := range faissColumns {
		o.status.Set(f.name + " …")
		t.Columns = append(t.Columns, o.faissColumn(ctx, p, f.name, f.index, sizes))
		o.logColumn(t.Columns)
	}
	return t, errors.Join(ctx.Err(), t.agree())
}

func (o *options) faissColumn(ctx context.Context, p peerDirs, name, index string, sizes []int) column {
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

func (o *options) logColumn(columns []column) {
	c := &columns[len(columns)-1]
	if c.Skipped != "" {
		o.step("%s: skipped: %s", c.Name, c.Skipped)
		return
	}
	last := c.Cells[len(c.Cells)-1]
	o.step("%s: %s s, %d hits at %d rows", c.Name, seconds(last.Seconds), last.Hits, last.Rows)
}

// agree wants all columns that answer one question to have found the same number of rows.
func (t *table5) agree() error {
	for _, c := range t.Columns {
		first := t.Columns[slices.IndexFunc(t.Columns, func(d column) bool { return d.Window == c.Window })]
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
		name := c.Name
		if c.Window {
			name += fmt.Sprintf(", θ %.4g", table5Threshold.Float())
		}
		head, rule = head+" "+name+" |", rule+"---|"
	}
	if t.paper {
		for _, p := range searchers.Paper {
			head, rule = head+" "+p.Name+" |", rule+"---|"
		}
	}
	w.line("%s\n%s", head, rule)
	for i, first := range ran[0].Cells {
		line := "| " + units.Thousands(first.Rows) + " |"
		for _, c := range ran {
			line += " " + seconds(c.Cells[i].Seconds) + " |"
		}
		if t.paper {
			for _, p := range searchers.Paper {
				line += " " + seconds(p.Seconds[i]) + " |"
			}
		}
		w.line("%s", line)
	}
	t.notes(w, ran)
	return w.err
}

func (t *table5) notes(w *writer, ran []column) {
	last := ran[0].Cells[len(ran[0].Cells)-1]
	w.line("\nSeconds of processor time, one thread, for %s queries at radius %d; signatures of %d bits, %d a "+
		"token (MD5 codes);",
		units.Thousands(t.Queries), t.Radius, t.Bits, t.Ones)
	w.line("medians of %d, one run where it takes more than 2 s. %s hits among %s signatures, the same for all "+
		"columns of that radius.", t.Runs,
		units.Thousands(last.Hits), units.Thousands(last.Rows))
	for _, c := range ran {
		var adding float64
		for _, cell := range c.Cells {
			adding += cell.SecondsAdding
		}
		found := ""
		if c.Window {
			found = fmt.Sprintf(" (%s matches among all, a sentence with itself not counted)",
				units.Thousands(int64(c.Cells[len(c.Cells)-1].Hits)))
		}
		w.line("- %s: %s%s; building all of it took %s s", c.Name, c.Note, found, seconds(adding))
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
