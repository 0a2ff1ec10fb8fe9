// Command refrain-lab measures refrain: how fast it is, and how good its codes are.
//
// Here are the flags, and which tables there are; how they are measured is in package lab and below.
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
	memory.Frugal() // as refrain does, since some of it is measured in this process
	runtime.MemProfileRate = 0
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
		Use:   "refrain-lab",
		Short: "Measure refrain, and write the tables of its documents",
		Long: "Measure how fast refrain is on this machine, and how good the codes of its signatures are. The tables of\n" +
			"docs/measurements/benchmarks.md and docs/measurements/evaluation.md are made by it.",
		Example: "  refrain-lab bench match                             print one table\n" +
			"  refrain-lab bench all --write docs/measurements/benchmarks.md    measure all, and put them into the document\n" +
			"  refrain-lab eval table2                             how good codes are, beside the figures of their paper",
	}
	root.AddCommand(m.bench(), m.eval())
	return root
}
