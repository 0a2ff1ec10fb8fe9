package rules

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notPromised is what the comment of a package says that others can import and should not.
const notPromised = "Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages."

// programs are folders that nobody imports: commands, and what measures or runs them.
var programs = []string{"cmd", "deploy", "lab"}

// TestWhatIsPromised: the page names every public package and its examples, which run; every other package that a program
// could import says, in the same words, that nothing is promised of it.
func TestWhatIsPromised(t *testing.T) {
	page := mustPages(t, os.DirFS("../.."))["docs/ARCHITECTURE.md"]
	_, rest, _ := strings.Cut(page, "\n## Public packages\n")
	promises, _, _ := strings.Cut(rest, "\n## ")
	named := 0
	for _, p := range mustList(t) {
		top, _, _ := strings.Cut(p.folder(), "/")
		if top == "internal" || slices.Contains(programs, top) {
			continue
		}
		comment, examples := mustComment(t, p.folder())
		isPublic := slices.Contains(public, p.folder())
		if strings.Contains(comment, notPromised) == isPublic {
			t.Errorf("%s: public: %t, and its comment: %s", p.folder(), isPublic, comment)
		}
		if isPublic {
			named++
			checkRow(t, promises, p.folder(), examples)
		}
	}
	if named != len(public) {
		t.Errorf("%d of %d public packages are there", named, len(public))
	}
}

// checkRow wants the row of a public package to name its examples, of which there is one at least.
func checkRow(t *testing.T, promises, folder string, examples []string) {
	t.Helper()
	_, row, found := strings.Cut(promises, "\n| `"+folder+"` |")
	row, _, _ = strings.Cut(row, "\n")
	if !found || len(examples) == 0 {
		t.Errorf("%s: its row in docs/ARCHITECTURE.md: %t; %d examples", folder, found, len(examples))
	}
	for _, name := range examples {
		if !strings.Contains(row, "`"+name+"`") {
			t.Errorf("%s: %s is not in its row of docs/ARCHITECTURE.md", folder, name)
		}
	}
}

// TestLibrariesAreLight: who embeds the window gets no broker's client and no telemetry with it.
func TestLibrariesAreLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"detector", module+"topic").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		heavy := func(c string) bool { return inside(strings.TrimSpace(path), c) }
		if slices.ContainsFunc(append([]string{"go.opentelemetry.io", "net/http"}, clients...), heavy) {
			t.Errorf("detector and topic need %s", path)
		}
	}
}

// mustComment reads the comment of a package, and the names of the examples in it that run.
func mustComment(t *testing.T, folder string) (comment string, examples []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var tests []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, file)
		} else {
			comment += strings.ReplaceAll(file.Doc.Text(), "\n", " ")
		}
	}
	for _, e := range doc.Examples(tests...) {
		if e.Output != "" {
			examples = append(examples, "Example"+e.Name)
		}
	}
	return comment, examples
}
