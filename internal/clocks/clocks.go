// Package clocks compares the clock of this process with that of another machine.
package clocks

import (
	"fmt"
	"time"
)

// Ahead is how far our clock is ahead of another one's, that much at least: something was sent, stamped there and received,
// at these times of ours, of the other one's, and of ours. 0: they may agree. Stamps may be cut to milliseconds.
func Ahead(sent, stamped, received time.Time) time.Duration {
	switch sent = sent.Truncate(time.Millisecond); {
	case stamped.Before(sent):
		return sent.Sub(stamped)
	case stamped.After(received):
		return received.Sub(stamped)
	}
	return 0
}

// SkewError says that our clock differs so much from the broker's that records are refused.
type SkewError struct{ Ahead, Limit time.Duration }

func (e *SkewError) Error() string {
	where := "ahead of"
	if e.Ahead < 0 {
		where = "behind"
	}
	return fmt.Sprintf("the clock of this machine is %v %s the broker's, %v is too much: nothing is accepted before it is set right",
		e.Ahead.Abs().Round(time.Millisecond), where, e.Limit)
}

// Check is a SkewError where a difference is too much.
func Check(ahead, limit time.Duration) error {
	if ahead.Abs() <= limit {
		return nil
	}
	return &SkewError{ahead, limit}
}
