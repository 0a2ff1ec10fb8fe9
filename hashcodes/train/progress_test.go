package train

import (
	"fmt"
	"regexp"
	"testing"
	"time"
)

// TestProgressFitsALine of a terminal of 80 columns, the last of which stays empty, late in a long run.
func TestProgressFitsALine(t *testing.T) {
	var line string
	p := progress{
		logf:  func(format string, args ...any) { line = fmt.Sprintf(format, args...) },
		start: time.Now().Add(-time.Hour), rounds: 21, done: 10, minCost: 0.0296,
	}
	p.round(Cost{Queries: 2000, False: 77})
	want := regexp.MustCompile(`^round 11 of 21, about 54m\d\ds left: 0\.0385 false candidates a query, best 0\.0296$`)
	if !want.MatchString(line) || len(line) > 79 {
		t.Errorf("%d columns: %s; want %s", len(line), line, want)
	}
}
