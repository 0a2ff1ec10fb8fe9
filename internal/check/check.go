// Package check says what cannot be in a configuration.
//
// Each function is nil or an error that names one field. Joined with errors.Join they report everything at once:
//
//	errors.Join(check.AtLeast(1, "queue", c.Queue), check.Positive("timeout", c.Timeout))
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AtLeast wants a value that is not below minimum.
func AtLeast[T cmp.Ordered](minimum T, name string, value T) error {
	if value >= minimum {
		return nil
	}
	return fmt.Errorf("%s: %v, want %v or more", name, value, minimum)
}

// Positive wants a time above 0.
func Positive(name string, value time.Duration) error {
	if value > 0 {
		return nil
	}
	return fmt.Errorf("%s: %v, want a time above 0", name, value)
}

// Set wants something that nothing else can stand for.
func Set(name string, set bool) error {
	if set {
		return nil
	}
	return fmt.Errorf("%s is not set", name)
}

// OneOf wants one of some names.
func OneOf(name, value string, names ...string) error {
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("%s %q: want %s", name, value, strings.Join(names, " or "))
}
