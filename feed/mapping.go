package feed

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The mapping language, which says how a feed calls our fields:
//
//	map        = pair { "," pair }          text=full_text|text,id=id_str
//	pair       = ours "=" [ expression ]    source= : no field of the feed; not of id and text, which posts need
//	expression = sum { "|" sum }            the first that is there and not empty
//	sum        = path { "+" path }          those that are there and not empty, joined
//	path       = name { "." name }          user.screen_name: within an object, or a name with a dot
//	name       = bare | quoted              a bare name has none of , = | + . " and no space
//	quoted     = `"` ... `"`                anything; two quotes stand for one
//
// White space around a pair, a sum or a path means nothing.

// path leads to a value: names of objects within each other. A column of a table has one name, with dots.
type path []string

// sum are the paths of values that are joined.
type sum []path

// expression says of which values a field is made: the first sum that is there and not empty. One without sums is of no
// value.
type expression []sum

// combination is an expression of several paths, by their slots.
type combination struct {
	field Field
	sums  [][]int
}

func (p path) equal(o path) bool { return slices.Equal(p, o) }

// name is the path as one name: that of a column.
func (p path) name() string { return strings.Join(p, ".") }

// String is the path as the mapping language has it.
func (p path) String() string {
	return joinStrings(p, ".", func(name string) string {
		if name != "" && strings.IndexFunc(name, needsQuotes) < 0 {
			return name
		}
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	})
}

func (s sum) String() string { return joinStrings(s, "+", path.String) }

func (e expression) String() string { return joinStrings(e, "|", sum.String) }

func joinStrings[T any](all []T, separator string, each func(T) string) string {
	parts := make([]string, len(all))
	for i, one := range all {
		parts[i] = each(one)
	}
	return strings.Join(parts, separator)
}

// isPlain reports whether e is one path.
func (e expression) isPlain() bool { return len(e) == 1 && len(e[0]) == 1 }

func (e expression) has(p path) bool {
	return slices.ContainsFunc(e, func(s sum) bool { return slices.ContainsFunc(s, p.equal) })
}

func needsQuotes(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,=|+."`, r) }

// ParseFields reads a map such as "text=full_text|text,id=uri,author=user.screen_name": our name, then theirs. A dot in
// their name leads into an object, or is part of a name where the object itself has such a one. Of names with a bar
// between, the first counts that is there and not empty; a + joins, and binds before the bar: texts by a line break,
// dates and times by a space, all else by a slash. A name with a space, or any of , = | + . in it, stands in quotes.
//
// Fields that the map leaves out keep our names, and "source=" says that the feed has no such field, whatever is called
// so. The empty map is no map.
func ParseFields(spec string) (*Fields, error) { return ownNames.WithMap(spec) }

// WithMap is f, which has no Meta fields and no link yet, with other names for the fields that spec has.
func (f *Fields) WithMap(spec string) (*Fields, error) {
	mapped := f.copy()
	if err := mapped.parse(spec); err != nil {
		return nil, fmt.Errorf("field map %q: %w", spec, err)
	}
	return mapped, nil
}

func (f *Fields) copy() *Fields {
	c := *f.orOwn()
	return &c
}

func (f *Fields) parse(spec string) error {
	if strings.TrimSpace(spec) == "" {
		return nil
	}
	pairs, err := cut(spec, ',')
	if err != nil {
		return err
	}
	var given [fieldCount]bool
	for _, pair := range pairs {
		field, e, err := parsePair(pair)
		if err != nil {
			return err
		}
		if given[field] {
			return fmt.Errorf("%s is given twice", field)
		}
		given[field], f.exprs[field] = true, e
	}
	return f.plant()
}

func parsePair(pair string) (Field, expression, error) {
	ours, theirs, ok := strings.Cut(pair, "=")
	ours, theirs = strings.TrimSpace(ours), strings.TrimSpace(theirs)
	f := slices.Index(fieldNames[:], ours)
	if !ok || theirs == "" && (f < 0 || Field(f).needed()) {
		return 0, nil, fmt.Errorf("%q: want OURS=THEIRS", pair)
	}
	if f < 0 && slices.Contains(fieldNames[:], theirs) {
		return 0, nil, fmt.Errorf("%q is no field of a post, but %q is: want %s=%s", ours, theirs, theirs, ours)
	}
	if f < 0 {
		return 0, nil, fmt.Errorf("%q is no field of a post: they are %s", ours, strings.Join(fieldNames[:], ", "))
	}
	if theirs == "" {
		return Field(f), nil, nil // a record may have a field of our name that is something else
	}
	e, err := parseExpression(theirs)
	if errors.Is(err, errNoName) {
		return 0, nil, fmt.Errorf("%q: want OURS=THEIRS", pair)
	}
	return Field(f), e, err
}

var errNoName = errors.New("a name is missing")

func parseExpression(s string) (e expression, err error) {
	sums, err := cut(s, '|')
	for i := 0; i < len(sums) && err == nil; i++ {
		var parsed sum
		parsed, err = parseSum(sums[i])
		e = append(e, parsed)
	}
	if n := e.names(); err == nil && n > maxNames {
		err = fmt.Errorf("made of %d names: want at most %d", n, maxNames)
	}
	return e, err
}

// maxNames bounds what one field is made of, as each value of it is read and joined, and a request may bring a map of its own.
const maxNames = 32

func (e expression) names() (n int) {
	for _, s := range e {
		n += len(s)
	}
	return n
}

func parseSum(s string) (all sum, err error) {
	paths, err := cut(s, '+')
	for i := 0; i < len(paths) && err == nil; i++ {
		var parsed path
		parsed, err = parsePath(strings.TrimSpace(paths[i]))
		all = append(all, parsed)
	}
	return all, err
}

func parsePath(s string) (path, error) {
	names, err := cut(s, '.')
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		inner, quoted := unquoteName(name)
		switch {
		case inner == "" && !quoted:
			return nil, errNoName
		case !quoted && strings.IndexFunc(name, unicode.IsSpace) >= 0:
			return nil, fmt.Errorf(`%q: a space in a name: a + joins two (%%2B in an address), and a name that has a space `+
				`stands in quotes, as in text="Tweet text"`, s)
		case !quoted && strings.ContainsAny(name, `"=`):
			return nil, fmt.Errorf("%q: a name with one of \" and = in it stands in quotes", s)
		}
		names[i] = inner
	}
	return names, nil
}

// unquoteName is a name without its quotes.
func unquoteName(s string) (name string, quoted bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s, false
	}
	inner := s[1 : len(s)-1]
	if strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) {
		return s, false // a quoted name and something behind it
	}
	return strings.ReplaceAll(inner, `""`, `"`), true
}

// cut splits s at a separator that stands outside of quotes.
func cut(s string, separator byte) (parts []string, err error) {
	begin, quoted := 0, false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	if quoted {
		return nil, fmt.Errorf("%q: a quote that is not closed", s)
	}
	return append(parts, s[begin:]), nil
}

// QuotePath is the name of a column, or a path with dots, as a map has it, whatever else stands in it.
func QuotePath(name string) string { return path(strings.Split(name, ".")).String() }

// value is what a combination comes to: the first sum that is there and not empty. text is asked for the values of slots,
// and whether they are there. Of a value of the wrong kind it returns an error, which counts where nothing else is there.
func (c *combination) value(text func(Field, int) (string, bool, error)) (value string, there bool, err error) {
	for _, slots := range c.sums {
		joined, found, errSum := c.join(slots, text)
		if joined != "" {
			return joined, true, nil
		}
		there = there || found
		if err == nil {
			err = errSum
		}
	}
	if there {
		err = nil
	}
	return "", there, err
}

// join joins the values of slots. An id with a part missing would be that of other posts too: it is none.
func (c *combination) join(slots []int, text func(Field, int) (string, bool, error)) (joined string, there bool, err error) {
	for _, slot := range slots {
		part, found, errPart := text(c.field, slot)
		if err == nil {
			err = errPart
		}
		if part == "" && c.field == FieldID {
			return "", false, err
		}
		there = there || found
		if joined != "" && part != "" {
			joined += c.field.glue()
		}
		joined += part
	}
	return joined, there, err
}

// glue stands between the parts that a + joins.
func (f Field) glue() string {
	switch f {
	case FieldText:
		return "\n"
	case FieldCreatedAt:
		return " "
	}
	return "/"
}

// Slot returns the index, among the names of which fields are made, of the one that the feed calls name.
func (f *Fields) Slot(name string) (i int, ok bool) {
	i = slices.IndexFunc(f.orOwn().slots, func(p path) bool { return p.name() == name })
	return i, i >= 0
}

// SlotCount is how many names there are of which fields are made.
func (f *Fields) SlotCount() int { return len(f.orOwn().slots) }

// AnyOf reports whether names has one of which a field is made.
func (f *Fields) AnyOf(field Field, names map[string]bool) bool {
	return slices.ContainsFunc(f.orOwn().exprs[field], func(s sum) bool {
		return slices.ContainsFunc(s, func(p path) bool { return names[p.name()] })
	})
}

// Combine gives p the fields that are made of several cells of a table, by their index as Slot has it. An empty cell is
// none.
func (f *Fields) Combine(p *Post, cells []string) (note string, err error) {
	var notes []string
	for _, c := range f.orOwn().combined {
		value, _, _ := c.value(func(field Field, slot int) (string, bool, error) {
			if field != FieldText || !f.orOwn().html {
				return cells[slot], true, nil
			}
			text, converted := plainText(cells[slot])
			p.Converted = p.Converted || converted
			return text, true, nil
		})
		note, err := f.Set(p, c.field, strings.Clone(value))
		if err != nil {
			return "", err
		}
		notes = append(notes, note)
	}
	return JoinNotes(notes...), nil
}

// condition is what a record has to say to be a post.
type condition struct {
	path   path
	slot   int
	values []string
	absent bool // nothing may be there
}

// ErrNotPost says that a record is no post, and no mistake either: the feed has other records too. See WithOnly.
var ErrNotPost = errors.New("not a post")

// WithOnly is f for a feed that has other records too: those are posts that have one of the values at the path, as
// kind=commit or commit.operation=create|update, and nothing at one with an exclamation mark, as !delete. Of any other the
// error wraps ErrNotPost.
func (f *Fields) WithOnly(conditions []string) (*Fields, error) {
	limited := f.copy()
	limited.only = nil
	for _, c := range conditions {
		name, values, ok := strings.Cut(c, "=")
		name, absent := strings.CutPrefix(name, "!")
		p, err := parsePath(name)
		if ok == absent || err != nil {
			return nil, fmt.Errorf("%q: want PATH=VALUE|VALUE, or !PATH", c)
		}
		limited.only = append(limited.only, condition{path: p, values: strings.Split(values, "|"), absent: absent})
	}
	return limited, limited.plant()
}

// check reports which condition is not met.
func (f *Fields) check(text func(Field, int) (string, bool, error)) error {
	for _, c := range f.only {
		value, there, err := text(FieldID, c.slot)
		switch {
		case c.absent && (there || err != nil):
			return fmt.Errorf("%w: it has %s", ErrNotPost, c.path)
		case c.absent:
		case !there:
			return fmt.Errorf("%w: no %s", ErrNotPost, c.path)
		case !slices.Contains(c.values, value):
			return fmt.Errorf("%w: %s is %s", ErrNotPost, c.path, quoteShort(value))
		}
	}
	return nil
}
