package text

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestSteps counts the steps that posts of all kinds take: TestCountedSteps, in a build of this package in which every
// turn of a loop counts, and every byte that a library looks at. So no scan is forgotten, and the usual build has nothing
// of it.
func TestSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package again")
	}
	overlay := map[string]string{}
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if !strings.HasSuffix(name, "_test.go") {
			counted := filepath.Join(dir, name)
			mustWrite(t, counted, countSteps(t, name))
			overlay[filepath.Join(here, name)] = counted
		}
	}
	overlay[filepath.Join(here, "counters.go")] = filepath.Join(here, "testdata", "steps", "counters.go")
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "overlay.json"), list)
	build := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-tags", "steps", "-overlay",
		filepath.Join(dir, "overlay.json"), "-run", "^TestCountedSteps$", "-v", ".")
	out, err := build.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestCountedSteps")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func mustWrite(tb testing.TB, path string, b []byte) {
	tb.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// countedCalls are the calls that are replaced by those of testdata/steps/counters.go.
var countedCalls = map[string]string{"utf8.RuneCountInString": "countedRunes", "slices.Contains": "countedContains"}

// uncounted packages work in constant time, or once for each token or segment of bounded length, or once for a post.
var uncounted = map[string]bool{"unicode": true, "utf8": true, "slices": true, "norm": true, "sync": true,
	"cases": true, "feed": true, "cmp": true, "math": true,
	"xxh3": true, "binary": true, "sha256": true, "bytes": true, "bits": true, "big": true, "fmt": true}

// used names one thing of each package whose calls are replaced, lest its import be unused.
var used = map[string]string{"strings": "strings.ToLower", "words": "words.SplitFunc", "utf8": "utf8.RuneLen",
	"slices": "slices.Sort[[]int]"}

// countSteps writes a source with a step in each loop, and with calls that count.
func countSteps(t *testing.T, name string) []byte {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]bool{}
	for _, i := range file.Imports {
		imported[path.Base(strings.Trim(i.Path.Value, `"`))] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			n.Body.List = append([]ast.Stmt{oneStep()}, n.Body.List...)
		case *ast.RangeStmt:
			n.Body.List = append([]ast.Stmt{oneStep()}, n.Body.List...)
		case *ast.CallExpr:
			countCall(t, n, imported)
		}
		return true
	})
	var out bytes.Buffer
	if err := format.Node(&out, set, file); err != nil {
		t.Fatal(err)
	}
	for pkg := range imported {
		if used[pkg] != "" {
			out.WriteString("\nvar _ = " + used[pkg] + "\n")
		}
	}
	return out.Bytes()
}

func oneStep() ast.Stmt {
	one := &ast.BasicLit{Kind: token.INT, Value: "1"}
	return &ast.ExprStmt{X: &ast.CallExpr{Fun: ast.NewIdent("step"), Args: []ast.Expr{one}}}
}

// countCall replaces a call of a library that looks at as many bytes as it is given.
func countCall(t *testing.T, call *ast.CallExpr, imported map[string]bool) {
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	pkg, ok := of.X.(*ast.Ident)
	if !ok || !imported[pkg.Name] {
		return
	}
	switch counted := countedCalls[pkg.Name+"."+of.Sel.Name]; {
	case counted != "":
		call.Fun = ast.NewIdent(counted)
	case pkg.Name == "strings" || pkg.Name == "words":
		of.X = ast.NewIdent(pkg.Name + "Counted")
	case !uncounted[pkg.Name]:
		t.Errorf("%s.%s: say in uncounted why it need not be counted, or count it", pkg.Name, of.Sel.Name)
	}
}
