package tables

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// child is a run of a binary as a process of its own.
type child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	err    error
	ended  chan struct{} // closed when err is there

	peak    int64 // of its memory, in bytes, as of the last look
	watched chan struct{}
}

// start runs a binary; its standard output goes to out, or nowhere if out is nil. When the context ends it is asked to
// end too.
func start(ctx context.Context, out *os.File, binary string, args ...string) (*child, error) {
	p := &child{cmd: exec.CommandContext(ctx, binary, args...), ended: make(chan struct{}), watched: make(chan struct{})}
	if out != nil {
		p.cmd.Stdout = out
	}
	p.cmd.Stderr = &p.stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 20 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	go p.watch()
	return p, nil
}

// watch looks at the memory that the process has had at most. What the system tells when it has ended would not do: a
// child is born with its parent's memory, and keeps that as its peak.
func (p *child) watch() {
	defer close(p.watched)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
			p.peak = max(p.peak, inStatus(p.cmd.Process.Pid, "VmHWM"))
		}
	}
}

// inStatus is a quantity of memory of a process in bytes; 0 where the system does not tell.
func inStatus(pid int, name string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, name+": %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}

// wait waits for its end.
func (p *child) wait() error {
	<-p.ended
	<-p.watched
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", strings.Join(p.cmd.Args[1:], " "), p.err, lastLines(p.stderr.String(), 5))
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// run is start and wait, of refrain.
func (c *Config) run(ctx context.Context, args ...string) (*child, error) {
	p, err := start(ctx, nil, c.Refrain, args...)
	if err != nil {
		return nil, err
	}
	err = p.wait()
	if stopped := interrupted(ctx); stopped != nil {
		return nil, stopped
	}
	return p, err
}
