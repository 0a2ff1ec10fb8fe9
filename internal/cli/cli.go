// Package cli runs a command line: what our commands share, whatever they do.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"refrain/internal/terminal"
)

// Main is a program without its process: tests run it as the binary does.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exit statuses. What a signal has ended before it was done exits with ExitSignal more than the signal's number, as shells
// have it: 130 after Ctrl-C.
const (
	ExitFailure = 1
	ExitUsage   = 2
	ExitSignal  = 128
)

// Exit runs a program as this process, until it ends or a signal has told it to. A second signal ends it at once.
func Exit(run func(ctx context.Context, args []string) int) {
	ctx, stop := context.WithCancel(context.Background())
	signals, told := make(chan os.Signal, 1), syscall.Signal(0)
	signal.Notify(signals, stopSignals()...)
	go func() {
		told = (<-signals).(syscall.Signal)
		signal.Stop(signals)
		stop()
	}()
	status := run(ctx, os.Args[1:])
	if ctx.Err() != nil && status == ExitFailure { // so told is known
		status = ExitSignal + int(told)
	}
	os.Exit(status)
}

// stopSignals are what ends a run in order. The end of the terminal is one, unless whoever started the program said
// that it should outlive it, as nohup does.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// Run runs one command line of the command that root makes, and returns the exit status: 0, ExitFailure, or ExitUsage
// where the line itself is wrong. A read of Stdin ends with the context.
func (m *Main) Run(ctx context.Context, args []string, root func() *cobra.Command) int {
	if m.Stdin != nil {
		m.Stdin = newStoppable(ctx, m.Stdin)
	}
	top := m.prepare(root())
	top.SetArgs(args)
	cmd, err := top.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(m.Stderr, "%s: %s\n", top.Name(), terminal.CleanLines(err.Error())) // it may quote what was read
	if wrong := (usageError{}); errors.As(err, &wrong) {
		fmt.Fprintf(m.Stderr, "See '%s --help'.\n", cmd.CommandPath())
		return ExitUsage
	}
	return ExitFailure
}

// prepare makes a command the root of a program: it says what is wrong with a command line by Usage, and shows its
// help where nothing is asked.
func (m *Main) prepare(root *cobra.Command) *cobra.Command {
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	root.Args = unknownCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return root
}
