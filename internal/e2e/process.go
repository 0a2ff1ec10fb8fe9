// Package e2e has what tests from outside need: a server as a process that can be killed, a client for it, and what
// detect says of the same posts.
package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Process is a server as a process of its own, which can be killed.
type Process struct {
	TB      testing.TB
	Dir     string // its data
	Address string
	Args    []string // of the program; Main takes none
	Env     []string // settings, as REFRAIN_WINDOW_SPAN=7d
	Token   string   // that metrics are asked for with; "": the server wants none
	Log     lockedBuffer
	Cmd     *exec.Cmd // nil: it does not run

	ended chan struct{} // closed when Cmd has ended, with err
	err   error
}

// New makes a server of the package's test binary, which must call Main. settings are environment variables.
func New(tb testing.TB, settings ...string) *Process {
	p := &Process{TB: tb, Dir: tb.TempDir(), Address: FreeAddress(tb)}
	p.Env = append([]string{asServer + "=1", "REFRAIN_DATA_DIR=" + p.Dir, "REFRAIN_HTTP=" + p.Address}, settings...)
	tb.Cleanup(p.cleanUp)
	return p
}

// NewProgram makes a process of the package's test binary with arguments. It is not started.
func NewProgram(tb testing.TB, env string, args func(p *Process) []string) *Process {
	p := &Process{TB: tb, Dir: tb.TempDir(), Address: FreeAddress(tb), Env: []string{env}}
	p.Args = args(p)
	tb.Cleanup(p.cleanUp)
	return p
}

func (p *Process) cleanUp() {
	if p.Cmd != nil {
		_ = p.Kill(syscall.SIGKILL)
	}
	if p.TB.Failed() {
		p.TB.Logf("log of the server:\n%s", p.Log.String())
	}
}

// FreeAddress looks below the ports that outgoing connections take: none of those may take it before it is used.
func FreeAddress(tb testing.TB) string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close() // it was only to see whether the port is free
			return address
		}
		if tb.Context().Err() != nil {
			tb.Fatal("no free port")
		}
	}
}

// Start returns when the server is ready.
func (p *Process) Start() {
	p.TB.Helper()
	p.Launch()
	p.AwaitReady(30 * time.Second)
}

// Launch returns when the process runs.
func (p *Process) Launch() {
	p.TB.Helper()
	p.Cmd = exec.Command(os.Args[0], p.Args...)
	p.Cmd.Env = append(os.Environ(), p.Env...)
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Log, &p.Log
	if err := p.Cmd.Start(); err != nil {
		p.TB.Fatal(err)
	}
	ended, cmd := make(chan struct{}), p.Cmd
	p.ended = ended
	go func() { // it ends with the process; only one may Wait: of two, one can hang for ever
		p.err = cmd.Wait()
		close(ended)
	}()
}

// AwaitReady returns when the server is ready.
func (p *Process) AwaitReady(limit time.Duration) {
	p.TB.Helper()
	p.Await(limit, "readiness", func() bool {
		if p.hasEnded() {
			p.TB.Fatalf("the server has ended by itself; log:\n%s", p.Log.String())
		}
		resp, err := http.Get(p.URL("/readyz"))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// hasEnded reports whether it is gone though nobody has killed it.
func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// AwaitEnd waits until it has ended by itself, and says with what. Where it does not end in that time it is killed, and ok is false.
func (p *Process) AwaitEnd(limit time.Duration) (err error, ok bool) {
	select {
	case <-p.ended:
		p.Cmd = nil
		return p.err, true
	case <-time.After(limit):
		return p.Kill(syscall.SIGKILL), false
	}
}

// Await polls a condition that another process brings about.
func (p *Process) Await(limit time.Duration, what string, ok func() bool) {
	p.TB.Helper()
	for begin := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > limit {
			p.TB.Fatalf("no %s in %v; log:\n%s", what, limit, p.Log.String())
		}
	}
}

// URL is where a path of the API is.
func (p *Process) URL(path string) string { return "http://" + p.Address + path }

// Kill sends a signal and waits for the end.
func (p *Process) Kill(s syscall.Signal) error {
	_ = p.Cmd.Process.Signal(s) // it may have ended by itself
	<-p.ended
	p.Cmd = nil
	return p.err
}
