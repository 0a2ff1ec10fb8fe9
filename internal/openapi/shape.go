package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shape is what some JSON may look like.
type Shape struct {
	Type    string // as in a schema; date-time for a string of that format
	Items   *Shape // of an array
	Members map[string]Member
}

// Member is one of an object.
type Member struct {
	Shape  Shape
	Always bool
}

// Shape is what a schema describes. What it does not understand it names in Type, so that it equals nothing else.
func (d *Document) Shape(s *Schema) Shape {
	switch name, isRef := strings.CutPrefix(s.Ref, "#/components/schemas/"); {
	case isRef && d.Components.Schemas[name] != nil:
		return d.Shape(d.Components.Schemas[name])
	case s.AllOf != nil:
		return d.all(s.AllOf)
	case s.Const != nil:
		return Shape{Type: fmt.Sprintf("%T", s.Const)}
	case s.Type == "array" && s.Items != nil:
		items := d.Shape(s.Items)
		return Shape{Type: "array", Items: &items}
	case s.Type == "object":
		return d.object(s)
	case s.Type == "string" && s.Format == "date-time":
		return Shape{Type: s.Format}
	}
	return Shape{Type: fmt.Sprint(s.Type, s.Ref)}
}

func (d *Document) object(s *Schema) Shape {
	o := Shape{Type: "object", Members: map[string]Member{}}
	for name, p := range s.Properties {
		o.Members[name] = Member{Shape: d.Shape(p), Always: slices.Contains(s.Required, name)}
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			o.Members[name] = Member{Shape: Shape{Type: "required, and not among the properties"}, Always: true}
		}
	}
	return o
}

func (d *Document) all(parts []*Schema) Shape {
	o := Shape{Type: "object", Members: map[string]Member{}}
	for _, part := range parts {
		maps.Copy(o.Members, d.Shape(part).Members)
	}
	return o
}
