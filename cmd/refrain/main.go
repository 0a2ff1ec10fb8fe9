// Command refrain watches feeds of posts and says which sentences repeat something seen before.
//
// One file a subcommand; this package is wiring: the list of what exists.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/internal/memory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	memory.Frugal()
	runtime.MemProfileRate = 0 // nobody asks for a profile of the heap, and its samples take a megabyte
	m := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(m.Run(ctx, os.Args[1:]))
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

// Main is the program without its process: tests run it as the binary does.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Run runs one command line and returns the exit status: 0, 1 for a failure, 2 for wrong usage.
func (m *Main) Run(ctx context.Context, args []string) int {
	if m.Stdin != nil {
		m.Stdin = newStoppable(ctx, m.Stdin)
	}
	root := m.command()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(m.Stderr, "refrain: %v\n", err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		fmt.Fprintf(m.Stderr, "See '%s --help'.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailure
}

func (m *Main) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "refrain",
		Short: "Say which sentences of a feed of posts repeat something seen before",
		Long: "Refrain watches feeds of posts and says at once which sentences of a new post repeat, or nearly repeat,\n" +
			"something seen in the last hours or days: where it was first, how often since, how similar.",
		Example:       "  refrain demo                        watch it at work on a made-up feed\n  refrain detect posts.jsonl          find the reuse in a file\n  refrain serve                       run the service on http://127.0.0.1:8080",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return usage("unknown command %q: did you mean %s?", args[0], near[0])
			}
			return usage("unknown command %q", args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(m.demo(), m.detect(), m.sentences(), m.explain(), m.match(), m.plan(), m.train(), m.model(), m.serve(), m.bench(), m.eval(), m.version())
	return root
}

// atMost is a check of the number of arguments that counts as wrong usage.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("unexpected argument %q: want %s", args[n], what)
		}
		return nil
	}
}

// flagError says what a flag wants instead of how its value is parsed.
func flagError(_ *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return usageError{err}
	}
	want := map[string]string{
		"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number",
		"duration": "a time such as 30s or 5m", "bool": "true or false",
		"intSlice": "whole numbers with commas between them", "stringSlice": "words with commas between them",
	}[wrong.GetFlag().Value.Type()]
	if want == "" {
		return usageError{err}
	}
	return usage("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), want)
}
