package memory

import (
	"os"
	"path/filepath"
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

// TestLimitOfAService: what systemd sets for a service or its slice stands in their folders, and not at the root.
func TestLimitOfAService(t *testing.T) {
	const place = "/system.slice/refrain.service"
	if got := groupPath("9:memory:/other\n0::" + place + "\n"); got != place {
		t.Fatalf("the group is %q, want %q", got, place)
	}
	for _, c := range []struct {
		slice, service string
		want           int64
	}{{"max", "max", 0}, {"max", "1000", 1000}, {"500", "1000", 500}, {"2000", "max", 2000}} {
		root := t.TempDir()
		mustLimit(t, filepath.Join(root, "system.slice"), c.slice)
		mustLimit(t, filepath.Join(root, place), c.service)
		if got := minLimit(root, place); got != c.want {
			t.Errorf("slice %s, service %s: limit %d, want %d", c.slice, c.service, got, c.want)
		}
	}
	if got := groupPath("4:memory:/only/version/1\n"); got != "/" {
		t.Errorf("without a version 2 group: %q", got)
	}
}

func mustLimit(t *testing.T, dir, limit string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "memory.max"), []byte(limit+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
