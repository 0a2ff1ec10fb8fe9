package tables

import (
	"fmt"
	"slices"

	"refrain/internal/units"
	"refrain/lab/report"
)

// curve is how many µs a sentence takes by the size of the window.
type curve struct {
	name, threshold string
	sizes, values   []float64
}

// curves are the engines' growth, by the same steps.
func curves(all []MatchFigure) (list []curve) {
	ends := steps(all)
	for i := range all {
		f, k := &all[i], curve{name: all[i].Engine, threshold: all[i].Threshold}
		for n, end := range ends {
			from, to := f.between(before(ends, n), end)
			k.sizes = append(k.sizes, float64(before(ends, n)+end)/2)
			k.values = append(k.values, meanBetween(f.Growth, from, to, Point.cpu))
		}
		list = append(list, k)
	}
	return list
}

// steps are windows of which each is a third larger than the one before: what is between is mostly noise. Every engine has
// looked up some batch in each.
func steps(all []MatchFigure) (ends []int) {
	finest := slices.MaxFunc(all, func(a, b MatchFigure) int { return len(a.Growth) - len(b.Growth) })
	for i, p := range finest.Growth {
		n := len(ends)
		switch {
		case i == 0 || p.Sentences >= 4*ends[n-1]/3:
			ends = append(ends, p.Sentences)
		case i == len(finest.Growth)-1:
			ends[n-1] = p.Sentences
		}
	}
	return ends
}

// crossing is where the prefix index becomes cheaper than the scan.
type crossing struct {
	threshold    string
	at, value    float64 // window and µs; 0: they do not cross
	first, last  float64 // windows measured
	prefix, scan float64 // µs at the last
}

func (x *crossing) String() string {
	prefixIsCheaper := x.prefix < x.scan
	switch {
	case x.at > 0 && prefixIsCheaper:
		return fmt.Sprintf("below %s rows", units.Thousands(int(x.at)))
	case x.at > 0:
		return fmt.Sprintf("above %s rows", units.Thousands(int(x.at)))
	case prefixIsCheaper:
		return fmt.Sprintf("never (from %s rows on)", units.Thousands(int(x.first)))
	}
	return fmt.Sprintf("always (up to %s rows)", units.Thousands(int(x.last)))
}

// crossings are found from the end: the last change is the one that counts, those before it are noise.
func crossings(all []MatchFigure) (list []crossing) {
	ks := curves(all)
	for _, p := range ks {
		i := slices.IndexFunc(ks, func(k curve) bool { return k.name == "scan" && k.threshold == p.threshold })
		if p.name == "prefix" && i >= 0 && len(p.sizes) > 0 {
			list = append(list, crossed(p, ks[i]))
		}
	}
	return list
}

func crossed(prefix, scan curve) crossing {
	n := len(prefix.sizes) - 1
	cheaper := func(i int) bool { return prefix.values[i] < scan.values[i] }
	x := crossing{threshold: prefix.threshold, first: prefix.sizes[0], last: prefix.sizes[n], prefix: prefix.values[n],
		scan: scan.values[n]}
	i := n
	for i >= 0 && cheaper(i) == cheaper(n) {
		i--
	}
	if i < 0 {
		return x
	}
	before, after := prefix.values[i]-scan.values[i], prefix.values[i+1]-scan.values[i+1]
	part := before / (before - after)
	x.at = prefix.sizes[i] + part*(prefix.sizes[i+1]-prefix.sizes[i])
	x.value = prefix.values[i] + part*(prefix.values[i+1]-prefix.values[i])
	return x
}

// colours of the engines; thresholds differ by the dashes.
var colours = map[string]string{
	"prefix": "#36a", "prefix" + besideName: "#d80", "scan": "#b33", yardstick: "#888", plainName: "#888",
}

// crossingPlot draws the cost of a sentence by window and engine, and where scan and prefix cross.
func crossingPlot(all []MatchFigure, command string) []byte {
	p := enginePlot(curves(all), report.Plot{
		Title: "µs a sentence by window: " + command,
		X:     report.Axis{Title: "distinct sentences in the window", Log: true}, Y: report.Axis{Title: "µs", Log: true},
	})
	for _, c := range crossings(all) {
		if c.at > 0 {
			p.Annotations = append(p.Annotations, report.Annotation{X: c.at, Y: c.value, Text: units.Thousands(int(c.at))})
		}
	}
	return p.SVG()
}

// enginePlot adds the curves of engines to a plot.
func enginePlot(ks []curve, p report.Plot) *report.Plot {
	thresholds := thresholdsOf(ks)
	for _, k := range ks {
		c := report.Curve{Name: k.name + ", θ " + k.threshold, X: k.sizes, Y: k.values, Colour: colours[k.name]}
		if c.Colour == "" {
			c.Colour = "#393"
		}
		c.Dashes = []string{"none", "6 3", "2 2", "8 2 2 2"}[slices.Index(thresholds, k.threshold)%4]
		p.Curves = append(p.Curves, c)
	}
	return &p
}

func thresholdsOf(ks []curve) (list []string) {
	for _, k := range ks {
		if !slices.Contains(list, k.threshold) {
			list = append(list, k.threshold)
		}
	}
	return list
}
