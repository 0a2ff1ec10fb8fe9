package tables

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/lab/bench/peers/searchers"
	"refrain/lab/report"
	"refrain/text"
)

// Table5Options are what Table5 asks besides.
type Table5Options struct {
	Rows    int // signatures, at most
	Queries int
}

// DefaultTable5 is the paper's.
func DefaultTable5() Table5Options { return Table5Options{Rows: 1_000_000, Queries: 2000} }

// QuickTable5 is a quick run's.
func QuickTable5() Table5Options { return Table5Options{Rows: 10_000, Queries: 100} }

// Table5Figure is one column.
type Table5Figure struct {
	Engine string           `json:"engine"`
	What   string           `json:"what"`
	Window bool             `json:"window,omitempty"` // answers the question of a window, not that of a radius
	Cells  []searchers.Cell `json:"cells"`
}

// The settings of the paper: radius 3 in 32 bits, two ones a token.
const (
	paperBits   = 32
	paperOnes   = 2
	paperRadius = 3
)

// table5Threshold is what the window's engines are asked for.
var table5Threshold = text.DefaultThreshold

// Table5 is the paper's Table 5 with the engines that are in this program. `go run ./lab/bench/peers table5` has those of
// others beside them.
func Table5(ctx context.Context, c *Config, o Table5Options) (*report.Report, error) {
	if err := wantPositive("rows", o.Rows); err != nil {
		return nil, err
	}
	sentences, err := c.corpus(ctx, o.Rows)
	if err != nil {
		return nil, err
	}
	if sentences.len() < 10 || o.Queries > sentences.len()/10 || o.Queries < 1 {
		return nil, fmt.Errorf("%d queries of %d sentences: want 1 or more, at most a tenth", o.Queries, sentences.len())
	}
	codes, err := sentences.sign(paperBits, paperOnes)
	if err != nil {
		return nil, err
	}
	data := sentences.String()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sizes := searchers.Tenths(sentences.len())
	queryCodes := searchers.Evenly(codes[:sizes[0]], o.Queries)
	windows, err := searchers.Windows(table5Threshold, sentences.set, searchers.EvenRows(sizes[0], o.Queries))
	if err != nil {
		return nil, err
	}
	var all []Table5Figure
	columns := searchers.All()
	radius := len(columns)
	for i, s := range append(columns, windows...) {
		c.status("table5: %s", s.Name)
		cells, err := searchers.Measure(ctx, s.Open(codes[:sizes[0]/10]), codes, queryCodes, sizes, paperRadius, c.Runs)
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Table5Figure{s.Name, s.What, i >= radius, cells})
		c.step("table5: %s: %s s at %s signatures", s.Name, units.Three(cells[len(cells)-1].Seconds),
			units.Thousands(sizes[len(sizes)-1]))
	}
	if err := sameHits(all); err != nil {
		return nil, err
	}
	r := c.report("table5", fmt.Sprintf("Table 5 of the paper: seconds of processor time for %s queries by the "+
		"number of signatures, one thread.", units.Thousands(o.Queries)), data)
	r.Figures, r.Grids = all, []report.Grid{table5Grid(all, sentences.len() == 1_000_000 && o.Queries == 2000)}
	r.Note("%d bits, %d a token (MD5), radius %d; %s, one where it takes more than 2 s; all of that radius found "+
		"the same %s", paperBits, paperOnes, paperRadius, c.medians(),
		units.Thousands(all[0].Cells[len(sizes)-1].Hits)+" hits among all")
	for _, f := range all {
		what := f.What
		if f.Window {
			what += fmt.Sprintf("; θ %s, %s matches among all, a sentence with itself not counted", decimal(table5Threshold),
				units.Thousands(f.Cells[len(sizes)-1].Hits))
		}
		r.Note("%s: %s", f.Engine, what)
	}
	r.Note("paper: Zhang et al., SIGIR 2012, on the machine of its authors; FAISS beside these, on the same " +
		"machine: `go run ./lab/bench/peers table5`")
	return r, nil
}

// sign makes the signatures of all sentences, a word each.
func (c *corpus) sign(bits, ones int) ([]uint32, error) {
	m, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		return nil, err
	}
	known, code := map[uint64]uint32{}, make(hashcodes.Signature, m.Words())
	codes := make([]uint32, c.len())
	for i := range codes {
		for _, id := range c.set(i) {
			word, ok := known[id]
			if !ok {
				word = m.Code(code, id)[0]
				known[id] = word
			}
			codes[i] |= word
		}
	}
	return codes, nil
}

// sameHits wants columns that answer one question to agree.
func sameHits(all []Table5Figure) error {
	for _, f := range all {
		first := &all[slices.IndexFunc(all, func(g Table5Figure) bool { return g.Window == f.Window })]
		for i, cell := range f.Cells {
			if want := first.Cells[i].Hits; cell.Hits != want {
				return fmt.Errorf("at %d signatures %s finds %d hits, %s %d", cell.Rows, first.Engine, want, f.Engine, cell.Hits)
			}
		}
	}
	return nil
}

func table5Grid(all []Table5Figure, asPaper bool) report.Grid {
	g := report.Grid{Head: []string{"signatures"}}
	for _, f := range all {
		name := f.Engine
		if f.Window {
			name += ", θ " + decimal(table5Threshold)
		}
		g.Head = append(g.Head, name)
	}
	if asPaper {
		for _, p := range searchers.Paper {
			g.Head = append(g.Head, p.Name)
		}
	}
	for i, first := range all[0].Cells {
		row := []any{units.Thousands(first.Rows)}
		for _, f := range all {
			row = append(row, units.Three(f.Cells[i].Seconds))
		}
		if asPaper {
			for _, p := range searchers.Paper {
				row = append(row, units.Three(p.Seconds[i]))
			}
		}
		g.Add(row...)
	}
	return g
}
