package main

import (
	"cmp"
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
			_, err := fmt.Fprintln(m.Stdout, "refrain "+versionLine())
			return err
		},
	}
}

// versionLine is what `refrain version` and `refrain --version` say behind the name.
func versionLine() string {
	return fmt.Sprintf("%s, data directories of format %d, text normalisation %d, default model %s of %d words, %s %s/%s",
		buildVersion(), datadir.Format, text.Version, hashcodes.Default().Name(), hashcodes.Default().Len(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion is the module's version, and the revision it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version, revision := cmp.Or(info.Main.Version, "(devel)"), settings["vcs.revision"]
	if revision == "" {
		return version
	}
	revision = revision[:min(12, len(revision))]
	if settings["vcs.modified"] == "true" {
		revision += ", with changes"
	}
	return version + " (" + revision + ")"
}
