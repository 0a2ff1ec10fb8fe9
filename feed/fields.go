package feed

import (
	"fmt"
	"slices"
	"strings"
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

// String is our name of f: what JSON posts call it unless a map says otherwise.
func (f Field) String() string { return fieldNames[f] }

// Fields says under which names a feed keeps the fields of a post, and what of a post goes along into its events. A nil
// *Fields stands for our own names, and nothing goes along. It does not change once made, and is safe to share.
type Fields struct {
	paths [fieldCount]string
	root  node
	meta  []metaField
	link  linkTemplate
}

// node is one level of the feed's objects: the names that lead somewhere. They are few, so a slice is the
// quickest map.
type node []member

// member leads to a field, to one that goes to Meta, or, if it has children, further down. An object with children may go
// to Meta whole too.
type member struct {
	name      string
	field     Field
	metaIndex int // its number among the Meta fields, from 1; 0: it is none
	children  node
}

// isField reports whether m is a field of the post.
func (m *member) isField() bool { return m.metaIndex == 0 && m.children == nil }

// hasField reports whether m leads to a field of the post, and not only to Meta fields.
func (m *member) hasField() bool {
	return m.isField() || slices.ContainsFunc(m.children, func(c member) bool { return c.hasField() })
}

var ownNames = mustFields(fieldNames)

func mustFields(paths [fieldCount]string) *Fields {
	f, err := newFields(paths)
	if err != nil {
		panic(err)
	}
	return f
}

// ParseFields reads a map such as "text=body,id=uri,author=user.screen_name": our name, then theirs. A dot in
// their name leads into an object, or is part of a name where the object itself has such a one. Fields that
// the map leaves out keep our names. The empty map is no map.
func ParseFields(spec string) (*Fields, error) {
	paths := fieldNames
	var given [fieldCount]bool
	for pair := range strings.SplitSeq(spec, ",") {
		if strings.TrimSpace(spec) == "" {
			break
		}
		f, theirs, err := parsePair(pair)
		if err != nil {
			return nil, fmt.Errorf("field map %q: %w", spec, err)
		}
		if given[f] {
			return nil, fmt.Errorf("field map %q: %s is given twice", spec, f)
		}
		given[f], paths[f] = true, theirs
	}
	f, err := newFields(paths)
	if err != nil {
		return nil, fmt.Errorf("field map %q: %w", spec, err)
	}
	return f, nil
}

func parsePair(pair string) (Field, string, error) {
	ours, theirs, ok := strings.Cut(pair, "=")
	ours, theirs = strings.TrimSpace(ours), strings.TrimSpace(theirs)
	if !ok || theirs == "" || slices.Contains(strings.Split(theirs, "."), "") {
		return 0, "", fmt.Errorf("%q: want OURS=THEIRS", pair)
	}
	f := slices.Index(fieldNames[:], ours)
	if f < 0 && slices.Contains(fieldNames[:], theirs) {
		return 0, "", fmt.Errorf("%q is no field of a post, but %q is: want %s=%s", ours, theirs, theirs, ours)
	}
	if f < 0 {
		return 0, "", fmt.Errorf("%q is no field of a post: they are %s", ours, strings.Join(fieldNames[:], ", "))
	}
	return Field(f), theirs, nil
}

func newFields(paths [fieldCount]string) (*Fields, error) {
	root, err := rootOf(paths)
	if err != nil {
		return nil, err
	}
	return &Fields{paths: paths, root: root}, nil
}

// rootOf is the top level of the objects that paths lead through.
func rootOf(paths [fieldCount]string) (root node, err error) {
	for i, path := range paths {
		leaf := member{field: Field(i)}
		if err := root.add(leaf, strings.Split(path, ".")); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if strings.Contains(path, ".") {
			leaf.name = path
			root = append(root, leaf)
		}
	}
	return root, nil
}

// add puts a leaf at the end of a path.
func (n *node) add(leaf member, path []string) error {
	m := n.find([]byte(path[0]))
	switch {
	case m == nil && len(path) == 1:
		leaf.name = path[0]
		*n = append(*n, leaf)
		return nil
	case m == nil:
		*n = append(*n, member{name: path[0], children: node{}})
		m = &(*n)[len(*n)-1]
	case len(path) == 1 && leaf.metaIndex > 0 && m.children != nil:
		m.metaIndex = leaf.metaIndex // the object as a whole
		return nil
	case len(path) == 1 && m.isField():
		return fmt.Errorf("is %s already, and cannot be %s too (name another for one of them)", m.field, leaf.field)
	case m.isField() || len(path) == 1 && m.metaIndex == 0:
		return fmt.Errorf("%s cannot be a value and an object", path[0])
	case m.children == nil:
		m.children = node{} // it goes to Meta as a whole
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

// Path is the feed's name of a field: where tables with named columns look for it.
func (f *Fields) Path(field Field) string { return f.orOwn().paths[field] }

// Find returns the field that the feed calls path.
func (f *Fields) Find(path string) (Field, bool) {
	i := slices.Index(f.orOwn().paths[:], path)
	return Field(max(i, 0)), i >= 0
}

func (f *Fields) orOwn() *Fields {
	if f == nil {
		return ownNames
	}
	return f
}
