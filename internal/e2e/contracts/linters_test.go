package contracts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lint runs a linter, and fails with what it says when it finds something.
func lint(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", cmd.Args, err, out)
	}
}

const documents = "../../../api/"

// TestLinters: those of others find nothing in the descriptions, warnings included. Left aside is one piece of advice of
// AsyncAPI's, to be of version 3.1.0: 3.0.0 is what generators read.
func TestLinters(t *testing.T) {
	modules := filepath.Join(javaScript(t, "@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3", "@asyncapi/parser@3.6.3").dir, "node_modules")
	bin := filepath.Join(modules, ".bin")
	lint(t, exec.Command(filepath.Join(bin, "redocly"), "lint", "--config", "testdata/redocly.yaml", documents+"openapi.yaml"))
	lint(t, exec.Command(filepath.Join(bin, "spectral"), "lint", "-r", "testdata/spectral.yaml", "--fail-severity", "hint",
		documents+"openapi.yaml"))
	parse := exec.Command("node", "testdata/parse.cjs", documents+"asyncapi.yaml")
	parse.Env = append(os.Environ(), "NODE_PATH="+modules)
	lint(t, parse)
}

// TestSchemathesis: a server answers thousands of made-up requests, right and wrong, as openapi.yaml says.
func TestSchemathesis(t *testing.T) {
	dir := python(t, "schemathesis==4.32.5").dir
	p, _ := start(t, "")
	config, err := filepath.Abs("testdata/schemathesis.toml")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-m", "schemathesis.cli", "--config-file", config, "run", p.URL("/openapi.yaml"),
		"--seed", "20")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+dir) // it keeps what it found where it is run
	lint(t, cmd)
}
