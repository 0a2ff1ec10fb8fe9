package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	const before = "# A\n\n<!-- bench:a -->\nold\n<!-- /bench -->\ntext\n<!-- bench:b -->\n<!-- /bench -->\nend"
	got, err := Bench.Replace([]byte(before), "a", "new\n")
	if want := strings.Replace(before, "old", "new", 1); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	got, err = Bench.Replace(got, "b", "x\n")
	want := "# A\n\n<!-- bench:a -->\nnew\n<!-- /bench -->\ntext\n<!-- bench:b -->\nx\n<!-- /bench -->\nend"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, document := range []string{"", "<!-- bench:a -->", "<!-- bench:a -->\n<!-- bench:b -->\n<!-- /bench -->",
		"<!-- bench:aa -->\n<!-- /bench -->"} {
		if got, err := Bench.Replace([]byte(document), "a", "new\n"); err == nil {
			t.Errorf("%q became %q, want an error", document, got)
		}
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(path, []byte("x\n"+Bench.Wrap("a", "")+"y\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Bench.Write(path, "b", "new\n"); err == nil {
		t.Error("a table without a place was written")
	}
	if err := errors.Join(Bench.CanWrite(path, "a"), Bench.Write(path, "a", "new\n")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "x\n" + Bench.Wrap("a", "new\n") + "y\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is now %v, %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%v left behind, %v", files, err)
	}
}

// TestHasWithout tells tables by the command that they state.
func TestHasWithout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	made := func(name, command string) string { return New(name, "T.", "posts", command).Markdown() }
	for table, want := range map[string]bool{
		"old\n":                                  false, // a place for a table
		made("a", "refrain-lab eval a --seed 2"): true,
		made("a", "refrain-lab eval a --quick --seed 2"): false,
		made("a", "refrain-lab eval a --quick"):          false,
	} {
		document := Eval.Wrap("a", table) + Eval.Wrap("b", made("b", "refrain-lab eval b"))
		if err := WriteFile(path, []byte(document)); err != nil {
			t.Fatal(err)
		}
		if got, err := Eval.HasWithout(path, "a", "--quick"); err != nil || got != want {
			t.Errorf("%v, %v; want %v of %q", got, err, want, table)
		}
	}
}

func TestMarkdown(t *testing.T) {
	r := &Report{Title: "T.", Machine: "m", Go: "g", Date: "d", Command: "c", Data: "x", Plot: "p.svg", Notes: []string{"n"}}
	g := Grid{Caption: "of it", Head: []string{"a", "b"}}
	g.Add(1, "two")
	r.Grids = append(r.Grids, g)
	want := "T.\n\nMachine: m, g. Date: d. Command: `c`.\nData: x.\n\n![T](p.svg)\n\nof it\n\n| a | b " +
		"|\n|---|---|\n| 1 | two |\n\n- n\n"
	if got := r.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Markers of one command are nothing to the other.
func TestMarkersApart(t *testing.T) {
	document := []byte(Bench.Wrap("a", "x\n") + Eval.Wrap("a", "y\n"))
	got, err := Eval.Replace(document, "a", "z\n")
	if want := Bench.Wrap("a", "x\n") + Eval.Wrap("a", "z\n"); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A plot has every point that its axes have a place for, and no other.
func TestPlot(t *testing.T) {
	p := Plot{
		Title: "a < b", X: Axis{Title: "x", Log: true}, Y: Axis{Title: "y", From: 0, To: 1},
		Curves:      []Curve{{Name: "k", X: []float64{0, 1, 10, 100}, Y: []float64{1, 0, 0.5, 1}, Dots: true}, {Name: "none"}},
		Annotations: []Annotation{{X: 10, Y: 0.5, Text: "here"}},
	}
	got := p.SVG()
	for _, want := range []string{"a &lt; b", `points="70.0,410.0 365.0,225.0 660.0,40.0 "`,
		`<circle cx="365.0" cy="225.0" r="5"`, ">100<", ">0.2<"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if n := bytes.Count(got, []byte(`r="3"`)); n != 3 || bytes.Contains(got, []byte("NaN")) ||
		bytes.Contains(got, []byte("Inf")) {
		t.Errorf("%d dots in\n%s", n, got)
	}
}

// Nothing to draw, one point, and wide ranges still have axes.
func TestPlotRanges(t *testing.T) {
	for _, c := range []Curve{{}, {X: []float64{5}, Y: []float64{0}}, {X: []float64{1, 1e9}, Y: []float64{-3, 1e7}}} {
		for _, log := range []bool{false, true} {
			p := Plot{X: Axis{Log: log}, Y: Axis{Log: log}, Curves: []Curve{c}}
			got := p.SVG()
			if bytes.Contains(got, []byte("NaN")) || bytes.Contains(got, []byte("Inf")) || bytes.Count(got, []byte("<text")) < 5 {
				t.Errorf("%v, log %v:\n%s", c, log, got)
			}
		}
	}
}
