package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"refrain/feed"
	"refrain/internal/terminal"
	"refrain/publish"
	"refrain/text"
)

// outputFlags say what is shown of the events.
type outputFlags struct {
	top          int
	otherAuthors bool
	json         bool
}

func (f *outputFlags) add(to *pflag.FlagSet) {
	to.IntVar(&f.top, "top", 0, "print the N most reused texts instead of the events")
	to.BoolVar(&f.otherAuthors, "other-authors", false, "leave out what authors repeat of themselves")
	to.BoolVar(&f.json, "json", false, "print JSON lines on a terminal too")
}

// output is where the events go.
type output interface {
	write([]feed.Match) error
	close() error
}

func (d *detecting) newOutput() output {
	var o output = &jsonOutput{lines: publish.NewLines(d.main.Stdout)}
	if d.out.top > 0 {
		o = &topOutput{w: d.main.Stdout, n: d.out.top, measure: d.measure, texts: map[feed.Hash]*reused{}}
	} else if isTerminal(d.main.Stdout) && !d.out.json {
		o = shown{terminal.NewPrinter(d.main.Stdout, terminal.Detect(d.main.Stdout), d.status)}
	}
	if d.out.otherAuthors {
		o = otherAuthors{o}
	}
	return o
}

// jsonOutput writes an event a line.
type jsonOutput struct {
	lines *publish.Lines
	buf   []byte
}

// write appends several lines at a time, the line end of the last one left to Append.
func (o *jsonOutput) write(matches []feed.Match) error {
	for chunk := range slices.Chunk(matches, linesPerAppend) {
		o.buf = o.buf[:0]
		for i := range chunk {
			if i > 0 {
				o.buf = append(o.buf, '\n')
			}
			o.buf = chunk[i].AppendEvent(o.buf, deployment)
		}
		if err := o.lines.Append(o.buf); err != nil {
			return err
		}
	}
	return nil
}

// linesPerAppend fill the buffer of publish.Lines about once.
const linesPerAppend = 64

func (o *jsonOutput) close() error { return o.lines.Flush() }

// deployment is the source of events where no configuration names one.
const deployment = "refrain"

// otherAuthors drops what authors repeat of themselves.
type otherAuthors struct{ output }

func (o otherAuthors) write(matches []feed.Match) error {
	return o.output.write(slices.DeleteFunc(matches, func(m feed.Match) bool { return m.SameAuthor }))
}

// topOutput counts the events of each group. It holds one entry for every text that is repeated.
type topOutput struct {
	w       io.Writer
	n       int
	measure text.Measure
	texts   map[feed.Hash]*reused
}

type reused struct {
	events, authors int
	estimated       bool
	first           feed.First
	last            feed.Time
	text            string
}

func (o *topOutput) write(matches []feed.Match) error {
	for i := range matches {
		m := &matches[i]
		r := o.texts[m.Group]
		if r == nil {
			r = &reused{first: m.First, text: m.Earlier.Text}
			o.texts[m.Group] = r
		}
		r.events++
		r.authors, r.estimated = max(r.authors, m.Authors), r.estimated || m.AuthorsEstimated
		r.last = max(r.last, m.Later.Time)
	}
	return nil
}

// close prints the most reused texts, leaving out those that a text above them matches.
func (o *topOutput) close() error {
	w, screen := bufio.NewWriter(o.w), terminal.Detect(o.w)
	fmt.Fprintf(w, "%8s %8s  %-20s %-20s  %s\n", "REPEATS", "AUTHORS", "FIRST", "LAST", "TEXT")
	for _, r := range o.best() {
		authors := fmt.Sprint(r.authors)
		switch {
		case r.authors == 0: // the posts name none
			authors = "-"
		case r.estimated:
			authors = "~" + authors
		}
		line := fmt.Sprintf("%8d %8s  %-20s %-20s  %s", r.events, authors, r.first.Time, r.last, r.text)
		fmt.Fprintln(w, screen.Cut(line))
	}
	return w.Flush()
}

func (o *topOutput) best() []*reused {
	all := make([]*reused, 0, len(o.texts))
	for _, r := range o.texts {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *reused) int {
		return cmp.Or(cmp.Compare(b.events, a.events), cmp.Compare(a.first.Time, b.first.Time), cmp.Compare(a.text, b.text))
	})
	var best []*reused
	var sets [][]uint64
	var splitter text.Splitter
	for _, r := range all {
		set := text.Set(splitter.AppendIDs(nil, r.text))
		if o.near(sets, set) {
			continue
		}
		best, sets = append(best, r), append(sets, set)
		if len(best) == o.n {
			break
		}
	}
	return best
}

func (o *topOutput) near(sets [][]uint64, set []uint64) bool {
	return slices.ContainsFunc(sets, func(s []uint64) bool {
		return len(s) > 0 && len(set) > 0 && o.measure.Reaches(text.Intersection(s, set), len(s), len(set))
	})
}
