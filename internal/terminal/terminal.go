// Package terminal shows events to a person who looks at a terminal.
//
// Texts of posts come from strangers: nothing of them reaches the terminal before clean has taken out what a
// terminal would obey. Colours and redrawing are used only where Detect finds that they work; elsewhere the
// same words come out plain, differing words in [-…-] and {+…+}.
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Options says what an output can do.
type Options struct {
	Colour bool       // ANSI colours are understood and wanted
	Live   bool       // it is a terminal: a line can be redrawn in place
	Width  func() int // columns at this moment; nil or 0: lines may be of any length
}

// Detect finds out what w can do. NO_COLOR, if set to anything, and TERM=dumb turn colours off.
func Detect(w io.Writer) Options {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Options{}
	}
	dumb := os.Getenv("TERM") == "dumb"
	return Options{
		Colour: !dumb && os.Getenv("NO_COLOR") == "",
		Live:   !dumb,
		Width:  func() int { return columns(int(file.Fd())) },
	}
}

// columns is the width of a terminal; 80 where it does not tell.
func columns(fd int) int {
	width, _, err := term.GetSize(fd)
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// Cut cleans a line, which has no colours, and ends it where the terminal ends.
func (o Options) Cut(line string) string {
	var b strings.Builder
	o.render(&b, truncate(o.cells([]run{{Clean(line), plain}}), o.width()))
	return b.String()
}

func (o Options) width() int {
	if o.Width == nil {
		return 0
	}
	return o.Width()
}
