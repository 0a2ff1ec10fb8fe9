package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (m *Main) man() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages",
		Long:    "Write a manual page for each command into a folder, in section 1.",
		Example: "  refrain man /usr/local/share/man/man1 && man refrain-detect",
		Args:    atMost(1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("want the folder to write to")
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // which would be today's date
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "refrain " + buildVersion()}, args[0]); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			return nil
		},
	}
}
