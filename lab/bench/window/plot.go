package main

import (
	"bytes"
	"fmt"
	"time"
)

// Size of the plot and of its frame, in pixels.
const (
	width, height = 860, 420
	left, right   = 70, 70
	top, bottom   = 40, 50
)

// line is one curve with an axis of its own.
type line struct {
	name, colour string
	value        func(sample) float64
	max          float64
}

// plot draws bytes of the window and the process (left axis, MB) and sentences in the window (right axis).
func plot(samples []sample, span time.Duration, compress float64) []byte {
	mb := func(f func(sample) int64) func(sample) float64 {
		return func(s sample) float64 { return float64(f(s)) / 1e6 }
	}
	lines := []line{
		{"RSS of the process, MB", "#b33", mb(func(s sample) int64 { return s.rss }), 0},
		{"held by the window, MB", "#36a", mb(func(s sample) int64 { return s.held }), 0},
		{"sentences in the window, thousands", "#393", func(s sample) float64 { return float64(s.sentences) / 1e3 }, 0},
	}
	for i := range lines {
		for _, s := range samples {
			lines[i].max = max(lines[i].max, lines[i].value(s)*1.05)
		}
	}
	lines[1].max = lines[0].max
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+
		`<text x="%d" y="20" font-size="14">Window of %v, times compressed %g times</text>`+"\n", left, span, compress)
	axes(&b, samples, lines)
	for i, l := range lines {
		curve(&b, samples, l)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+10, top+18+16*i, l.colour, l.name)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func x(samples []sample, posts int) float64 {
	return left + float64(posts)/float64(samples[len(samples)-1].posts)*(width-left-right)
}

func y(v, limit float64) float64 { return height - bottom - v/limit*(height-top-bottom) }

func axes(b *bytes.Buffer, samples []sample, lines []line) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", left, top,
		width-left-right, height-top-bottom)
	last := samples[len(samples)-1].posts
	for i := range 5 {
		share := float64(i) / 4
		at := y(share*lines[0].max, lines[0].max)
		fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end">%.0f MB</text>`, left-6, at+4, share*lines[0].max)
		fmt.Fprintf(b, `<text x="%d" y="%.0f">%.0f k</text>`, width-right+6, at+4, share*lines[2].max)
		posts := int(share * float64(last))
		fmt.Fprintf(b, `<text x="%.0f" y="%d" text-anchor="middle">%d k</text>`+"\n", x(samples, posts),
			height-bottom+18, posts/1000)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">posts</text>`+"\n", width/2, height-8)
}

func curve(b *bytes.Buffer, samples []sample, l line) {
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, l.colour)
	for _, s := range samples {
		fmt.Fprintf(b, "%.1f,%.1f ", x(samples, s.posts), y(l.value(s), l.max))
	}
	b.WriteString(`"/>` + "\n")
}
