package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/internal/cli"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// TestEvalLossless runs every table on a few posts: the same figures again with the models that the first run has kept, and
// a place in docs/measurements/evaluation.md.
func TestEvalLossless(t *testing.T) {
	data := evalPosts(t)
	for _, e := range losslessTables(&eval.Config{}) {
		name := e.command.Name()
		t.Run(name, func(t *testing.T) {
			if err := report.Eval.CanWrite(filepath.Join("..", "..", "docs", "measurements", "evaluation.md"), name); err != nil {
				t.Error(err)
			}
			args := []string{name, "--quick", "--json", "--threshold", "0.6", "--data", data, "--models", t.TempDir()}
			if e.command.Flags().Lookup("learner") != nil {
				args = append(args, "--learner", "md5,ner")
			}
			first, again := mustEval(t, args...), mustEval(t, args...)
			if len(first.Grids) == 0 || len(first.Grids[0].Rows) == 0 {
				t.Fatalf("no table: %+v", first)
			}
			if name == "effect" { // which measures time
				return
			}
			if a, b := first.Markdown(), again.Markdown(); a != b {
				t.Errorf("two runs differ:\n%s\n%s", a, b)
			}
		})
	}
}

func mustEval(t *testing.T, args ...string) *report.Report {
	t.Helper()
	status, out, errs := runEvalCommand(t, args...)
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("%v: status %d, %v: %s", args, status, err, errs)
	}
	return &r
}

// TestEvalDriftPlots: the plot lies beside the document.
func TestEvalDriftPlots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(path, []byte(report.Eval.Wrap("drift", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, errs := runEvalCommand(t, "drift", "--quick", "--threshold", "0.6", "--data", evalPosts(t), "--write", path)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	svg, err := os.ReadFile(filepath.Join(filepath.Dir(path), "eval-drift.svg"))
	if err != nil || !strings.Contains(string(svg), "retrained, θ 0.6") {
		t.Errorf("%v: %s", err, svg)
	}
}

// TestListFlagsSayWhatTheyWant: not how their values are parsed.
func TestListFlagsSayWhatTheyWant(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--bits", "x", `--bits "x": want whole numbers with commas between them`},
		{"--ones", "1,,2", `--ones "1,,2": want whole numbers with commas between them`},
		{"--corpus", `"ira`, `--corpus "\"ira": want words with commas between them`},
	} {
		status, _, errs := runEvalCommand(t, "later", c.flag, c.value)
		if status != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: status %d, %s", c.flag, c.value, status, errs)
		}
	}
}

func TestEvalLosslessUsage(t *testing.T) {
	for _, args := range [][]string{
		{"later", "--corpus", "nothing"}, {"later", "--corpus", ""}, {"later", "--bits", "33"}, {"grid", "--ones", "0"},
		{"grid", "--threshold", "1.1"}, {"lossless", "--learner", "none"},
	} {
		status, _, errs := runEvalCommand(t, args...)
		if status != cli.ExitUsage || !strings.Contains(errs, args[1]) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}
