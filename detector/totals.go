package detector

import (
	"math"
	"time"
)

// Totals add up windows.
type Totals struct {
	Groups, Occurrences int
	Bytes               int64
	Forced              int64 // texts that the budget dropped before their time
	ForcedOccurrences   int64 // and occurrences, of texts that stayed
	Late, Truncated     int64 // see Counts
	Candidates, Similar int64
	Span                time.Duration // how far back all of them reach
}

// Total adds up windows as they were a moment ago. Any goroutine may ask.
func Total(partitions []*Partition) Totals {
	t := Totals{Span: math.MaxInt64}
	for _, p := range partitions {
		v := p.View()
		t.Groups += v.Window.Groups
		t.Occurrences += v.Window.Occurrences
		t.Bytes += v.Window.Bytes
		t.Forced += v.Window.Counts.Forced
		t.ForcedOccurrences += v.Window.Counts.ForcedOccurrences
		t.Late += v.Counts.Late
		t.Truncated += v.Counts.Truncated
		t.Candidates += v.Counts.Candidates
		t.Similar += v.Counts.Similar
		t.Span = min(t.Span, v.Window.Span)
	}
	return t
}
