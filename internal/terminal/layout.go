package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// style of a piece of text.
type style uint8

const (
	plain style = iota
	dim
	bold
	added   // only the later text has it
	removed // only the earlier text has it
)

// codes are the ANSI sequences that turn a style on.
var codes = [...]string{plain: "", dim: "\x1b[2m", bold: "\x1b[1m", added: "\x1b[1;32m", removed: "\x1b[31m"}

const reset = "\x1b[0m"

// run is text of one style, clean already.
type run struct {
	text  string
	style style
}

// highlight cuts raw into runs: what is in the ranges gets the given style.
func highlight(raw string, ranges []Range, s style) []run {
	var runs []run
	at := 0
	for _, r := range ranges {
		runs = append(runs, run{Clean(raw[at:r.Start]), plain}, run{Clean(raw[r.Start:r.End]), s})
		at = r.End
	}
	return append(runs, run{Clean(raw[at:]), plain})
}

// cell is what moves the cursor once: a character with its marks, an emoji.
type cell struct {
	text  string
	width int // columns
	style style
	stop  bool // a line may end behind it
}

// maxCluster bounds the code points of one character, so that nobody piles up marks without end.
const maxCluster = 16

// cells lays runs out in one row. Without colour, marks in text take the place of the colours.
func (o Options) cells(runs []run) []cell {
	var row []cell
	text, styles := o.flatten(runs)
	state := -1
	for at, rest := 0, text; rest != ""; {
		cluster, tail, boundaries, next := uniseg.StepString(rest, state)
		row = append(row, cell{
			text:  firstRunes(cluster, maxCluster),
			width: boundaries >> uniseg.ShiftWidth,
			style: styles[at],
			stop:  boundaries&uniseg.MaskLine != uniseg.LineDontBreak,
		})
		at, rest, state = at+len(cluster), tail, next
	}
	return row
}

// flatten joins runs into one text, with the style of every byte.
func (o Options) flatten(runs []run) (string, []style) {
	var text strings.Builder
	var styles []style
	for _, r := range runs {
		s := r.text
		if !o.Colour && s != "" {
			s = brackets(s, r.style)
		}
		text.WriteString(s)
		for range len(s) {
			styles = append(styles, r.style)
		}
	}
	return text.String(), styles
}

func brackets(s string, st style) string {
	switch st {
	case added:
		return "{+" + s + "+}"
	case removed:
		return "[-" + s + "-]"
	}
	return s
}

func firstRunes(s string, runes int) string {
	if len(s) <= runes || utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes])
}

// wrap breaks a row into lines of at most width columns; 0 means no limit. Beyond maxLines it ends in "…".
func wrap(row []cell, width, maxLines int) [][]cell {
	var lines [][]cell
	for len(row) > 0 {
		n := fit(row, width)
		if n < len(row) && len(lines) == maxLines-1 {
			return append(lines, truncate(row, width))
		}
		lines = append(lines, trimRight(row[:n]))
		row = row[n:]
	}
	return lines
}

// fit returns how many cells go on the next line: up to the last place to stop that fits, at least one.
func fit(row []cell, width int) int {
	if width <= 0 {
		return len(row)
	}
	columns, stop := 0, 0
	for i, c := range row {
		if columns += c.width; columns > width && c.text != " " {
			if stop > 0 {
				return stop
			}
			return max(i, 1)
		}
		if c.stop {
			stop = i + 1
		}
	}
	return len(row)
}

// truncate cuts a row to width columns; where something is lost it ends in "…".
func truncate(row []cell, width int) []cell {
	if width <= 0 || columnsOf(row) <= width {
		return row
	}
	columns := 0
	for i, c := range row {
		if columns += c.width; columns > width-1 {
			return append(row[:i:i], cell{text: "…", width: 1})
		}
	}
	return row
}

func columnsOf(row []cell) int {
	columns := 0
	for _, c := range row {
		columns += c.width
	}
	return columns
}

func trimRight(row []cell) []cell {
	for len(row) > 0 && row[len(row)-1].text == " " {
		row = row[:len(row)-1]
	}
	return row
}

// render writes cells with as few changes of colour as possible.
func (o Options) render(b *strings.Builder, row []cell) {
	current := plain
	for _, c := range row {
		if o.Colour && c.style != current {
			if current != plain {
				b.WriteString(reset)
			}
			b.WriteString(codes[c.style])
			current = c.style
		}
		b.WriteString(c.text)
	}
	if current != plain {
		b.WriteString(reset)
	}
}
