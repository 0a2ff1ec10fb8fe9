package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestConditionsAreExplained: each condition is in docs/operations.md, by its name.
func TestConditionsAreExplained(t *testing.T) {
	doc := mustReadFile(t, "../docs/operations.md")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?:name: |Name: )"([a-z_]+)", *(?:\n\s*)?(?:means|Means|after)`)
	found := 0
	for _, file := range files {
		for _, m := range name.FindAllStringSubmatch(mustReadFile(t, file), -1) {
			if found++; !strings.Contains(doc, "| `"+m[1]+"` |") {
				t.Errorf("%s: condition %s is not in docs/operations.md", file, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d conditions", found)
	}
}

// TestTextsOfTheBrokerAreExplained: what Check says of a broker is in docs/cluster.md with its cure, word for word.
func TestTextsOfTheBrokerAreExplained(t *testing.T) {
	doc := strings.Join(strings.Fields(mustReadFile(t, "../docs/cluster.md")), " ")
	for _, file := range []string{"../topic/kafka/health.go", "../topic/kafka/mark.go", "../topic/jetstream/watch.go", "strangers.go"} {
		for _, format := range errorFormats(t, file) {
			if piece := longestPiece(format); len(piece) >= minExplained && !strings.Contains(doc, piece) {
				t.Errorf("%s: docs/cluster.md does not explain %q", file, piece)
			}
		}
	}
}

// minExplained is the length from which on a text is one for an operator: shorter ones only say where.
const minExplained = 22

// errorFormats are those of all fmt.Errorf and fmt.Sprintf of a file.
func errorFormats(t *testing.T, file string) (formats []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "Sprintf") {
				formats = append(formats, literal(call.Args[0]))
			}
		}
		return true
	})
	return formats
}

// literal is the text of an expression that is made of strings alone.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

// longestPiece is the longest part of a format between its verbs.
func longestPiece(format string) (longest string) {
	for _, piece := range regexp.MustCompile(`%[a-z0-9.]+`).Split(format, -1) {
		if piece = strings.Trim(piece, " :"); len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

func mustReadFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
