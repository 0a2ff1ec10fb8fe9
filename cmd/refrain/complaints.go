package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"refrain/ingest"
	"refrain/internal/terminal"
	"refrain/internal/units"
)

// complaints prints what was rejected or changed: of one reason the first ten, and how many more there are.
type complaints struct {
	w io.Writer
	// letters takes all that is rejected; nil: nobody does.
	letters *ingest.DeadLetters
	failed  error    // of writing to it
	path    string   // where somebody else puts all that is rejected; "": nobody does
	order   []*alike // as they came
	kinds   map[string]*alike
}

// alike are complaints for one reason.
type alike struct {
	first string
	n     int
}

const (
	maxAlike = 10  // printed of one reason
	maxKinds = 100 // of reasons; what is beyond counts as one
)

func (m *Main) complaints() *complaints { return &complaints{w: m.Stderr, kinds: map[string]*alike{}} }

func (c *complaints) tell(b *ingest.Batch) {
	if c.letters != nil && len(b.Rejected) > 0 {
		c.failed = errors.Join(c.failed, c.letters.Write(b.Rejected))
	}
	for _, r := range b.Rejected {
		c.line(r.Location, r.Reason)
	}
	for _, n := range b.Notes {
		c.line(n.Location, "accepted: "+n.Text)
	}
}

func (c *complaints) line(location, reason string) {
	reason = terminal.Clean(reason) // it may name fields of the post, and quote it
	kind := kindOf(reason)
	if c.kinds[kind] == nil && len(c.kinds) >= maxKinds {
		kind = ""
	}
	a := c.kinds[kind]
	if a == nil {
		a = &alike{first: location + ": " + reason}
		c.kinds[kind] = a
		c.order = append(c.order, a)
	}
	if a.n++; a.n <= maxAlike {
		fmt.Fprintf(c.w, "%s: %s\n", location, reason)
	}
}

// end says what was not printed, and whether all of it was written.
func (c *complaints) end() error {
	untold := false
	for _, a := range c.order {
		if more := a.n - maxAlike; more > 0 {
			fmt.Fprintf(c.w, "and %s more like %s\n", units.Thousands(more), a.first)
			untold = true
		}
	}
	if _, err := os.Stat(c.path); err == nil && untold {
		fmt.Fprintf(c.w, "all that were refused are in %s\n", c.path)
	}
	return c.failed
}

// noPosts says why there may be not one post.
func (c *complaints) noPosts() error {
	for kind := range c.kinds {
		if strings.Contains(kind, "id: missing") || strings.Contains(kind, "text: missing") {
			return errOtherNames
		}
	}
	if len(c.order) == 0 {
		return errOtherPreset
	}
	return errNoPosts
}

// kindOf is a reason without the values in it: what stands in quotes, and digits.
func kindOf(reason string) string {
	var kind strings.Builder
	quoted, escaped := false, false
	for _, c := range reason {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && (c < '0' || c > '9'):
			kind.WriteRune(c)
		}
	}
	return kind.String()
}
