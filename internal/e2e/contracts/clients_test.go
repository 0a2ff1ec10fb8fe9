package contracts

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// clients are programs with libraries that others make, in some language.
type clients struct {
	dir string   // where their libraries are
	env []string // how they find these
	run func(program string) []string
}

// languages are those that clients are written in. ./test has those in Go; those that need another language's registry
// are for ./test all.
var languages = map[string]func(t *testing.T, libraries ...string) *clients{
	"Go": goClients, "JavaScript": javaScript, "Python": python, "Java": java,
}

// must runs a command that needs a registry, and skips the test where it cannot.
func must(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%q: %v: %.1000s", cmd.Args, err, out)
	}
}

func onlyFull(t *testing.T) {
	t.Helper()
	if !*e2e.Full {
		t.Skip("./test all runs it: it needs packages of npm, PyPI or Maven")
	}
}

// goClients builds the module of clients, a copy of it: their client of openapi.yaml is generated into it.
func goClients(t *testing.T, _ ...string) *clients {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("clients/go")); err != nil {
		t.Fatal(err)
	}
	description, err := filepath.Abs(documents + "openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	download := exec.Command("go", "mod", "download")
	download.Dir = dir
	must(t, download)
	generate := exec.Command("go", "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", description)
	generate.Dir = filepath.Join(dir, "refrain")
	succeed(t, generate)
	build := exec.Command("go", "build", "-o", dir+"/bin/", "./...")
	build.Dir = dir
	succeed(t, build)
	return &clients{dir: dir, run: func(program string) []string { return []string{dir + "/bin/" + program} }}
}

func javaScript(t *testing.T, libraries ...string) *clients {
	onlyFull(t)
	dir := t.TempDir()
	must(t, exec.Command("npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error"}, libraries...)...))
	env := []string{"NODE_PATH=" + filepath.Join(dir, "node_modules")}
	return &clients{dir, env, func(program string) []string { return []string{"node", "clients/javascript/" + program + ".cjs"} }}
}

func python(t *testing.T, libraries ...string) *clients {
	onlyFull(t)
	dir := t.TempDir()
	must(t, exec.Command("python3", append([]string{"-m", "pip", "install", "-q", "--target", dir}, libraries...)...))
	env := []string{"PYTHONPATH=" + dir}
	return &clients{dir, env, func(program string) []string { return []string{"python3", "clients/python/" + program + ".py"} }}
}

func java(t *testing.T, _ ...string) *clients {
	onlyFull(t)
	dir := t.TempDir()
	must(t, exec.Command("mvn", "-B", "-q", "-f", "clients/java/pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime",
		"-DoutputDirectory="+dir))
	path := dir + "/*" + string(filepath.ListSeparator) + dir
	succeed(t, exec.Command("java", "-cp", path, "org.eclipse.jdt.internal.compiler.batch.Main", "-17", "-nowarn",
		"-classpath", jars(t, dir), "-d", dir, "clients/java/Events.java"))
	return &clients{dir: dir, run: func(program string) []string {
		return []string{"java", "-cp", path, strings.ToUpper(program[:1]) + program[1:]}
	}}
}

// jars is a class path without *, which the compiler does not know.
func jars(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(dir + "/*.jar")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, string(filepath.ListSeparator))
}

func succeed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
}

// give runs a program with input, and returns what it writes.
func (c *clients) give(t *testing.T, input []byte, program string, args ...string) string {
	t.Helper()
	all := append(c.run(program), args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v: %s", all, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// lines is one of JSON for each message.
func lines(t *testing.T, messages []message) []byte {
	t.Helper()
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	for _, m := range messages {
		if err := out.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
