package followers

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

//go:embed testdata
var testdata embed.FS

// clients are those that are not ours.
var clients = map[string]func(t *testing.T, f *front){
	"Chromium":        func(t *testing.T, f *front) { chromium(t, f.URL+"/follow.html") },
	"the live page":   func(t *testing.T, f *front) { chromium(t, f.URL+"/") },
	"npm eventsource": func(t *testing.T, f *front) { node(t, f.URL) },
}

// chromium opens a page that asks nobody but this machine.
func chromium(t *testing.T, page string) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium (Debian: chromium)")
	}
	run(t, exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-background-timer-throttling",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0",
		"--user-data-dir="+t.TempDir(), page))
}

// node runs the client of the npm registry, in the last version that Node 18, Debian's, runs.
func node(t *testing.T, url string) {
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node (Debian: nodejs and npm)")
	}
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error",
		"eventsource@3.0.7")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install eventsource: %v: %s", err, out)
	}
	cmd := exec.Command(program, "testdata/follow.js", url, "8")
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	run(t, cmd)
}

// run starts a program that the end of the test ends, with all that it started.
func run(t *testing.T, cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended by itself
		_ = cmd.Wait()
	})
}
