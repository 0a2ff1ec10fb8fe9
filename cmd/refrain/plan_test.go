package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"refrain/detector"
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
		"plan-100m.txt":    "--posts-per-day 1e8",
		"plan-1g-gpu.txt":  "--posts-per-day 1e9 --span 7d --threshold 3/5 --gpus 1 --gpu-memory 141GB",
		"plan-grid.txt":    "--posts-per-day 1e10 --span 1h",
		"plan-archive.txt": "--backfill --posts 1e9 --posts-per-day 3e6 --span 7d --slice 30d --within 30m --keep first",
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

// TestPlanJSONKeys: keys begin with a small letter, as in events and everywhere else.
func TestPlanJSONKeys(t *testing.T) {
	_, out, _ := runPlan("--posts-per-day", "1e9", "--gpus", "1", "--span", "1h", "--json")
	keys := regexp.MustCompile(`"([^"]*)": `).FindAllStringSubmatch(out, -1)
	if len(keys) < 50 || !strings.Contains(out, `"postsPerDay": 1000000000`) || !strings.Contains(out, `"gpus": 1,`) {
		t.Fatalf("%d keys: %s", len(keys), out)
	}
	for _, k := range keys {
		if !regexp.MustCompile(`^([a-z][a-zA-Z0-9]*|32|64|128|256)$`).MatchString(k[1]) {
			t.Errorf("key %q", k[1])
		}
	}
}

// TestPlanFlags: whatever makes no sense has a flag to be named by, but what has none to be wrong by.
func TestPlanFlags(t *testing.T) {
	flags := (&Main{}).plan().Flags()
	for _, of := range []any{plan.Feed{}, plan.Machine{}} {
		for field := range reflect.TypeOf(of).Fields() {
			name := planFlagOf[field.Name]
			if name == "" && !slices.Contains([]string{"FalsePerMillion", "Texts", "MemoryShare"}, field.Name) {
				t.Errorf("%s has no flag", field.Name)
			}
			if name != "" && flags.Lookup(name) == nil {
				t.Errorf("%s: there is no --%s", field.Name, name)
			}
		}
	}
}

func TestPlanMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "--posts-per-day is missing",
		"1e8":                                   `unexpected argument "1e8"`,
		"--posts-per-day many":                  `--posts-per-day "many": want a number`,
		"--posts-per-day -1 --cores 0":          "--posts-per-day -1: want more than 0, at most 10^15\n--cores 0: want 1 to 4096",
		"--posts-per-day 1e8 --span soon":       "--span: duration",
		"--posts-per-day 1e8 --threshold 2":     "--threshold: ",
		"--posts-per-day 1e8 --memory lots":     "--memory: size",
		"--posts-per-day 1e8 --bits 48":         "--bits 48 --ones 1: model: 48 bits: want 32, 64, 128 or 256",
		"--posts-per-day 1e14 --span 100000h":   "no number of workers does it: shorten --span",
		"--posts-per-day 1e8 --gpus 1 --peak 0": "--peak 0: want 1 to 24",
		"--posts-per-day 1e8 --peak 25":         "--peak 25: want 1 to 24: the busiest hour of a day",
		"--posts-per-day 1e8 --peak NaN":        "--peak NaN: want 1 to 24",
		"--posts-per-day 1e8 --span 0":          "--span 0: want more than 0",
		"--posts-per-day 1e8 --lateness -5m":    "--lateness -5m: want 0 or more",
		"--posts-per-day 1e8 --sentences 0":     "--sentences 0: want more than 0",
		"--posts-per-day 1e8 --tokens 0.5":      "--tokens 0.5: want 1 to 256",
		"--posts-per-day 1e8 --distinct 2":      "--distinct 2: want more than 0, at most 1",
		"--posts-per-day 1e8 --text-bytes -1":   "--text-bytes -1: want 0 to 10^6",
		"--posts-per-day 1e8 --post-bytes 50": "--post-bytes 50: want 99 or more, which are the bytes of its " +
			"sentences: --sentences 1.1 of --text-bytes 90",
		"--posts-per-day 1e8 --events Inf": "--events +Inf: want 0 to 10^6",
		"--posts-per-day 1e8 --memory 64":  `--memory "64" is 64 bytes: want 1.0 MB or more, and megabytes are written 32MB`,
		"--posts-per-day 1e8 --memory 64MB": "--memory 64MB: want more than 88 MB: a worker takes at most 80 % of " +
			"it, and its process alone takes 70 MB",
		"--posts-per-day 1e8 --network 300":          `--network "300" is 300 bytes: want 1.0 kB or more`,
		"--posts-per-day 1e8 --gpu-memory 80GB":      "--gpu-memory 80GB: there are no GPUs; how many a machine has is --gpus",
		"--posts-per-day 1e8 --gpus 65":              "--gpus 65: want 0 to 64",
		"--posts-per-day 1e8 --posts 1e9":            "--posts is for --backfill",
		"--backfill --posts-per-day 1e8 --gpus 1":    "--gpus is not for --backfill",
		"--backfill --posts-per-day 1e8 --posts 0":   "--posts 0: want 1 to 10^15",
		"--backfill --posts-per-day 1e8 --keep all":  `--keep "all": want first`,
		"--backfill --posts-per-day 1e8 --slice x":   `duration "x"`,
		"--backfill --posts-per-day 1e8 --within 1s": "no number of machines does it within 1s",
	} {
		if status, out, stderr := runPlan(strings.Fields(args)...); status != exitUsage ||
			!strings.Contains(stderr, want) || out != "" {
			t.Errorf("refrain plan %s: status %d, got %q, want %q in it", args, status, stderr, want)
		}
	}
}

// TestPlanDefaults: the feed that is planned for where no flag says another has the window that detect and serve have.
func TestPlanDefaults(t *testing.T) {
	feed, window := plan.DefaultFeed(), detector.Default()
	if feed.Span != window.Span || feed.Lateness != window.Lateness || feed.Threshold != window.Threshold.Float() ||
		feed.Texts == window.OmitTexts {
		t.Errorf("planned for %+v, the window is %+v", feed, window)
	}
}
