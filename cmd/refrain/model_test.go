package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/hashcodes"
	"refrain/internal/e2e"
	"refrain/internal/explain"
	"refrain/text"
)

// TestModelsFindTheSame: events have the same ids with every model, on real posts of several languages.
func TestModelsFindTheSame(t *testing.T) {
	skipShort(t)
	for _, file := range []string{
		"stream/ira_2012-02_2016-08.jsonl.zst", "stream/weibo_ced_2010-2012.jsonl.zst", "news/reuters21578_to_1987-03-31.jsonl.gz",
	} {
		posts := string(e2e.Lines(t, file, 700))
		learned, _ := mustTrain(t, posts, "--bits", "32", "--vocab", "200")
		for _, threshold := range []string{"0.8", "0.5"} {
			args := []string{"--span", "87600h", "--threshold", threshold}
			want := eventIDs(t, posts, append(args, "--model", "md5")...)
			for _, model := range []string{
				"--model default", "--model default --engine scan", "--model default --engine prefix", "", "--bits 32",
				"--model " + learned,
			} {
				got := eventIDs(t, posts, append(args, strings.Fields(model)...)...)
				if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
					t.Errorf("%s, θ %s, %q: %d events with md5 (-md5 +this):\n%s", file, threshold, model, len(want), diff)
				}
			}
		}
	}
}

// runModel runs a command on two sentences.
func runModel(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	m := Main{Stdin: strings.NewReader("The vote is today at nine\n"), Stdout: &out, Stderr: &errs}
	status = m.Run(t.Context(), args)
	return status, out.String(), errs.String()
}

// TestModelFlags: which codes there are by which flags.
func TestModelFlags(t *testing.T) {
	learned, _ := mustTrain(t, stockPosts(500), "--bits", "32")
	byDefault := hashcodes.Default().Name()
	for args, want := range map[string]string{
		"":                               byDefault,
		"--model default":                byDefault,
		"--model md5":                    "md5-64-1",
		"--model md5 --bits 32 --ones 2": "md5-32-2",
		"--bits 128":                     "md5-128-1",
		"--ones 2":                       "md5-64-2",
		"--bits 64":                      "md5-64-1",
		"--model " + learned:             "direct-32-1",
	} {
		status, out, stderr := runModel(t, append([]string{"explain", "a b c d", "a b c e"}, strings.Fields(args)...)...)
		if status != 0 || !strings.HasPrefix(out, "threshold 4/5, model "+want+"\n") {
			t.Errorf("%s: status %d: %s%s, want %s", args, status, out, stderr, want)
		}
	}
}

func TestModelMistakes(t *testing.T) {
	learned, _ := mustTrain(t, stockPosts(500))
	dir := t.TempDir()
	none, empty := filepath.Join(dir, "none.model"), filepath.Join(dir, "empty.model")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--model default --bits 32", exitUsage, "leave them out with --model default, which has its own, or say --model md5"},
		{"--model default --ones 1", exitUsage, "say --model md5"},
		{"--bits 64 --model " + learned, exitUsage, "leave them out with --model " + learned},
		{"--model " + none, exitFailure, none + ": there is no such file; the built-in ones are default and md5"},
		{"--model " + dir, exitFailure, "model " + dir + ": is a directory\n"},
		{"--model " + empty, exitFailure, "model " + empty + ": the file is empty\n"},
		{"--model md5 --bits 48", exitUsage, "--bits 48 --ones 1"},
		{"--model -", exitUsage, "a model is read from a file, not from stdin"},
	} {
		for _, command := range [][]string{
			{"explain", "a", "b"}, {"detect", "--format", "text"}, {"sentences", "--format", "text"},
			{"plan", "--posts-per-day", "1e6"},
		} {
			status, _, stderr := runModel(t, append(command, strings.Fields(c.args)...)...)
			if status != c.status || !strings.Contains(stderr, c.want) {
				t.Errorf("%s %s: status %d, want %d; %q, want %q in it", command[0], c.args, status, c.status, stderr, c.want)
			}
		}
	}
}

// TestDefaultSignatures: what sentences prints is what the embedded model says.
func TestDefaultSignatures(t *testing.T) {
	var want []uint64
	for _, w := range strings.Fields("the vote is today at nine") {
		want = append(want, text.ID(w))
	}
	m := hashcodes.Default()
	signature := explain.Hex(m.Sign(make(hashcodes.Signature, m.Words()), want))
	_, out, stderr := runModel(t, "sentences", "--format", "text", "--model", "default")
	var line struct{ Signature string }
	if err := json.Unmarshal([]byte(out), &line); err != nil || line.Signature != signature {
		t.Errorf("%v, %s%s, want %s", err, out, stderr, signature)
	}
	if _, md5, _ := runModel(t, "sentences", "--format", "text", "--model", "md5"); md5 == out ||
		!strings.Contains(md5, "signature") {
		t.Errorf("with md5: %s", md5)
	}
	if _, out, _ = runModel(t, "sentences", "--format", "text"); strings.Contains(out, "signature") {
		t.Errorf("nobody asked for signatures: %s", out)
	}
}

func TestVersionNamesTheDefaultModel(t *testing.T) {
	if _, out, _ := runModel(t, "version"); !strings.Contains(out, "default model "+hashcodes.Default().Name()+" of ") {
		t.Errorf("got %s", out)
	}
}

// TestShowModel: the command shows what a file says about itself.
func TestShowModel(t *testing.T) {
	skipShort(t)
	learned, _ := mustTrain(t, stockPosts(500), "--bits", "32", "--threshold", "0.6")
	status, out, stderr := runModel(t, "model", learned)
	var got struct {
		Name      string
		Bits      int
		Words     int
		TrainedOn struct{ Threshold string } `json:"trained_on"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s%s", status, err, out, stderr)
	}
	if got.Name != "direct-32-1" || got.Bits != 32 || got.Words == 0 || got.TrainedOn.Threshold != "3/5" {
		t.Errorf("got %+v of %s", got, out)
	}
	for args, want := range map[string]int{"": exitUsage, "a b": exitUsage, "-": exitUsage, learned + ".none": exitFailure} {
		if status, _, stderr := runModel(t, append([]string{"model"}, strings.Fields(args)...)...); status != want ||
			stderr == "" {
			t.Errorf("model %s: status %d, want %d, and a reason", args, status, want)
		}
	}
}

// TestPlanKnowsTheCodes: fewer false candidates, cheaper look-ups by scan.
func TestPlanKnowsTheCodes(t *testing.T) {
	skipShort(t)
	// enough that md5 has false candidates among the few that judge
	learned, _ := mustTrain(t, stockPosts(3000), "--bits", "64")
	micros := func(args ...string) float64 {
		t.Helper()
		status, out, stderr := runPlan(append([]string{"--posts-per-day", "1e6", "--threshold", "0.6", "--json"}, args...)...)
		var got struct {
			Result struct {
				Alternatives []struct {
					Engine       string
					LookupMicros float64
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
			t.Fatalf("status %d, %v: %s", status, err, stderr)
		}
		i := slices.IndexFunc(got.Result.Alternatives, func(a struct {
			Engine       string
			LookupMicros float64
		}) bool {
			return a.Engine == "scan"
		})
		return got.Result.Alternatives[i].LookupMicros
	}
	md5, byDefault, two := micros("--model", "md5"), micros(), micros("--ones", "2")
	if !(byDefault < md5 && md5 < two) {
		t.Errorf("a scan takes %v µs by default, %v with md5, %v with two bits a token", byDefault, md5, two)
	}
	if own := micros("--model", learned); own == md5 {
		t.Errorf("with a model that reports what it is worth %v µs, as with md5", own)
	}
}
