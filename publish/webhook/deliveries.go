package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Past reads the delivery log that a program has written.
type Past interface {
	// Backward calls visit for the lines, the last first, and where each stands, until visit returns false. It begins behind
	// the last line, or before the one that stands at after.
	Backward(after string, visit func(line []byte, at string) bool) error
}

// Page says which attempts are wanted: so many, before the one that the last page ended with, of one outcome or, with "", of all.
type Page struct {
	Limit   int
	After   string
	Outcome string
}

// Outcomes are what may come of an attempt.
var Outcomes = []string{attemptDelivered, attemptFailed, attemptDead}

// Deliveries returns attempts at deliveries to the endpoint, the latest first, and what the next page is after; "" when there is
// none.
func (e *Endpoint) Deliveries(p Page) (attempts []Attempt, next string, err error) {
	attempts = []Attempt{}
	if e.deps.Past == nil || p.Limit == 0 {
		return attempts, "", nil
	}
	name, _ := json.Marshal(e.Name) // a string
	mark := append([]byte(`"endpoint":`), name...)
	last := ""
	err = e.deps.Past.Backward(p.After, func(line []byte, at string) bool {
		var a Attempt
		if !bytes.Contains(line, mark) || json.Unmarshal(line, &a) != nil { // one that a crash has cut off is no line
			return true
		}
		if a.Endpoint != e.Name || p.Outcome != "" && a.Outcome != p.Outcome {
			return true
		}
		if len(attempts) == p.Limit {
			next = last
			return false
		}
		attempts, last = append(attempts, a), at
		return true
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the delivery log: %w", err)
	}
	return attempts, next, nil
}
