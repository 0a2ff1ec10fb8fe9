package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"refrain/hashcodes"
	"refrain/text"
)

func (m *Main) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  refrain version",
		Args:    atMost(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(m.Stdout, "refrain %s, text normalisation %d, default model %s of %d words, %s %s/%s\n",
				buildVersion(), text.Version, hashcodes.Default().Name(), hashcodes.Default().Len(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion is what the build was stamped with: the tag of its commit, else a version made of the commit's time and
// revision, with +dirty where files were changed; "(devel)" where there was no repository.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
