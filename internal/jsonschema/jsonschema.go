// Package jsonschema holds values to JSON Schemas (draft 2020-12), for the tests of those who send them: the part of it that
// the descriptions of the API and of the events use. A keyword that it does not know is an error, so that none is passed over.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"refrain/internal/check"
)

// Files are documents that hold schemas, by name: what encoding/json makes of JSON.
type Files map[string]any

// Add reads a document in JSON or YAML.
func (f Files) Add(name string, document []byte) error {
	var v any
	if err := yaml.Unmarshal(document, &v); err != nil { // JSON is YAML
		return fmt.Errorf("jsonschema: %s: %w", name, err)
	}
	b, err := json.Marshal(v) // numbers as encoding/json has them
	if err != nil {
		return fmt.Errorf("jsonschema: %s: %w", name, err)
	}
	f[name] = nil
	var plain any
	err = json.Unmarshal(b, &plain)
	f[name] = plain
	return err
}

// Check says in which ways some JSON is not what a schema wants, a line each; none: it is. ref names the schema, as
// openapi.yaml#/components/schemas/Event.
func (f Files) Check(ref string, data []byte) []string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return []string{err.Error()}
	}
	return f.refer(place{}, ref, v)
}

// place is where a schema stands, and where in the value it is applied.
type place struct{ file, at string }

func (p place) in(name string) place { return place{p.file, p.at + "/" + name} }

func (f Files) refer(p place, ref string, v any) []string {
	file, pointer, _ := strings.Cut(ref, "#")
	if file != "" {
		p.file = path.Join(path.Dir(p.file), file)
	}
	s := f[p.file]
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if object, ok := s.(map[string]any); ok && part != "" {
			s = object[part]
		}
	}
	if schema, ok := s.(map[string]any); ok {
		return f.check(p, schema, v)
	}
	return []string{fmt.Sprintf("%s: there is no schema %s", p.at, ref)}
}

// keyword says in which ways a value is not what a keyword of a schema wants.
type keyword func(f Files, p place, schema map[string]any, want, v any) []string

var keywords map[string]keyword

func init() { // they call each other
	keywords = map[string]keyword{
		"$ref": func(f Files, p place, _ map[string]any, want, v any) []string { return f.refer(p, want.(string), v) },
		"type": checkType, "required": checkRequired, "properties": checkProperties, "items": checkItems,
		"additionalProperties": checkAdditional, "oneOf": checkOneOf, "allOf": checkAllOf, "format": checkFormat,
		"const": test(func(want, v any) bool { return reflect.DeepEqual(want, v) }),
		"enum": test(func(want, v any) bool {
			return slices.ContainsFunc(want.([]any), func(w any) bool { return reflect.DeepEqual(w, v) })
		}),
		"pattern":          of(func(want any, v string) bool { return pattern(want.(string)).MatchString(v) }),
		"minLength":        of(func(want any, v string) bool { return float64(utf8.RuneCountInString(v)) >= want.(float64) }),
		"maxLength":        of(func(want any, v string) bool { return float64(utf8.RuneCountInString(v)) <= want.(float64) }),
		"minItems":         of(func(want any, v []any) bool { return float64(len(v)) >= want.(float64) }),
		"maxItems":         of(func(want any, v []any) bool { return float64(len(v)) <= want.(float64) }),
		"minimum":          of(func(want any, v float64) bool { return v >= want.(float64) }),
		"maximum":          of(func(want any, v float64) bool { return v <= want.(float64) }),
		"exclusiveMinimum": of(func(want any, v float64) bool { return v > want.(float64) }),
	}
	for _, note := range []string{"$schema", "$defs", "$id", "title", "description", "examples", "default", "discriminator"} {
		keywords[note] = test(func(_, _ any) bool { return true })
	}
}

func (f Files) check(p place, schema map[string]any, v any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		k := keywords[name]
		if k == nil {
			lines = append(lines, fmt.Sprintf("%s: this program does not know the keyword %s", p.at, name))
			continue
		}
		lines = append(lines, k(f, p, schema, schema[name], v)...)
	}
	return lines
}

// test makes a keyword of a condition.
func test(holds func(want, v any) bool) keyword {
	return func(_ Files, p place, _ map[string]any, want, v any) []string {
		if holds(want, v) {
			return nil
		}
		return []string{fmt.Sprintf("%s: %.100v, want %v", p.at, v, want)}
	}
}

// of makes a keyword of a condition that holds for values of other types.
func of[T any](holds func(want any, v T) bool) keyword {
	return test(func(want, v any) bool {
		typed, ok := v.(T)
		return !ok || holds(want, typed)
	})
}

// pattern is a regular expression of ECMAScript, as far as it differs from Go's here.
func pattern(s string) *regexp.Regexp {
	return regexp.MustCompile(regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`).ReplaceAllString(s, `\x{$1}`))
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func checkType(_ Files, p place, _ map[string]any, want, v any) []string {
	types, ok := want.([]any)
	if !ok {
		types = []any{want}
	}
	got := typeOf(v)
	if slices.Contains(types, any(got)) || got == "integer" && slices.Contains(types, any("number")) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, want %v", p.at, got, want)}
}

func checkRequired(_ Files, p place, _ map[string]any, want, v any) (lines []string) {
	object, _ := v.(map[string]any)
	for _, name := range want.([]any) {
		if _, ok := object[name.(string)]; !ok && object != nil {
			lines = append(lines, fmt.Sprintf("%s: %s is missing", p.at, name))
		}
	}
	return lines
}

func checkProperties(f Files, p place, _ map[string]any, want, v any) (lines []string) {
	object, _ := v.(map[string]any)
	for name, schema := range want.(map[string]any) {
		if member, ok := object[name]; ok {
			lines = append(lines, f.check(p.in(name), schema.(map[string]any), member)...)
		}
	}
	return lines
}

// checkAdditional knows false alone.
func checkAdditional(_ Files, p place, schema map[string]any, want, v any) (lines []string) {
	object, _ := v.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for name := range object {
		if _, ok := properties[name]; !ok && want == false {
			lines = append(lines, fmt.Sprintf("%s: %s is not described", p.at, name))
		}
	}
	return lines
}

func checkItems(f Files, p place, _ map[string]any, want, v any) (lines []string) {
	array, _ := v.([]any)
	for i, item := range array {
		lines = append(lines, f.check(p.in(fmt.Sprint(i)), want.(map[string]any), item)...)
	}
	return lines
}

func checkAllOf(f Files, p place, _ map[string]any, want, v any) (lines []string) {
	for _, schema := range want.([]any) {
		lines = append(lines, f.check(p, schema.(map[string]any), v)...)
	}
	return lines
}

func checkOneOf(f Files, p place, _ map[string]any, want, v any) []string {
	var wrong []string
	fits := 0
	for _, schema := range want.([]any) {
		if lines := f.check(p, schema.(map[string]any), v); len(lines) > 0 {
			wrong = append(wrong, lines...)
			continue
		}
		fits++
	}
	if fits == 1 {
		return nil
	}
	return append([]string{fmt.Sprintf("%s: fits %d of the schemas of oneOf", p.at, fits)}, wrong...)
}

var formats = map[string]func(string) bool{
	"date-time": func(s string) bool {
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	},
	"uri": func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && check.IsURIReference(s)
	},
	"uri-reference": check.IsURIReference,
	"double":        func(string) bool { return false }, // of a number, all that JSON has are read as one
}

func checkFormat(_ Files, p place, _ map[string]any, want, v any) []string {
	s, isString := v.(string)
	if holds := formats[want.(string)]; holds == nil || isString && !holds(s) {
		return []string{fmt.Sprintf("%s: %.100v, want the format %s", p.at, v, want)}
	}
	return nil
}
