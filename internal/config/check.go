package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"refrain/internal/units"
	"refrain/server"
)

// check names what is wrong in a file that the decoder does not see, or would cut short, and writes durations and sizes
// as the decoder reads them: it changes the nodes, of which none may stand in two places (see expand).
func check(file *yaml.Node, c *server.Config) []string {
	var f checker
	f.value(file, reflect.TypeOf(c).Elem(), "")
	return f.mistakes
}

type checker struct{ mistakes []string }

func (f *checker) complain(n *yaml.Node, format string, args ...any) {
	f.mistakes = append(f.mistakes, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
}

// value checks what stands for a setting of type t.
func (f *checker) value(n *yaml.Node, t reflect.Type, path string) {
	switch {
	case n.Kind == yaml.ScalarNode:
		f.scalar(n, t, strings.TrimSuffix(path, "."))
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Struct, n.Kind == yaml.MappingNode && t.Kind() == reflect.Slice,
		kinds[t.String()] != "":
		f.refuse(n, t, strings.TrimSuffix(path, "."))
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, child := range n.Content {
			f.value(child, t.Elem(), path)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		f.section(n, t, path)
	}
}

func (f *checker) section(n *yaml.Node, t reflect.Type, path string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			f.merged(value, t, path)
			continue
		}
		if field, ok := fieldOf(t, key.Value); ok {
			f.value(value, field.Type, path+key.Value+".")
		} else {
			f.complain(key, "%s%s is no setting", path, key.Value)
		}
	}
}

// merged checks what a section takes over from others: from one, or from a list of them.
func (f *checker) merged(n *yaml.Node, t reflect.Type, path string) {
	if n.Kind != yaml.SequenceNode {
		f.value(n, t, path)
		return
	}
	for _, section := range n.Content {
		f.value(section, t, path)
	}
}

// refuse names a value of another kind than the setting at path has, and takes it from the decoder.
func (f *checker) refuse(n *yaml.Node, t reflect.Type, path string) {
	value := ""
	if n.Kind == yaml.ScalarNode && isPlain(t.String()) {
		value = "`" + n.Value + "`: "
	}
	f.complain(n, "%s: %swant %s", path, value, wants(t.String()))
	*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: n.Line}
}

// scalarTags are those of a scalar that the decoder takes for a kind of value; others take any.
var scalarTags = map[reflect.Kind][]string{
	reflect.Int: {"!!int", "!!float"}, reflect.Float64: {"!!int", "!!float"}, reflect.Bool: {"!!bool"},
	reflect.Struct: {}, reflect.Slice: {},
}

func isScalarOf(n *yaml.Node, t reflect.Type) bool {
	tags, some := scalarTags[t.Kind()]
	return !some || slices.Contains(tags, n.ShortTag())
}

// scalar checks the value of the setting at path.
func (f *checker) scalar(n *yaml.Node, t reflect.Type, path string) {
	switch {
	case n.ShortTag() == "!!null": // nothing is said: the default stays
	case t == reflect.TypeFor[time.Duration]():
		d, err := units.ParseDuration(n.Value)
		f.rewrite(n, path, "!!str", d.String(), err)
	case t == reflect.TypeFor[server.Bytes]():
		b, err := units.ParseBytes(n.Value)
		f.rewrite(n, path, "!!int", strconv.FormatInt(b, 10), err)
	case !isScalarOf(n, t):
		f.refuse(n, t, path)
	case t.Kind() == reflect.Int && n.ShortTag() == "!!float": // the decoder would cut 0.5 to 0, which may mean "no limit"
		f.complain(n, "%s: `%s`: want a whole number", path, n.Value)
		n.Tag, n.Value = "!!int", "0" // or the decoder complains of some of them too
	}
}

func (f *checker) rewrite(n *yaml.Node, path, tag, value string, err error) {
	if err != nil {
		f.complain(n, "%s: %v", path, err)
	}
	n.Tag, n.Value, n.Style = tag, value, 0
}

// fieldOf is the field of a section that a key sets.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if options == "inline" {
			if f, ok := fieldOf(field.Type, key); ok {
				return f, true
			}
		} else if name == key && name != "-" {
			return field, true
		}
	}
	return reflect.StructField{}, false
}
