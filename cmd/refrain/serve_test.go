package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// serveArgs run the service on the process's own address and directory.
func serveArgs(p *e2e.Process) []string {
	return []string{"serve", "--data", p.Dir, "--http", p.Address}
}

// TestServeHelp: what has no flag is named by its key.
func TestServeHelp(t *testing.T) {
	var help bytes.Buffer
	m := Main{Stdout: &help, Stderr: &help}
	status := m.Run(t.Context(), []string{"serve", "--help"})
	for _, key := range []string{"window.engine (auto, prefix, scan or cuda)", "window.texts", "deploy/refrain.yaml"} {
		if status != 0 || !strings.Contains(help.String(), key) {
			t.Errorf("status %d, %q is not in the help:\n%s", status, key, &help)
		}
	}
}

// TestServeSaysWhatIsWrong: each mistake at start ends at once with an error that names it.
func TestServeSaysWhatIsWrong(t *testing.T) {
	p := e2e.NewProgram(t, runMain+"=1", serveArgs)
	p.Start()
	dir := t.TempDir()
	unknown := filepath.Join(dir, "unknown.yaml")
	if err := os.WriteFile(unknown, []byte("window:\n  treshold: 0.8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := e2e.NewProgram(t, runMain+"=1", serveArgs)
	made.Start()
	if err := made.Kill(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--data", made.Dir, "--http", "127.0.0.1:0", "--min-tokens", "7"}, 2, "cannot go on with 7"},
		{[]string{"--data", dir, "--http", p.Address}, 1, "address already in use"},
		{[]string{"--data", p.Dir, "--http", "127.0.0.1:0"}, 1, "in use by process " + strconv.Itoa(p.Cmd.Process.Pid)},
		{[]string{"--config", unknown}, 2, "treshold"},
		{[]string{"--bogus"}, 2, "--bogus"},
		{[]string{"stray"}, 2, `"stray"`},
	} {
		var out bytes.Buffer
		m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
		status := m.Run(context.Background(), append([]string{"serve"}, c.args...))
		if status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("serve %q: status %d, want %d with %q:\n%s", c.args, status, c.status, c.want, out.String())
		}
	}
}

// TestServeStopsInTime: SIGTERM ends the process with status 0, and a restart goes on with everything.
func TestServeStopsInTime(t *testing.T) {
	p := e2e.NewProgram(t, runMain+"=1", serveArgs)
	p.Start()
	one := []byte(`{"id":"1","text":"A sentence that will be said again soon."}` + "\n")
	two := []byte(`{"id":"2","text":"A sentence that will be said again soon."}` + "\n")
	if _, err := p.Post([][]byte{one}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := p.Kill(syscall.SIGTERM); err != nil {
		t.Fatalf("SIGTERM: %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("SIGTERM took %v", took)
	}
	p.Start()
	if _, err := p.Post([][]byte{two}); err != nil {
		t.Fatal(err)
	}
	if n := len(p.Events()); n != 1 {
		t.Errorf("%d events after the restart, want 1", n)
	}
	if log := p.Log.String(); !strings.Contains(log, `"msg":"serving"`) || !strings.Contains(log, `"engine":"auto"`) {
		t.Error("the log does not say which engine serves")
	}
}
