package outages

import (
	"testing"

	"refrain/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }

// skipUnlessFull leaves out what takes minutes of waiting; ./test all runs it.
func skipUnlessFull(t *testing.T) {
	t.Helper()
	if !*e2e.Full {
		t.Skip("minutes: runs with -full")
	}
}
