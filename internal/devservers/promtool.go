package devservers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Promtool is where Prometheus' promtool is: the one in PATH, or the one that deploy/dev/install got.
func Promtool(tb testing.TB) string {
	tb.Helper()
	cache := os.Getenv("REFRAIN_DEV")
	if user, err := os.UserCacheDir(); cache == "" && err == nil {
		cache = filepath.Join(user, "refrain-dev")
	}
	for _, name := range []string{"promtool", filepath.Join(cache, "bin", "promtool")} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Skip("needs promtool: run deploy/dev/install")
	return ""
}
