package problem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"refrain/internal/problem"
)

const root = "../.."

// TestEveryTypeHasASection of docs/problems.md, and every section a type.
func TestEveryTypeHasASection(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "problems.md"))
	if err != nil {
		t.Fatal(err)
	}
	var described, want []string
	for _, heading := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(string(page), -1) {
		described = append(described, heading[1])
	}
	for _, kind := range problem.Types() {
		want = append(want, kind.Name())
	}
	slices.Sort(described)
	slices.Sort(want)
	if !slices.Equal(described, want) {
		t.Errorf("sections %q\nwant %q", described, want)
	}
}

// TestEveryProblemHasAType: whatever answers with one says of which type it is.
func TestEveryProblemHasAType(t *testing.T) {
	found := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.CompositeLit); ok && isProblem(l.Type) {
				found++
				if !slices.ContainsFunc(l.Elts, isType) {
					t.Errorf("%s: a problem without a type", files.Position(l.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found < 30 {
		t.Errorf("%d problems found: %v", found, err)
	}
}

func isProblem(e ast.Expr) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == "problem" && s.Sel.Name == "Problem"
	}
	return false
}

func isType(e ast.Expr) bool {
	kv, ok := e.(*ast.KeyValueExpr)
	return ok && kv.Key.(*ast.Ident).Name == "Type"
}
