package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"refrain/internal/datadir"
	"refrain/internal/terminal"
)

func (m *Main) check() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR",
		Short: "Verify a data directory that no server uses",
		Long: "Read everything in a data directory and say what is damaged: its format, each record of the topics, the positions,\n" +
			"the index, the models, the dead letters. Nothing is changed; a directory in use is refused. One line on stdout for each\n" +
			"finding, FILE: OFFSET: reason, and one on stderr for each part. Exit status 0: sound; 1: damaged; 2: wrong usage.\n" +
			"All of it is read once, at some 100 to 300 MB a second. docs/operations.md says what damage means.",
		Example: "  refrain check refrain-data\n" +
			"  refrain check /var/lib/refrain && refrain serve --data /var/lib/refrain",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("%d directories: want one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			status := terminal.NewStatus(m.Stderr, terminal.Detect(m.Stderr))
			n, err := datadir.Check(cmd.Context(), datadir.Print(args[0], m.Stdout, m.Stderr, status))
			status.Clear()
			switch {
			case errors.Is(err, datadir.ErrNoData):
				return usage("%w", err)
			case err != nil:
				return err
			case n > 0:
				return fmt.Errorf("%s is damaged: %d findings", args[0], n)
			}
			return nil
		},
	}
}
