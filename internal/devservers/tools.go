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
	return tool(tb, "promtool")
}

// Helm is where helm is, likewise.
func Helm(tb testing.TB) string {
	tb.Helper()
	return tool(tb, "helm")
}

// Kubeconform is where kubeconform is, likewise.
func Kubeconform(tb testing.TB) string {
	tb.Helper()
	return tool(tb, "kubeconform")
}

// KubernetesSchemas is the directory of what kubeconform checks by: in it there is one for each version of Kubernetes.
func KubernetesSchemas(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(cache(), "kubernetes")
	if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
		tb.Skip("needs the schemas of Kubernetes: run deploy/dev/install: ", err)
	}
	return dir
}

func tool(tb testing.TB, name string) string {
	tb.Helper()
	for _, at := range []string{name, filepath.Join(cache(), "bin", name)} {
		if path, err := exec.LookPath(at); err == nil {
			return path
		}
	}
	tb.Skipf("needs %s: run deploy/dev/install", name)
	return ""
}

// cache is where deploy/dev/install puts what is no package.
func cache() string {
	if dir := os.Getenv("REFRAIN_DEV"); dir != "" {
		return dir
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "refrain-dev")
}
