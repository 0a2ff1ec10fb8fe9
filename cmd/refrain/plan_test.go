package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/plan"
)

var updatePlans = flag.Bool("update-plans", false, "rewrite the reports of refrain plan in testdata")

func runPlan(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	status = m.Run(context.Background(), append([]string{"plan"}, args...))
	return status, out.String(), errs.String()
}

// TestPlanReports compares with testdata. After a change of the costs: go test ./cmd/refrain -run Plan -update-plans.
func TestPlanReports(t *testing.T) {
	for name, args := range map[string]string{
		"plan-100m.txt":   "--posts-per-day 1e8",
		"plan-1g-gpu.txt": "--posts-per-day 1e9 --span 7d --threshold 3/5 --gpus 1 --gpu-memory 141GB",
		"plan-grid.txt":   "--posts-per-day 1e10 --span 1h",
	} {
		t.Run(name, func(t *testing.T) {
			status, got, stderr := runPlan(strings.Fields(args)...)
			if status != 0 || stderr != "" {
				t.Fatalf("status %d, %s", status, stderr)
			}
			path := filepath.Join("testdata", name)
			if *updatePlans {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("refrain plan %s: got\n%s\nwant\n%s", args, got, want)
			}
		})
	}
}

func TestPlanJSON(t *testing.T) {
	status, out, _ := runPlan("--posts-per-day", "1e6", "--span", "7d", "--memory", "8GB", "--json")
	var got struct {
		Feed    plan.Feed
		Machine plan.Machine
		Result  plan.Result
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	if got.Feed.Span.Hours() != 7*24 || got.Machine.Memory != 8e9 || got.Result.Workers != 1 || got.Result.Engine == "" {
		t.Errorf("got %+v", got)
	}
}

func TestPlanMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "--posts-per-day is missing",
		"1e8":                                   `unexpected argument "1e8"`,
		"--posts-per-day many":                  `--posts-per-day "many": want a number`,
		"--posts-per-day -1 --cores 0":          "cores 0: want more than 0",
		"--posts-per-day 1e8 --span soon":       "--span: duration",
		"--posts-per-day 1e8 --threshold 2":     "--threshold: ",
		"--posts-per-day 1e8 --memory lots":     "--memory: size",
		"--posts-per-day 1e8 --bits 48":         "bits 48: want 32, 64, 128 or 256",
		"--posts-per-day 1e14 --span 100000h":   "shorten the span",
		"--posts-per-day 1e8 --gpus 1 --peak 0": "peak factor 0: want 1 or more",
	} {
		if status, out, stderr := runPlan(strings.Fields(args)...); status != exitUsage || !strings.Contains(stderr, want) || out != "" {
			t.Errorf("refrain plan %s: status %d, got %q, want %q in it", args, status, stderr, want)
		}
	}
}
