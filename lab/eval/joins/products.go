package joins

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"refrain/internal/units"
	"refrain/join"
	tokens "refrain/join/units"
	"refrain/lab/eval"
	"refrain/lab/report"
	"refrain/text"
)

// products are the two catalogues, and which of their products are the same.
type products struct {
	ids, names [2][]string
	same       map[[2]string]bool
}

func readProducts(data string) (p *products, err error) {
	p = &products{same: map[[2]string]bool{}}
	for side, name := range []string{"Abt.csv", "Buy.csv"} {
		err := eachRow(filepath.Join(data, "setjoin", name), []string{"id", "name"}, func(id, name string) {
			p.ids[side], p.names[side] = append(p.ids[side], id), append(p.names[side], name)
		})
		if err != nil {
			return nil, err
		}
	}
	return p, eachRow(filepath.Join(data, "setjoin", "abt_buy_perfectMapping.csv"), []string{"idAbt", "idBuy"},
		func(abt, buy string) { p.same[[2]string{abt, buy}] = true })
}

// eachRow visits two columns of a table by their names.
func eachRow(path string, columns []string, visit func(a, b string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	a, b := slices.Index(rows[0], columns[0]), slices.Index(rows[0], columns[1])
	if a < 0 || b < 0 {
		return fmt.Errorf("%s: no columns %q", path, columns)
	}
	for _, row := range rows[1:] {
		visit(row[a], row[b])
	}
	return nil
}

// productUnits and productMeasures are the columns of the table.
var (
	productUnits    = []string{"words", "qgrams:3"}
	productMeasures = []text.Similarity{text.Jaccard, text.Cosine}
)

// ProductFigure is how well names alone tell which products are the same.
type ProductFigure struct {
	Units     string  `json:"units"`
	Measure   string  `json:"measure"`
	Threshold float64 `json:"threshold"`
	Pairs     int     `json:"pairs"`
	Right     int     `json:"right"`
}

// Products measures precision and recall by threshold of a join of two catalogues by the names of products.
func Products(ctx context.Context, c *eval.Config) (*report.Report, error) {
	p, err := readProducts(c.Data)
	if err != nil {
		return nil, err
	}
	r := c.Report("products", "Abt and Buy: which products are the same, by their names alone. Precision, recall and F "+
		"by threshold.", fmt.Sprintf("%s products of Abt, %s of Buy, %s pairs that are the same",
		units.Thousands(len(p.names[0])), units.Thousands(len(p.names[1])), units.Thousands(len(p.same))))
	var all []ProductFigure
	for _, unit := range productUnits {
		sides, err := p.collections(unit)
		if err != nil {
			return nil, err
		}
		for _, similarity := range productMeasures {
			g := report.Grid{Caption: fmt.Sprintf("**%s**, %s", unit, similarity),
				Head: []string{"t", "pairs", "precision", "recall", "F"}}
			for tenth := 9; tenth >= 2; tenth-- {
				f, err := p.join(ctx, sides, similarity.At(text.Threshold{Num: tenth, Den: 10}))
				if err != nil {
					return nil, err
				}
				f.Units, all = unit, append(all, f)
				g.Add(fmt.Sprintf("%.1f", f.Threshold), units.Thousands(f.Pairs), share(f.Right, f.Pairs),
					share(f.Right, len(p.same)), share(2*f.Right, f.Pairs+len(p.same)))
			}
			r.Grids = append(r.Grids, g)
		}
	}
	r.Figures = all
	return r, nil
}

// join counts the pairs that are similar enough, and of these those that are the same.
func (p *products) join(ctx context.Context, sides [2]*join.Collection, m text.Measure) (f ProductFigure, err error) {
	f = ProductFigure{Measure: m.Similarity.String(), Threshold: m.Threshold.Float()}
	_, err = join.Two(ctx, config(m, join.Ours), sides[0], sides[1], func(pair join.Pair) error {
		f.Pairs++
		if p.same[[2]string{p.ids[0][pair.A], p.ids[1][pair.B]}] {
			f.Right++
		}
		return nil
	})
	return f, err
}

// collections are the sets of the names of both sides.
func (p *products) collections(unit string) (sides [2]*join.Collection, err error) {
	u, err := tokens.Parse(unit)
	if err != nil {
		return sides, err
	}
	for side, names := range p.names {
		cutter := tokens.NewCutter(u)
		sides[side] = &join.Collection{}
		for _, name := range names {
			if err := sides[side].Add(numbered(cutter.Append(nil, name))); err != nil {
				return sides, err
			}
		}
	}
	return sides, nil
}
