package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestVersion: the flag says what the command says.
func TestVersion(t *testing.T) {
	_, command, _ := runModel(t, "version")
	status, flag, errs := runModel(t, "--version")
	if status != 0 || errs != "" || flag != command || !strings.HasPrefix(flag, "refrain ") ||
		!strings.Contains(flag, runtime.Version()) {
		t.Errorf("refrain --version: %d, %q, %q; refrain version: %q", status, flag, errs, command)
	}
}

// TestVersionOf: a release has its version, what is built from a checkout the revision too.
func TestVersionOf(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3":                              {Main: debug.Module{Version: "v1.2.3"}},
		"(devel)":                             {},
		"(devel) (0123456789ab)":              {Settings: vcs[:1]},
		"v1.2.3 (0123456789ab, with changes)": {Main: debug.Module{Version: "v1.2.3"}, Settings: vcs},
	} {
		if got := versionOf(&info); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
