package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxNodes is how many values a file may have once its aliases are written out: a few short lines could stand for
// millions.
const maxNodes = 100_000

// expand returns a copy of a file in which every alias is written out: what is done to one value is not done to another.
func expand(file *yaml.Node) (*yaml.Node, error) {
	e := expander{left: maxNodes}
	return e.copy(file, nil)
}

type expander struct{ left int }

// copy copies a node. within are the anchors that it lies in.
func (e *expander) copy(n *yaml.Node, within []*yaml.Node) (*yaml.Node, error) {
	if e.left--; e.left < 0 {
		return nil, fmt.Errorf("line %d: the aliases stand for more than %d values", n.Line, maxNodes)
	}
	from := n
	if n.Kind == yaml.AliasNode {
		from = n.Alias
	}
	if slices.Contains(within, from) {
		return nil, fmt.Errorf("line %d: anchor '%s' value contains itself", n.Line, from.Anchor)
	}
	if from.Anchor != "" {
		within = append(slices.Clip(within), from)
	}
	out := *from
	out.Anchor, out.Content = "", nil
	for _, child := range from.Content {
		c, err := e.copy(child, within)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, c)
	}
	return &out, nil
}
