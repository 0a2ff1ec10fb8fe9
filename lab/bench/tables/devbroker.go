package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// devBroker is a broker of one node that deploy/dev has started: Kafka or NATS.
type devBroker struct {
	kind   string // kafka or nats
	script string
	folder string
	pid    int
	addr   string
}

// ErrNoBroker means that a broker is not installed.
var ErrNoBroker = errors.New("no broker (deploy/dev/install)")

// notInstalled is the exit status by which a script says so.
const notInstalled = 3

// NoBroker says why a table that starts brokers cannot be measured here.
func NoBroker() error {
	_, err := devScript("kafka")
	return err
}

// devScript is a script of deploy/dev in the working directory, or above it.
func devScript(name string) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for up := ""; up != folder; up, folder = folder, filepath.Dir(folder) {
		script := filepath.Join(folder, "deploy", "dev", name)
		if _, err := os.Stat(script); err == nil {
			return script, nil
		}
	}
	return "", errors.New("no deploy/dev here, whose scripts start brokers: run it in a checkout of the source")
}

// startBroker starts one with its data in a folder of its own. It is to be ended.
func startBroker(ctx context.Context, kind string) (*devBroker, error) {
	script, err := devScript(kind)
	if err != nil {
		return nil, err
	}
	b := &devBroker{kind: kind, script: script}
	if b.folder, err = os.MkdirTemp("", "refrain-bench-"); err != nil {
		return nil, err
	}
	if err := b.launch(ctx); err != nil {
		b.end()
		return nil, fmt.Errorf("start %s: %w", kind, err)
	}
	return b, nil
}

func (b *devBroker) launch(ctx context.Context) error {
	errs, err := os.Create(filepath.Join(b.folder, "stderr"))
	if err != nil {
		return err
	}
	defer errs.Close()
	cmd := exec.CommandContext(ctx, b.script, "start", b.folder)
	cmd.Stderr = errs // a file: the server holds the other end of a pipe
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(errs.Name())
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said))
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notInstalled {
			err = errors.Join(ErrNoBroker, err)
		}
		return err
	}
	addr, err1 := os.ReadFile(filepath.Join(b.folder, b.kind+".addr"))
	pid, err2 := os.ReadFile(filepath.Join(b.folder, b.kind+".pid"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	b.addr = strings.TrimSpace(string(addr))
	b.pid, err = strconv.Atoi(strings.TrimSpace(string(pid)))
	return err
}

// end stops the broker, and removes what it kept.
func (b *devBroker) end() {
	_ = exec.Command(b.script, "stop", b.folder).Run() // it may not run
	os.RemoveAll(b.folder)
}

// yaml is the setting of the topics.
func (b *devBroker) yaml() string {
	if b.kind == "nats" {
		return fmt.Sprintf("nats: {servers: [%q]}", b.addr)
	}
	return fmt.Sprintf("kafka: {brokers: [%q]}", b.addr)
}
