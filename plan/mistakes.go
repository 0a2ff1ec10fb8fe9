package plan

import (
	"errors"
	"fmt"
	"strings"
)

// Mistake is a quantity that makes no sense.
type Mistake struct {
	Field string // of Feed or Machine
	Value any
	Want  string
}

// Mistakes are all quantities that make no sense.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	var lines []string
	for _, x := range m {
		lines = append(lines, fmt.Sprintf("%s %v: want %s", x.Field, x.Value, x.Want))
	}
	return strings.Join(lines, "\n")
}

// want notes a mistake, unless all is well.
func (m *Mistakes) want(ok bool, field string, value any, want string) {
	if !ok {
		*m = append(*m, Mistake{field, value, want})
	}
}

// ErrTooLarge is the error for a feed that no number of workers does.
var ErrTooLarge = errors.New("no grid of workers does it: shorten the span, raise the threshold or take larger machines")
