// Command refrain watches feeds of posts and says which sentences repeat something seen before.
//
// One file a subcommand; this package is wiring: the list of what exists.
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"refrain/internal/cli"
	"refrain/internal/memory"
)

func main() {
	memory.Frugal()
	runtime.MemProfileRate = 0 // nobody asks for a profile of the heap, and its samples take a megabyte
	m := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cli.Exit(m.Run)
}

// Main is the program without its process: tests run it as the binary does.
type Main cli.Main

// Run runs one command line and returns the exit status: 0, 1 for a failure, 2 for wrong usage.
func (m *Main) Run(ctx context.Context, args []string) int {
	return (*cli.Main)(m).Run(ctx, args, m.command)
}

func (m *Main) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "refrain",
		Short: "Say which sentences of a feed of posts repeat something seen before",
		Long: "Refrain watches feeds of posts and says at once which sentences of a new post repeat, or nearly repeat,\n" +
			"something seen in the last hours or days: where it was first, how often since, how similar.",
		Example: "  refrain demo                        watch it at work on a made-up feed\n" +
			"  refrain detect posts.jsonl          find the reuse in a file\n" +
			"  refrain backfill --out DIR FILE...  find it in an archive, and write that without repeats\n" +
			"  refrain serve                       run the service on http://127.0.0.1:8080",
	}
	root.Version = versionLine()
	root.SetVersionTemplate("refrain {{.Version}}\n")
	root.AddCommand(m.demo(), m.detect(), m.backfill(), m.inspect(), m.sentences(), m.explain(), m.match(), m.topics(), m.plan(), m.train(), m.model(),
		m.serve(), m.ready(), m.join(), m.check(), m.man(), m.version())
	return root
}

// What the subcommands say of a command line, and of one that was ended.

func usage(format string, args ...any) error { return cli.Usage(format, args...) }

func atMost(n int, what string) cobra.PositionalArgs { return cli.AtMost(n, what) }

var errStopped = cli.ErrStopped
