package report

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"

	"refrain/internal/units"
)

// Plot is a line plot.
type Plot struct {
	Title       string
	X, Y        Axis
	Curves      []Curve
	Annotations []Annotation
}

// Axis of a plot. Its range is that of the curves, and From to To where that is more.
type Axis struct {
	Title    string
	Log      bool // logarithmic: what is not above 0 is left out
	From, To float64
}

// Curve is a line through points.
type Curve struct {
	Name   string
	X, Y   []float64
	Colour string // "": the next of Colours
	Dashes string // as SVG has them; "": none
	Dots   bool   // show the points
}

// Annotation is a circle with words beside it.
type Annotation struct {
	X, Y float64
	Text string
}

// Colours of curves without one of their own.
var Colours = []string{"#36a", "#b33", "#393", "#d80", "#83a", "#088", "#888", "#a52"}

// Size of the plot and of its frame, in pixels. The legend stands right of the frame.
const (
	plotWidth, plotHeight = 860, 460
	plotLeft, plotRight   = 70, 200
	plotTop, plotBottom   = 40, 50
)

// SVG draws the plot.
func (p *Plot) SVG() []byte {
	x, y := scale{axis: p.X, from: plotLeft, to: plotWidth - plotRight},
		scale{axis: p.Y, from: plotHeight - plotBottom, to: plotTop}
	x.fit(p.Curves, func(c *Curve) []float64 { return c.X })
	y.fit(p.Curves, func(c *Curve) []float64 { return c.Y })
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="20" font-size="14">%s</text>`+"\n",
		plotLeft, html.EscapeString(p.Title))
	drawAxes(&b, &x, &y)
	for i := range p.Curves {
		drawCurve(&b, &x, &y, &p.Curves[i], i)
	}
	for _, m := range p.Annotations {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="none" stroke="black"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
			x.at(m.X), y.at(m.Y), x.at(m.X)+8, y.at(m.Y)+16, html.EscapeString(m.Text))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Plots are several in one picture, two side by side.
type Plots []Plot

// SVG draws them.
func (all Plots) SVG() []byte {
	const columns = 2
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">`+"\n", columns*plotWidth,
		(len(all)+columns-1)/columns*plotHeight)
	for i := range all {
		fmt.Fprintf(&b, `<g transform="translate(%d,%d)">`+"\n%s</g>\n", i%columns*plotWidth, i/columns*plotHeight,
			all[i].SVG())
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// scale puts the values of an axis on pixels.
type scale struct {
	axis     Axis
	min, max float64
	from, to float64
}

// fit makes the range that of the curves, never empty.
func (s *scale) fit(curves []Curve, values func(*Curve) []float64) {
	s.min, s.max = math.Inf(1), math.Inf(-1)
	include := func(v float64) {
		if s.shows(v) {
			s.min, s.max = min(s.min, v), max(s.max, v)
		}
	}
	if s.axis.From < s.axis.To {
		include(s.axis.From)
		include(s.axis.To)
	}
	for i := range curves {
		for _, v := range values(&curves[i]) {
			include(v)
		}
	}
	switch {
	case s.min > s.max:
		s.min, s.max = 1, 2
	case s.min == s.max && s.axis.Log:
		s.max *= 2
	case s.min == s.max:
		s.max++
	}
}

// shows says whether the axis has a place for a value.
func (s *scale) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!s.axis.Log || v > 0)
}

func (s *scale) at(v float64) float64 {
	low, high := s.min, s.max
	if s.axis.Log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

// ticks are round values on the axis: of a logarithmic one 1, 2 and 5 times the powers of ten, or only those where the
// range is wide.
func (s *scale) ticks() (list []float64) {
	if s.axis.Log {
		factors := []float64{1, 2, 5}
		if s.max/s.min > 1e4 {
			factors = factors[:1]
		}
		for e := math.Floor(math.Log10(s.min)); math.Pow(10, e) <= s.max; e++ {
			for _, f := range factors {
				list = append(list, f*math.Pow(10, e))
			}
		}
	} else {
		step := roundStep((s.max - s.min) / 8)
		for v := math.Ceil(s.min/step) * step; v <= s.max+step/1e6; v += step {
			list = append(list, math.Round(v/step)*step)
		}
	}
	return slices.DeleteFunc(list, func(v float64) bool { return v < s.min*(1-1e-9) || v > s.max*(1+1e-9) })
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is minStep or more.
func roundStep(minStep float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(minStep)))
	for _, f := range []float64{1, 2, 5} {
		if f*p >= minStep {
			return f * p
		}
	}
	return 10 * p
}

func tickText(v float64) string {
	if v >= 1000 && v == math.Trunc(v) {
		return units.Thousands(int(v))
	}
	return fmt.Sprintf("%.6g", v)
}

func drawAxes(b *bytes.Buffer, x, y *scale) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", plotLeft, plotTop,
		plotWidth-plotLeft-plotRight, plotHeight-plotTop-plotBottom)
	for _, v := range x.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %dv4" stroke="#999"/><text x="%.0f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x.at(v), plotHeight-plotBottom, x.at(v), plotHeight-plotBottom+18, tickText(v))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(b, `<path d="M%d %.1fh-4" stroke="#999"/><text x="%d" y="%.0f" text-anchor="end">%s</text>`+"\n",
			plotLeft, y.at(v), plotLeft-6, y.at(v)+4, tickText(v))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotWidth-plotRight)/2,
		plotHeight-10, html.EscapeString(x.axis.Title))
	middle := (plotTop + plotHeight - plotBottom) / 2
	fmt.Fprintf(b, `<text x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">%s</text>`+"\n", middle, middle,
		html.EscapeString(y.axis.Title))
}

func drawCurve(b *bytes.Buffer, x, y *scale, c *Curve, index int) {
	colour, dashes := c.Colour, c.Dashes
	if colour == "" {
		colour = Colours[index%len(Colours)]
	}
	if dashes == "" {
		dashes = "none"
	}
	var points, dots bytes.Buffer
	for i := range c.X {
		if !x.shows(c.X[i]) || !y.shows(c.Y[i]) {
			continue
		}
		fmt.Fprintf(&points, "%.1f,%.1f ", x.at(c.X[i]), y.at(c.Y[i]))
		if c.Dots {
			fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x.at(c.X[i]), y.at(c.Y[i]), colour)
		}
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="%s" points="%s"/>%s`, colour,
		dashes, points.Bytes(), dots.Bytes())
	left, legend := plotWidth-plotRight+10, plotTop+14+16*index
	fmt.Fprintf(b, `<path d="M%d %dh26" stroke="%s" stroke-width="1.5" stroke-dasharray="%s"/>`+
		`<text x="%d" y="%d">%s</text>`+"\n",
		left, legend-4, colour, dashes, left+32, legend, html.EscapeString(c.Name))
}
