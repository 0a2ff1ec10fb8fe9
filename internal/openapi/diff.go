package openapi

import (
	"fmt"
	"maps"
	"slices"
)

// Diff says in which ways what is answered differs from its description, a line each; none: they are equal.
func Diff(described, answered Shape) []string { return diff("", described, answered) }

func diff(at string, described, answered Shape) (lines []string) {
	switch {
	case described.Type != answered.Type:
		return []string{fmt.Sprintf("%s: described as %s, answered as %s", at, described.Type, answered.Type)}
	case described.Items != nil && answered.Items != nil:
		return diff(at+"[]", *described.Items, *answered.Items)
	case described.Items != answered.Items:
		return []string{at + ": what is in the array is known of one side only"}
	}
	for _, name := range union(described.Members, answered.Members) {
		d, isDescribed := described.Members[name]
		a, isAnswered := answered.Members[name]
		path := at + "." + name
		switch {
		case !isAnswered:
			lines = append(lines, path+": described, and not answered")
		case !isDescribed:
			lines = append(lines, path+": answered, and not described")
		case d.Always != a.Always:
			lines = append(lines, fmt.Sprintf("%s: required: %v, always there: %v", path, d.Always, a.Always))
		default:
			lines = append(lines, diff(path, d.Shape, a.Shape)...)
		}
	}
	return lines
}

// union is the names of both, sorted.
func union(a, b map[string]Member) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
