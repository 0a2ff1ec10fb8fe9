package feed

import (
	"html"
	"strings"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// WithHTML is f for a feed whose texts are HTML: they become the text that a reader sees, line breaks and paragraphs as
// lines, and such posts are marked (Post.Converted).
func (f *Fields) WithHTML() *Fields {
	converting := f.copy()
	converting.html = true
	return converting
}

// plainText is what a reader sees of HTML, and whether that is something else. A text without tags keeps its white space:
// feeds escape no more than <, > and & in it.
//
// Mastodon shows of a link only a part, and has the rest in spans that are invisible: they are read too, so that the
// address is whole, and no words, as any address.
func plainText(s string) (text string, converted bool) {
	switch {
	case strings.IndexByte(s, '<') >= 0:
		text = withoutTags(s)
	case strings.IndexByte(s, '&') >= 0:
		text = html.UnescapeString(s)
	default:
		return s, false
	}
	text = strings.ReplaceAll(text, zeroWidth, "")
	return text, text != s
}

// zeroWidth is what Reddit's editor leaves for an empty line, with its ampersand escaped once more.
const zeroWidth = "&#x200B;"

func withoutTags(s string) string {
	w := markupWriter{}
	for z := xhtml.NewTokenizer(strings.NewReader(s)); ; {
		kind := z.Next()
		switch kind {
		case xhtml.ErrorToken: // the end: a string cannot fail, and the tokenizer takes anything for HTML
			return strings.TrimRight(w.out.String(), " \n")
		case xhtml.TextToken:
			w.text(string(z.Text()))
		case xhtml.StartTagToken, xhtml.EndTagToken, xhtml.SelfClosingTagToken:
			name, _ := z.TagName()
			w.tag(atom.Lookup(name), kind)
		}
	}
}

// markupWriter writes what is between the tags.
type markupWriter struct {
	out    strings.Builder
	last   byte      // written
	space  bool      // white space is due
	pre    int       // elements open whose white space counts
	hidden atom.Atom // the element that is open and not shown; 0: none
}

func (w *markupWriter) tag(name atom.Atom, kind xhtml.TokenType) {
	end := kind == xhtml.EndTagToken
	switch {
	case w.hidden != 0:
		if end && name == w.hidden {
			w.hidden = 0
		}
		return
	case hiddenElements[name] && kind == xhtml.StartTagToken:
		w.hidden = name
	case name == atom.Br && !end:
		w.write("\n")
	case name == atom.Td || name == atom.Th:
		w.space = true
	case blockElements[name]:
		w.newLine()
	}
	switch {
	case name == atom.Pre && kind == xhtml.StartTagToken:
		w.pre++
	case name == atom.Pre && end:
		w.pre = max(0, w.pre-1)
	}
}

var hiddenElements = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Head: true, atom.Iframe: true, atom.Object: true,
}

// blockElements stand in lines of their own.
var blockElements = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Dd: true, atom.Details: true,
	atom.Div: true, atom.Dl: true, atom.Dt: true, atom.Figcaption: true, atom.Figure: true, atom.Footer: true,
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Header: true, atom.Hr: true,
	atom.Li: true, atom.Main: true, atom.Nav: true, atom.Ol: true, atom.P: true, atom.Pre: true, atom.Section: true,
	atom.Summary: true, atom.Table: true, atom.Tr: true, atom.Ul: true,
}

const htmlSpace = " \t\r\n\f"

// text writes text, runs of white space as one space.
func (w *markupWriter) text(s string) {
	switch {
	case w.hidden != 0:
		return
	case w.pre > 0:
		w.write(s)
		return
	}
	for s != "" {
		begin := len(s) - len(strings.TrimLeft(s, htmlSpace))
		w.space = w.space || begin > 0
		s = s[begin:]
		end := strings.IndexAny(s, htmlSpace)
		if end < 0 {
			end = len(s)
		}
		w.write(s[:end])
		s = s[end:]
	}
}

func (w *markupWriter) write(s string) {
	if s == "" {
		return
	}
	if w.space && w.last != '\n' && w.last != 0 && s[0] != '\n' {
		w.out.WriteByte(' ')
	}
	w.space = false
	w.out.WriteString(s)
	w.last = s[len(s)-1]
}

func (w *markupWriter) newLine() {
	w.space = false
	if w.last != '\n' && w.last != 0 {
		w.write("\n")
	}
}
