package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"refrain/feed"
	"refrain/internal/units"
)

// Printer writes events for a person to read. Any goroutine may use it.
type Printer struct {
	options Options
	status  *Status

	mu sync.Mutex
	w  io.Writer
}

// NewPrinter returns a printer to w. A status line on the same screen, which may be nil, makes way for what
// is printed.
func NewPrinter(w io.Writer, o Options, s *Status) *Printer {
	return &Printer{w: w, options: o, status: s}
}

// maxTextLines is how many lines of a long text an event shows.
const maxTextLines = 3

// Event writes m as a block: when and by whom, the text with its differences marked, what it repeats.
func (p *Printer) Event(m *feed.Match) error {
	var b strings.Builder
	later, earlier := Diff(m.Later.Text, m.Earlier.Text)
	p.row(&b, "", []run{
		{m.Later.Time.String(), dim}, {"  ", plain}, {name(&m.Later), bold}, {byAuthor(&m.Later), plain}, {notes(m), dim},
	}, 1)
	p.row(&b, "  ", quoted(&m.Later, later, added), maxTextLines)
	p.row(&b, "  ", []run{
		{"repeats ", dim}, {name(&m.Earlier), bold}, {byAuthor(&m.Earlier), plain},
		{fmt.Sprintf(", %s earlier (%s); %s", since(m), likeness(m), count(m)), dim},
	}, maxTextLines)
	if m.Later.Text != m.Earlier.Text {
		p.row(&b, "  ", quoted(&m.Earlier, earlier, removed), maxTextLines)
	}
	return p.write(b.String())
}

// Line writes m on one line, cut where the terminal ends.
func (p *Printer) Line(m *feed.Match) error {
	var b strings.Builder
	later, _ := Diff(m.Later.Text, m.Earlier.Text)
	runs := []run{
		{m.Later.Time.String(), dim}, {fmt.Sprintf(" %.3f ×%d ", m.Value(), m.Occurrences), plain},
		{name(&m.Later), bold}, {" ← " + name(&m.Earlier) + "  ", plain},
	}
	p.row(&b, "", append(runs, quoted(&m.Later, later, added)...), 1)
	return p.write(b.String())
}

// quoted is the text of o with ranges marked, and a sign behind it where it goes on.
func quoted(o *feed.Occurrence, ranges []Range, s style) []run {
	runs := highlight(o.Text, ranges, s)
	if o.TextCut {
		runs = append(runs, run{" […]", dim})
	}
	return runs
}

// Texts writes the two texts of a comparison, the words marked that the other does not have.
func (p *Printer) Texts(later, earlier string) error {
	var b strings.Builder
	inLater, inEarlier := Diff(later, earlier)
	p.row(&b, "", highlight(earlier, inEarlier, removed), 0)
	p.row(&b, "", highlight(later, inLater, added), 0)
	return p.write(b.String())
}

// row lays runs out behind an indentation, in at most maxLines lines; 0 means any number.
func (p *Printer) row(b *strings.Builder, indent string, runs []run, maxLines int) {
	width := p.options.width()
	if width > 0 {
		width = max(width-len(indent), 1)
	}
	for _, line := range wrap(p.options.cells(runs), width, maxLines) {
		b.WriteString(indent)
		p.options.render(b, line)
		b.WriteByte('\n')
	}
}

func (p *Printer) write(s string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	p.status.withoutLine(func() { _, err = io.WriteString(p.w, s) })
	return err
}

// name is the post of o as a person would look it up.
func name(o *feed.Occurrence) string {
	if o.Source == "" {
		return Clean(o.Post)
	}
	return Clean(o.Source + "/" + o.Post)
}

func byAuthor(o *feed.Occurrence) string {
	if o.Author == "" {
		return ""
	}
	return " by " + Clean(o.Author)
}

// notes are the flags of m, if any.
func notes(m *feed.Match) string {
	var all []string
	for _, flag := range []struct {
		set  bool
		note string
	}{
		{m.Repost, "repost"}, {m.SameAuthor, "same author"}, {m.TimeAdjusted, "time adjusted"},
		{m.Truncated, "more groups match"},
	} {
		if flag.set {
			all = append(all, flag.note)
		}
	}
	if all == nil {
		return ""
	}
	return "  [" + strings.Join(all, ", ") + "]"
}

func likeness(m *feed.Match) string {
	switch {
	case m.Identical:
		return "word for word"
	case m.Jaccard == 1:
		return "the same words, J 1"
	}
	return fmt.Sprintf("%s %.3f", cmp.Or(m.Measure, "J"), m.Value())
}

func count(m *feed.Match) string {
	about := ""
	if m.AuthorsEstimated {
		about = "about "
	}
	by := ""
	if m.Authors > 0 { // else the posts name none
		by = fmt.Sprintf(" by %s%s", about, plural(m.Authors, "author"))
	}
	return fmt.Sprintf("%s%s since %s", plural(m.Occurrences, "time"), by, m.First.Time)
}

// Noun is the noun for n things: post, posts.
func Noun(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return noun
}

func plural(n int, noun string) string { return units.Thousands(n) + " " + Noun(n, noun) }

func since(m *feed.Match) string {
	return brief(time.Duration(m.Later.Time-m.Earlier.Time) * time.Millisecond)
}
