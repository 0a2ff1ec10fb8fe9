package openapi

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

var marshalers = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()}

// Of is what encoding/json makes of a type. Types that write themselves are asked: one value with everything set and
// one with nothing show what is there always.
func Of(t reflect.Type) Shape {
	if slices.ContainsFunc(marshalers, reflect.PointerTo(t).Implements) {
		return written(t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return ofStruct(t)
	case reflect.Slice:
		items := Of(t.Elem())
		return Shape{Type: "array", Items: &items}
	case reflect.String:
		return Shape{Type: "string"}
	case reflect.Bool:
		return Shape{Type: "boolean"}
	case reflect.Float64:
		return Shape{Type: "number"}
	case reflect.Int, reflect.Int64:
		return Shape{Type: "integer"}
	}
	return Shape{Type: "Go's " + t.String()}
}

func ofStruct(t reflect.Type) Shape {
	o := Shape{Type: "object", Members: map[string]Member{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(o.Members, ofStruct(f.Type).Members)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		o.Members[name] = member(f.Type, strings.Split(options, ","))
	}
	return o
}

// member is a field. A pointer that is not left out when it is nil would be null.
func member(t reflect.Type, options []string) Member {
	left := slices.Contains(options, "omitzero") || slices.Contains(options, "omitempty") && t.Kind() != reflect.Struct
	if t.Kind() != reflect.Pointer {
		return Member{Shape: Of(t), Always: !left}
	}
	if !left {
		return Member{Shape: Shape{Type: "null or " + Of(t.Elem()).Type}, Always: true}
	}
	return Member{Shape: Of(t.Elem())}
}

// written is the shape of what a type writes of itself.
func written(t reflect.Type) Shape {
	full, empty := reflect.New(t), reflect.New(t)
	fill(full.Elem())
	var samples [2][]byte
	for i, v := range []reflect.Value{full, empty} {
		b, err := json.Marshal(v.Interface())
		if err != nil {
			return Shape{Type: err.Error()}
		}
		samples[i] = b
	}
	return OfJSON(samples[:]...)
}

// fill sets everything that can be set to something that is not zero.
func fill(v reflect.Value) {
	switch {
	case !v.CanSet():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case v.Kind() == reflect.String:
		v.SetString("{}") // JSON, for those that are written as they are
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(0.5)
	}
}
