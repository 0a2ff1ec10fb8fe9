package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// OfJSON is the shape of samples of one kind. A member is there always when every sample has it, and a number is an
// integer when it is in all of them.
func OfJSON(samples ...[]byte) Shape {
	values := make([]any, len(samples))
	for i, b := range samples {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&values[i]); err != nil {
			return Shape{Type: err.Error()}
		}
	}
	return ofValues(values)
}

func ofValues(values []any) Shape {
	switch values[0].(type) {
	case string:
		return ofStrings(values)
	case json.Number:
		return ofNumbers(values)
	case bool:
		return Shape{Type: "boolean"}
	case []any:
		return ofArrays(values)
	case map[string]any:
		return ofObjects(values)
	}
	return Shape{Type: fmt.Sprintf("%T", values[0])}
}

func ofStrings(values []any) Shape {
	for _, v := range values {
		if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v)); err != nil {
			return Shape{Type: "string"}
		}
	}
	return Shape{Type: "date-time"}
}

func ofNumbers(values []any) Shape {
	if slices.ContainsFunc(values, func(v any) bool { return strings.ContainsAny(fmt.Sprint(v), ".eE") }) {
		return Shape{Type: "number"}
	}
	return Shape{Type: "integer"}
}

func ofArrays(values []any) Shape {
	var all []any
	for _, v := range values {
		elements, _ := v.([]any)
		all = append(all, elements...)
	}
	if len(all) == 0 {
		return Shape{Type: "array"}
	}
	items := ofValues(all)
	return Shape{Type: "array", Items: &items}
}

func ofObjects(values []any) Shape {
	members := map[string][]any{}
	for _, v := range values {
		object, _ := v.(map[string]any)
		for name, member := range object {
			members[name] = append(members[name], member)
		}
	}
	o := Shape{Type: "object", Members: map[string]Member{}}
	for name, found := range members {
		o.Members[name] = Member{Shape: ofValues(found), Always: len(found) == len(values)}
	}
	return o
}
