package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fractions names the settings of a file that want a whole number and have another: the decoder would cut 0.5 to 0, which
// may mean "no limit".
func fractions(n *yaml.Node, t reflect.Type) (wrong []string) {
	switch {
	case n.Kind == yaml.ScalarNode && t.Kind() == reflect.Int && n.ShortTag() == "!!float":
		return []string{fmt.Sprintf("line %d: `%s`: want a whole number", n.Line, n.Value)}
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice, n.Kind == yaml.DocumentNode:
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for _, child := range n.Content {
			wrong = append(wrong, fractions(child, t)...)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if f, ok := fieldOf(t, n.Content[i].Value); ok {
				wrong = append(wrong, fractions(n.Content[i+1], f.Type)...)
			}
		}
	}
	return wrong
}

// fieldOf is the field of a section that a key sets.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name == key {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}
