package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"refrain/hashcodes"
	"refrain/internal/datadir"
	"refrain/text"
)

func (m *Main) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  refrain version",
		Args:    atMost(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(m.Stdout, "refrain %s, data directories of format %d, text normalisation %d, default model %s of %d words, %s %s/%s\n",
				buildVersion(), datadir.Format, text.Version, hashcodes.Default().Name(), hashcodes.Default().Len(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion is the module's version, or the revision it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	return info.Main.Version
}
