package file

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/html/charset"
)

// xmlReader makes records of the items of RSS and the entries of Atom, as JSON: an element becomes a string under its
// name, prefix included (dc:creator); one of elements an object (author.name); one without text an object of its
// attributes (link.href). Of several with one name the first counts. What an element of type xhtml, or any other mixture of
// text and elements, has is markup.
type xmlReader struct {
	lines  *lineReader
	tokens *xml.Decoder
	number int64
	budget int64 // bytes that may be read until the next record
	buf    []byte
	root   string  // the name of the first element
	closed bool    // it has ended
	prefix string  // of the names in an item that are its own, as of atom:entry
	author element // of the feed, and of entries that name none
}

func newXMLReader(lines *lineReader) *xmlReader {
	x := &xmlReader{lines: lines}
	x.tokens = xml.NewDecoder(x)
	x.tokens.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return in, nil // its mark has been seen, and it is UTF-8 by now
		}
		return charset.NewReaderLabel(label, in)
	}
	x.tokens.Entity = xml.HTMLEntity
	x.tokens.Strict = false // an & that stands alone is one
	return x
}

var errLongItem = fmt.Errorf("an item of more than %d bytes", MaxLine)

// Read lets the decoder have no more than the longest item has: it would hold all of it.
func (x *xmlReader) Read(p []byte) (int, error) {
	if x.budget <= 0 {
		return 0, errLongItem
	}
	n, err := x.lines.r.Read(p[:min(int64(len(p)), x.budget)])
	x.budget -= int64(n)
	return n, err
}

// read fills in the next item. XML that is broken cannot be read further: that ends the file.
func (x *xmlReader) read(r *record) error {
	x.budget = MaxLine
	for {
		t, err := x.tokens.RawToken()
		line, _ := x.tokens.InputPos()
		x.lines.number = int64(line)
		if err == io.EOF {
			return x.end()
		}
		if err != nil {
			return plainXML(err)
		}
		if end, ok := t.(xml.EndElement); ok && end.Name.Local == x.root {
			x.closed = true
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		item, found, err := x.start(start)
		if err != nil {
			return plainXML(err)
		}
		if found {
			x.number++
			item.addBody()
			item.addAuthor(&x.author)
			x.buf = item.json(x.buf[:0])
			r.line, r.number, r.raw, r.size = int64(line), x.number, x.buf, len(x.buf)
			return nil
		}
	}
}

// start reads an item, or what of the feed its items have.
func (x *xmlReader) start(start xml.StartElement) (item element, found bool, err error) {
	if x.root == "" {
		x.root = start.Name.Local
	}
	x.prefix = start.Name.Space
	switch {
	case strings.EqualFold(x.root, "html"):
		return item, false, errors.New(webPage)
	case start.Name.Local == "author" && x.root == "feed":
		x.author, err = x.element(start, 0)
		return item, false, err
	case start.Name.Local != "item" && start.Name.Local != "entry":
		return item, false, nil
	}
	item, err = x.element(start, 0)
	return item, true, err
}

// end is the end of the file. A feed may have no items; what is no feed has none for another reason.
func (x *xmlReader) end() error {
	switch {
	case x.root == "" || x.root == "item" || x.root == "entry":
		return io.EOF
	case !x.closed:
		return fmt.Errorf("the XML ends too early: <%s> is not closed", x.root)
	case x.number > 0 || slices.Contains([]string{"rss", "RDF", "feed", "channel"}, x.root):
		return io.EOF
	}
	return fmt.Errorf("no item of RSS and no entry of Atom: its first element is <%s>", x.root)
}

func plainXML(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, errLongItem):
		return errLongItem
	case errors.As(err, &syntax) && errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax):
		return fmt.Errorf("malformed XML: %s", syntax.Msg)
	}
	return err
}

// element is one element with all in it.
type element struct {
	name     string
	attrs    []xml.Attr
	text     []byte // and nothing else, or what is in it as markup
	children []element
	mixed    bool // text between elements
}

// maxElements bounds how deep elements nest.
const maxElements = 100

func (x *xmlReader) element(start xml.StartElement, depth int) (element, error) {
	if start.Name.Space == x.prefix {
		start.Name.Space = ""
	}
	e := element{name: qualified(start.Name), attrs: start.Copy().Attr}
	e.mixed = e.attr("type") == "xhtml"
	if depth > maxElements {
		return e, fmt.Errorf("elements within each other, more than %d", maxElements)
	}
	for {
		t, err := x.tokens.RawToken()
		if err == io.EOF {
			err = errors.New("the XML ends too early: <" + e.name + "> is not closed")
		}
		if err != nil {
			return e, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			child, err := x.element(t, depth+1)
			if err != nil {
				return e, err
			}
			e.children = append(e.children, child)
			e.text = child.markup(e.text)
		case xml.CharData:
			if e.children == nil {
				e.text = append(e.text, t...)
				continue
			}
			e.mixed = e.mixed || len(bytes.TrimSpace(t)) > 0
			e.text = append(e.text, html.EscapeString(string(t))...)
		case xml.EndElement:
			if e.attr("type") == "text" && e.children == nil && bytes.IndexByte(e.text, '<') >= 0 {
				e.text = []byte(html.EscapeString(string(e.text))) // what looks like tags is none
			}
			return e, nil
		}
	}
}

func qualified(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func (e *element) attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// bodies are where the text of an item may be, the fullest first.
var bodies = []string{"content:encoded", "content", "description", "summary"}

// addBody gives an item its text under one name, whichever it has.
func (e *element) addBody() {
	for _, name := range bodies {
		for _, child := range e.children {
			if child.name == name && len(bytes.TrimSpace(child.text)) > 0 {
				child.name = "body"
				e.children = append(e.children, child)
				return
			}
		}
	}
}

// child is the first element of that name in e; nil: there is none.
func (e *element) child(name string) *element {
	for i := range e.children {
		if e.children[i].name == name {
			return &e.children[i]
		}
	}
	return nil
}

// addAuthor gives an entry of Atom that names no author that of the feed it was taken from, or that of this feed (RFC 4287,
// section 4.2.1), and reads the entities that some write into names.
func (e *element) addAuthor(feed *element) {
	if source := e.child("source"); source != nil && e.child("author") == nil && source.child("author") != nil {
		feed = source.child("author")
	}
	if e.child("author") == nil && feed.name != "" {
		e.children = append(e.children, *feed)
	}
	for _, name := range []string{"dc:creator", "author"} {
		author := e.child(name)
		if author != nil && author.child("name") != nil {
			author = author.child("name")
		}
		if author != nil && author.children == nil {
			author.text = []byte(html.UnescapeString(string(author.text)))
		}
	}
}

// markup appends e as it stood in the file, attributes left out.
func (e *element) markup(dst []byte) []byte {
	dst = append(append(append(dst, '<'), e.name...), '>')
	if e.children == nil {
		dst = append(dst, html.EscapeString(string(e.text))...)
	} else {
		dst = append(dst, e.text...)
	}
	return append(append(append(dst, "</"...), e.name...), '>')
}

// json appends e as a JSON value.
func (e *element) json(dst []byte) []byte {
	text := strings.TrimSpace(string(e.text))
	switch {
	case e.children != nil && !e.mixed:
		return e.members(dst)
	case text == "" && len(e.attrs) > 0:
		return e.attributes(dst)
	}
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\uFFFD"))
	return dst
}

func (e *element) members(dst []byte) []byte {
	seen := map[string]bool{}
	dst = append(dst, '{')
	for i := range e.children {
		child := &e.children[i]
		if seen[child.name] {
			continue
		}
		seen[child.name] = true
		dst = child.json(appendName(dst, child.name, len(seen) > 1))
	}
	return append(dst, '}')
}

func (e *element) attributes(dst []byte) []byte {
	seen := map[string]bool{}
	dst = append(dst, '{')
	for _, a := range e.attrs {
		name := qualified(a.Name)
		if seen[name] {
			continue
		}
		seen[name] = true
		dst, _ = jsontext.AppendQuote(appendName(dst, name, len(seen) > 1), strings.ToValidUTF8(a.Value, "\uFFFD"))
	}
	return append(dst, '}')
}

func appendName(dst []byte, name string, comma bool) []byte {
	if comma {
		dst = append(dst, ',')
	}
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(name, "\uFFFD"))
	return append(dst, ':')
}
