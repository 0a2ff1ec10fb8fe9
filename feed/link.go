package feed

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// linkTemplate makes the address of a post out of its fields: text, field, text, field, ..., text.
type linkTemplate struct {
	text   []string // one more than fields
	fields []string
}

// linkNames are the placeholders that every post may have.
var linkNames = []string{FieldID.String(), FieldAuthor.String(), FieldSource.String(), FieldLang.String()}

// WithLink is f with a template of the posts' addresses, such as "https://x.com/{author}/status/{id}". Placeholders are
// id, author, source, lang and the fields that f keeps; values are escaped, so none adds a segment or a parameter. A
// template that is nothing but one placeholder says that the value is an address. The empty template makes none.
func (f *Fields) WithLink(template string) (*Fields, error) {
	linked := f.copy()
	linked.link = linkTemplate{}
	if template == "" {
		return linked, nil
	}
	t, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	for _, name := range t.fields {
		if !slices.Contains(linkNames, name) && linked.indexOf(name) < 0 {
			return nil, fmt.Errorf("{%s} is neither %s nor a field that is kept (keep: %s)", name,
				strings.Join(linkNames, ", "), name)
		}
	}
	linked.link = t
	return linked, nil
}

func parseTemplate(template string) (t linkTemplate, err error) {
	for rest := template; ; {
		text, field, more := strings.Cut(rest, "{")
		t.text = append(t.text, text)
		if strings.Contains(text, "}") {
			return t, fmt.Errorf("%q: a } without its {", template)
		}
		if !more {
			return t, t.check(template)
		}
		field, rest, more = strings.Cut(field, "}")
		if !more {
			return t, fmt.Errorf("%q: a { without its }", template)
		}
		t.fields = append(t.fields, field)
	}
}

// check wants an address whose host is the template's own: no post says where its readers go.
func (t *linkTemplate) check(template string) error {
	if t.isBare() {
		return nil
	}
	u, err := url.Parse(t.text[0])
	if err != nil || !isWeb(u) {
		return fmt.Errorf("%q: want it to begin with http:// or https:// and a host", template)
	}
	if len(t.fields) > 0 && u.Path == "" && u.RawQuery == "" && u.Fragment == "" {
		return fmt.Errorf("%q: {%s} would be part of the host: want a / before it", template, t.fields[0])
	}
	return nil
}

// isBare reports whether the template is one placeholder and nothing else.
func (t *linkTemplate) isBare() bool { return len(t.fields) == 1 && t.text[0] == "" && t.text[1] == "" }

func isWeb(u *url.URL) bool { return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" }

// Finish gives p what comes from its source rather than from itself: the source's name where it has none, and its link.
// The note says what was left out.
func (f *Fields) Finish(p *Post, source string) (note string) {
	if p.Source == "" {
		p.Source = source
	}
	if f == nil || len(f.link.text) == 0 {
		return ""
	}
	p.Link = f.link.expand(p)
	if len(p.Link) > MaxLink {
		note = fmt.Sprintf("link left out: %d bytes, and the limit is %d", len(p.Link), MaxLink)
		p.Link = ""
	}
	return note
}

// expand is the address of p, "" where p lacks a field of it.
func (t *linkTemplate) expand(p *Post) string {
	if t.isBare() {
		return webAddress(valueOf(p, t.fields[0]))
	}
	link := []byte(t.text[0])
	for i, name := range t.fields {
		value := valueOf(p, name)
		if value == "" || value == "." || value == ".." { // a browser would leave these segments out
			return ""
		}
		link = append(appendEscaped(link, value), t.text[i+1]...)
	}
	return string(link)
}

// webAddress is s if it is an address of the web. Package url lets characters pass that no address has and that would end
// an attribute of a page: a host with them is refused, elsewhere they are escaped.
func webAddress(s string) string {
	const unsafeChars = "\"'<>\\^`{|} "
	u, err := url.Parse(s)
	if err != nil || !isWeb(u) || strings.ContainsAny(u.Host, unsafeChars) {
		return ""
	}
	var b []byte
	for _, c := range []byte(u.String()) {
		if c > 0x7f || strings.IndexByte(unsafeChars, c) >= 0 {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// checkLink refuses a Link that is no address of the web.
func checkLink(link string) error {
	if link == "" {
		return nil
	}
	if len(link) > MaxLink {
		return fmt.Errorf("%d bytes, and the limit is %d", len(link), MaxLink)
	}
	if u, err := url.Parse(link); err != nil || !isWeb(u) {
		return fmt.Errorf("%s: want an http or https address", quoteShort(link))
	}
	return nil
}

// valueOf is a field of p, or one of those that it keeps: a string, number or boolean.
func valueOf(p *Post, name string) string {
	switch name {
	case FieldID.String():
		return p.ID
	case FieldAuthor.String():
		return p.Author
	case FieldSource.String():
		return p.Source
	case FieldLang.String():
		return p.Lang
	}
	return metaValue(p.Meta, name)
}

func metaValue(meta, name string) string {
	var members map[string]jsontext.Value
	if meta == "" || json.Unmarshal([]byte(meta), &members) != nil {
		return ""
	}
	value := members[name]
	switch value.Kind() {
	case '"':
		b, _ := jsontext.AppendUnquote(nil, value)
		return string(b)
	case '0', 't', 'f':
		return string(value)
	}
	return ""
}

const hexDigits = "0123456789ABCDEF"

// appendEscaped appends a value so that it stays one segment of a path or one value of a query.
func appendEscaped(dst []byte, s string) []byte {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~:@", c) >= 0:
			dst = append(dst, c)
		default:
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}
