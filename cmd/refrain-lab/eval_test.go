package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"refrain/internal/cli"
	"refrain/lab/report"
)

func runEvalCommand(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	status = m.Run(t.Context(), append([]string{"eval"}, args...))
	return status, out.String(), errs.String()
}

// TestEvalWrites replaces one table of a document, puts its plot beside it, and touches nothing else.
func TestEvalWrites(t *testing.T) {
	data, folder := evalPosts(t), t.TempDir()
	path := filepath.Join(folder, "doc.md")
	before := "a\n" + report.Eval.Wrap("fig5", "old\n") + "b\n" + report.Eval.Wrap("table1", "old\n")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := runEvalCommand(t, "fig5", "--quick", "--seed", "3", "--data", data, "--write", path)
	got, err := os.ReadFile(path)
	if status != 0 || out != "" || err != nil {
		t.Fatalf("status %d, %v: %s%s", status, err, out, errs)
	}
	head, rest, _ := strings.Cut(string(got), "Of the n most frequent words")
	_, tail, ok := strings.Cut(rest, "<!-- /eval -->\n")
	if head != "a\n<!-- eval:fig5 -->\n" || !ok || tail != "b\n"+report.Eval.Wrap("table1", "old\n") ||
		!strings.Contains(rest, "`refrain-lab eval fig5 --quick --seed 3`") || !strings.Contains(rest, "(eval-fig5.svg)") {
		t.Errorf("got\n%s", got)
	}
	if svg, err := os.ReadFile(filepath.Join(folder, "eval-fig5.svg")); err != nil || !bytes.HasPrefix(svg, []byte("<svg")) {
		t.Errorf("%v: %s", err, svg)
	}
	if status, _, errs = runEvalCommand(t, "table2", "--quick", "--data", data, "--write",
		path); status != cli.ExitFailure || !strings.Contains(errs, "eval:table2") {
		t.Errorf("no place for the table: status %d, %s", status, errs)
	}
}

func mustReadFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestQuickReplacesNoWholeTable: what took minutes to measure stays, and who types --quick is told what to do.
func TestQuickReplacesNoWholeTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	before := report.Eval.Wrap("fig5", report.New("fig5", "Overlap.", "posts", "refrain-lab eval fig5 --seed 3").Markdown())
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, errs := runEvalCommand(t, "fig5", "--quick", "--data", evalPosts(t), "--write", path)
	if status != cli.ExitUsage || !strings.Contains(errs,
		"the table fig5 there was measured without --quick: do that again, or leave --write out") {
		t.Errorf("status %d: %s", status, errs)
	}
	if got := string(mustReadFile(t, path)); got != before {
		t.Errorf("the document became\n%s", got)
	}
}

// TestNarrowReplacesNoWholeTable: nor does a part of a table take its place; one as narrow does.
func TestNarrowReplacesNoWholeTable(t *testing.T) {
	path, data := filepath.Join(t.TempDir(), "doc.md"), evalPosts(t)
	for _, c := range []struct {
		measured, args, lacks string
	}{
		{"refrain-lab eval later", "--threshold 0.6", "--threshold"},
		{"refrain-lab eval later --threshold 0.6", "--threshold 0.6 --corpus ira", "--corpus"},
		{"refrain-lab eval later --quick --threshold 0.8", "--quick --threshold 0.6 --learner md5 --bits 32", "--bits"},
		{"refrain-lab eval later --quick --threshold 0.8 --learner md5", "--quick --threshold 0.6 --learner md5", ""},
	} {
		before := report.Eval.Wrap("later", report.New("later", "Later.", "posts", c.measured).Markdown())
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, errs := runEvalCommand(t, append([]string{"later", "--data", data, "--write", path},
			strings.Fields(c.args)...)...)
		kept := string(mustReadFile(t, path)) == before
		want := "the table later there was measured without " + c.lacks + ": do that again, or leave --write out"
		if refused := c.lacks != ""; kept != refused || (status == cli.ExitUsage) != refused ||
			refused && !strings.Contains(errs, want) {
			t.Errorf("%s over %s: status %d, kept: %v: %s", c.args, c.measured, status, kept, errs)
		}
	}
}

// evalPosts is a data set of the files of Figure 5, each with the same few posts.
func evalPosts(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	var posts bytes.Buffer
	for i := range 300 {
		fmt.Fprintf(&posts, `{"id":"%d","lang":"en","created_at":%d,"text":"post %d of a few says once more that %d is %d"}`+
			"\n", i, 1_700_000_000+i, i/2, i/2*7, i/2*11)
	}
	for _, file := range []string{
		"stream/ira_2012-02_2016-08.jsonl.zst", "stream/crisislex_t26_22events.jsonl.gz",
		"stream/weibo_ced_2010-2012.jsonl.zst",
		"news/reuters21578_to_1987-03-31.jsonl.gz", "news/20ng_10groups_A.jsonl.gz",
		"stream/weibo_hot_2020-11_2023-12.jsonl.gz",
		"news/xwlb_2022-09_2024-12.jsonl.gz",
	} {
		path := filepath.Join(data, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, compressed(t, file, posts.Bytes()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// compressed is what a file of that name holds.
func compressed(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	_, err := w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEvalJSON: all that was measured, unrounded.
func TestEvalJSON(t *testing.T) {
	status, out, errs := runEvalCommand(t, "fig5", "--quick", "--data", evalPosts(t), "--json")
	var r struct {
		report.Report
		Figures []struct {
			Target, Training string
			Share            []float64
		} `json:"figures"`
	}
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	if len(r.Figures) != 7 || r.Figures[0].Target != "ira-en" || r.Figures[0].Share[0] != 1 || r.Plot != "" {
		t.Errorf("%+v", r)
	}
}

func TestEvalUsage(t *testing.T) {
	for _, args := range [][]string{{"nothing"}, {"table1", "--seed", "x"}, {"table1", "a"}, {"all", "a"}} {
		if status, _, errs := runEvalCommand(t, args...); status != cli.ExitUsage {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
	status, _, errs := runEvalCommand(t, "table1", "--data", t.TempDir())
	if status != cli.ExitFailure || !strings.Contains(errs, "REFRAIN_DATA") {
		t.Errorf("no data: status %d, %s", status, errs)
	}
}

// TestEvalDocument holds docs/measurements/evaluation.md against the list of tables: each has its place.
func TestEvalDocument(t *testing.T) {
	for _, e := range evalTables() {
		if err := report.Eval.CanWrite(filepath.Join("..", "..", "docs", "measurements", "evaluation.md"), e.name); err != nil {
			t.Error(err)
		}
	}
}
