package tables

import (
	"bytes"
	"fmt"
	"math"
	"slices"
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
		return fmt.Sprintf("below %s rows", thousands(int(x.at)))
	case x.at > 0:
		return fmt.Sprintf("above %s rows", thousands(int(x.at)))
	case prefixIsCheaper:
		return fmt.Sprintf("never (from %s rows on)", thousands(int(x.first)))
	}
	return fmt.Sprintf("always (up to %s rows)", thousands(int(x.last)))
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
	x := crossing{threshold: prefix.threshold, first: prefix.sizes[0], last: prefix.sizes[n], prefix: prefix.values[n], scan: scan.values[n]}
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

// Size of the plot and of its frame, in pixels.
const (
	plotWidth, plotHeight = 860, 460
	plotLeft, plotRight   = 60, 20
	plotTop, plotBottom   = 40, 50
)

// axis is logarithmic.
type axis struct{ least, most, from, to float64 }

func (a *axis) at(v float64) float64 {
	return a.from + (math.Log(v)-math.Log(a.least))/(math.Log(a.most)-math.Log(a.least))*(a.to-a.from)
}

// ticks are the powers of ten on the axis, with the double and the fivefold.
func (a *axis) ticks() (list []float64) {
	for p := math.Pow(10, math.Floor(math.Log10(a.least))); p <= a.most; p *= 10 {
		for _, v := range []float64{p, 2 * p, 5 * p} {
			if v >= a.least && v <= a.most {
				list = append(list, v)
			}
		}
	}
	return list
}

// colours of the engines; thresholds differ by the dashes.
var colours = map[string]string{"prefix": "#36a", "scan": "#b33", yardstick: "#888"}

// crossingPlot draws the cost of a sentence by window and engine, and where scan and prefix cross.
func crossingPlot(all []MatchFigure, command string) []byte {
	ks := curves(all)
	x := axis{math.Inf(1), 0, plotLeft, plotWidth - plotRight}
	y := axis{math.Inf(1), 0, plotHeight - plotBottom, plotTop}
	for _, k := range ks {
		x.least, x.most = min(x.least, slices.Min(k.sizes)), max(x.most, slices.Max(k.sizes))
		y.least, y.most = min(y.least, slices.Min(k.values)), max(y.most, slices.Max(k.values))
	}
	x.most, y.least, y.most = max(x.most, 2*x.least), max(y.least/1.2, 1e-3), max(y.most, 1e-3)*1.2
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="20" font-size="14">µs a sentence by window: %s</text>`+"\n", plotLeft, command)
	drawAxes(&b, &x, &y)
	dashes := map[string]string{}
	for i, t := range thresholdsOf(ks) {
		dashes[t] = []string{"none", "6 3", "2 2", "8 2 2 2"}[i%4]
	}
	for i, k := range ks {
		drawCurve(&b, &x, &y, k, i, dashes[k.threshold])
	}
	for _, c := range crossings(all) {
		if c.at > 0 {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="none" stroke="black"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
				x.at(c.at), y.at(c.value), x.at(c.at)+8, y.at(c.value)+16, thousands(int(c.at)))
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func thresholdsOf(ks []curve) (list []string) {
	for _, k := range ks {
		if !slices.Contains(list, k.threshold) {
			list = append(list, k.threshold)
		}
	}
	return list
}

func drawAxes(b *bytes.Buffer, x, y *axis) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", plotLeft, plotTop,
		plotWidth-plotLeft-plotRight, plotHeight-plotTop-plotBottom)
	for _, v := range x.ticks() {
		fmt.Fprintf(b, `<text x="%.0f" y="%d" text-anchor="middle">%s</text>`+"\n", x.at(v), plotHeight-plotBottom+18, thousands(int(v)))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end">%g</text>`+"\n", plotLeft-6, y.at(v)+4, v)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">distinct sentences in the window</text>`+"\n", plotWidth/2, plotHeight-8)
}

func drawCurve(b *bytes.Buffer, x, y *axis, k curve, place int, dashes string) {
	colour := colours[k.name]
	if colour == "" {
		colour = "#393"
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="%s" points="`, colour, dashes)
	for i := range k.sizes {
		fmt.Fprintf(b, "%.1f,%.1f ", x.at(k.sizes[i]), y.at(max(k.values[i], y.least)))
	}
	legend := plotTop + 18 + 16*place
	fmt.Fprintf(b, `"/><path d="M%d %dh30" stroke="%s" stroke-width="1.5" stroke-dasharray="%s"/><text x="%d" y="%d">%s, θ %s</text>`+"\n",
		plotLeft+10, legend-4, colour, dashes, plotLeft+46, legend, k.name, k.threshold)
}
