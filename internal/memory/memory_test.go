package memory

import (
	"runtime"
	"testing"
)

// TestTotal holds what is told against what the process itself shows: there is at least as much memory as it has
// taken from the system, and no machine has an exbibyte.
func TestTotal(t *testing.T) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	total := Total()
	if total < int64(m.Sys) || total > 1<<60 {
		t.Errorf("Total() = %d bytes; the process has taken %d", total, m.Sys)
	}
}

func TestTotalIsTheLesser(t *testing.T) {
	total := Total()
	if whole := machine(); total > whole {
		t.Errorf("Total() = %d, more than the machine's %d", total, whole)
	}
	if limit := group(); limit > 0 && total > limit {
		t.Errorf("Total() = %d, more than the control group's %d", total, limit)
	}
}

func TestRSS(t *testing.T) {
	if rss := RSS(); rss < 1<<20 || rss > 1<<34 {
		t.Errorf("RSS of this test is %d bytes", rss)
	}
}
