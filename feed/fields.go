package feed

import (
	"fmt"
	"slices"
)

// Field is one of the fields of a post that Refrain knows.
type Field uint8

// The fields, in the order in which documentation and errors list them.
const (
	FieldID Field = iota
	FieldSource
	FieldAuthor
	FieldCreatedAt
	FieldLang
	FieldText
	fieldCount
)

var fieldNames = [fieldCount]string{"id", "source", "author", "created_at", "lang", "text"}

// needed reports whether every post has f.
func (f Field) needed() bool { return f == FieldID || f == FieldText }

// String is our name of f: what JSON posts call it unless a map says otherwise.
func (f Field) String() string { return fieldNames[f] }

// Fields says under which names a feed keeps the fields of a post, and what of a post goes along into its events. A nil
// *Fields stands for our own names, and nothing goes along. It does not change once made, and is safe to share.
type Fields struct {
	exprs    [fieldCount]expression
	root     node
	combined []combination
	slots    []path // the paths of which combined fields are made, each once
	meta     []metaField
	link     linkTemplate
	times    times
	html     bool // texts are markup
	only     []condition
	absent   []string   // texts that say that there is none
	idPrefix string     // before ids that are made of several values
	reposted expression // where the whole text of a repost is: see WithReposted
	repost   combination
}

// node is one level of the feed's objects: the names that lead somewhere. They are few, so a slice is the
// quickest map.
type node []member

// member leads to a field, to a slot, to one that goes to Meta, or, if it has children, further down. An object with
// children may go to Meta whole too, and a value that is an object in some posts and a string in others to a slot.
type member struct {
	name      string
	field     Field
	slot      int // its number among the slots, from 1; 0: it is none
	metaIndex int // its number among the Meta fields, from 1; 0: it is none
	children  node
}

// isField reports whether m is a field of the post.
func (m *member) isField() bool { return m.metaIndex == 0 && m.slot == 0 && m.children == nil }

// hasField reports whether m leads to a field of the post, and not only to slots and Meta fields.
func (m *member) hasField() bool {
	return m.isField() || slices.ContainsFunc(m.children, func(c member) bool { return c.hasField() })
}

var ownNames = mustFields(ownExpressions())

func ownExpressions() (exprs [fieldCount]expression) {
	for f, name := range fieldNames {
		exprs[f] = expression{sum{path{name}}}
	}
	return exprs
}

func mustFields(exprs [fieldCount]expression) *Fields {
	f, err := newFields(exprs)
	if err != nil {
		panic(err)
	}
	return f
}

// newFields puts all paths into one tree, so that a post is gone through once.
func newFields(exprs [fieldCount]expression) (*Fields, error) {
	f := &Fields{exprs: exprs}
	return f, f.plant()
}

// plant makes the tree of the paths of the fields.
func (f *Fields) plant() error {
	f.root, f.combined, f.slots = nil, nil, nil
	for i := range f.only {
		var err error
		if f.only[i].slot, err = f.slot(f.only[i].path); err != nil {
			return err
		}
	}
	for i, e := range f.exprs {
		if len(e) == 0 {
			continue
		}
		if e.isPlain() && !f.isCombined(e[0][0]) {
			if err := f.root.addPath(member{field: Field(i)}, e[0][0]); err != nil {
				return err
			}
			continue
		}
		c, err := f.combine(Field(i), e)
		if err != nil {
			return err
		}
		f.combined = append(f.combined, c)
	}
	var err error
	f.repost, err = f.combine(FieldText, f.reposted)
	return err
}

// isCombined reports whether a path is one of several that a field is made of.
func (f *Fields) isCombined(p path) bool {
	if slices.ContainsFunc(f.only, func(c condition) bool { return p.equal(c.path) }) {
		return true
	}
	return f.reposted.has(p) ||
		slices.ContainsFunc(f.exprs[:], func(e expression) bool { return !e.isPlain() && e.has(p) })
}

// combine gives each path of an expression a slot.
func (f *Fields) combine(field Field, e expression) (combination, error) {
	c := combination{field: field, sums: make([][]int, len(e))}
	for i, s := range e {
		for _, p := range s {
			slot, err := f.slot(p)
			if err != nil {
				return c, err
			}
			c.sums[i] = append(c.sums[i], slot)
		}
	}
	return c, nil
}

// slot is the index of the slot of a path.
func (f *Fields) slot(p path) (int, error) {
	if i := slices.IndexFunc(f.slots, p.equal); i >= 0 {
		return i, nil
	}
	f.slots = append(f.slots, p)
	return len(f.slots) - 1, f.root.addPath(member{slot: len(f.slots)}, p)
}

// addPath puts a leaf at the end of a path, and under its whole name, dots included.
func (n *node) addPath(leaf member, p path) error {
	if err := n.add(leaf, p); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	if len(p) > 1 {
		leaf.name = p.name()
		*n = append(*n, leaf)
	}
	return nil
}

// add puts a leaf at the end of a path.
func (n *node) add(leaf member, path []string) error {
	m, last := n.find([]byte(path[0])), len(path) == 1
	switch {
	case m == nil && last:
		leaf.name = path[0]
		*n = append(*n, leaf)
		return nil
	case m == nil:
		*n = append(*n, member{name: path[0], children: node{}})
		m = &(*n)[len(*n)-1]
	case last && leaf.metaIndex > 0 && !m.isField():
		m.metaIndex = leaf.metaIndex // the object as a whole, or what a field is made of besides
		return nil
	case last && leaf.slot > 0 && !m.isField():
		m.slot = leaf.slot // where it is no object
		return nil
	case last && m.isField():
		return fmt.Errorf("is %s already, and cannot be %s too (name another for one of them)", m.field, leaf.field)
	case m.isField() || last && m.metaIndex == 0:
		return fmt.Errorf("%s cannot be a value and an object", path[0])
	case m.children == nil:
		m.children = node{} // it goes to Meta or a slot as a whole
	}
	return m.children.add(leaf, path[1:])
}

// find returns the member called name, or nil.
func (n node) find(name []byte) *member {
	for i := range n {
		if n[i].name == string(name) {
			return &n[i]
		}
	}
	return nil
}

// Path is the feed's name of a field: where tables with named columns look for it; or the expression of several names.
func (f *Fields) Path(field Field) string {
	e := f.orOwn().exprs[field]
	if e.isPlain() {
		return e[0][0].name()
	}
	return e.String()
}

// Find returns the field that the feed calls name, of those that are not made of several.
func (f *Fields) Find(name string) (Field, bool) {
	i := slices.IndexFunc(f.orOwn().exprs[:], func(e expression) bool { return e.isPlain() && e[0][0].name() == name })
	return Field(max(i, 0)), i >= 0 && !f.orOwn().isCombined(f.orOwn().exprs[i][0][0])
}

func (f *Fields) orOwn() *Fields {
	if f == nil {
		return ownNames
	}
	return f
}
