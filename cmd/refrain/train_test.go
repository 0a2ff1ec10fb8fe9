package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/hashcodes/train"
)

// stockPosts are n posts of stock phrases with a few other words: near repeats, and many that are none.
func stockPosts(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"p%d","created_at":%d,"text":"phrase%d says again that`, i, 1_400_000_000+i, r.IntN(8))
		for range 2 + r.IntN(4) {
			fmt.Fprintf(&b, " word%d", int(r.ExpFloat64()*12))
		}
		b.WriteString("\"}\n")
	}
	return b.String()
}

// mustTrain trains on posts from stdin and returns the model's path and what was reported.
func mustTrain(t *testing.T, posts string, args ...string) (path, report string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "posts.model")
	var stderr bytes.Buffer
	m := Main{Stdin: strings.NewReader(posts), Stdout: &bytes.Buffer{}, Stderr: &stderr}
	if status := m.Run(t.Context(), append([]string{"train", "--out", path}, args...)); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	return path, stderr.String()
}

// eventIDs are the ids of the events that detect prints, sorted.
func eventIDs(t *testing.T, posts string, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if stderr, status := runDetect(t, strings.NewReader(posts), &out, args...); status != 0 {
		t.Fatal(stderr)
	}
	var ids []string
	for line := range strings.Lines(out.String()) {
		var e struct{ ID string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.ID == "" {
			t.Fatalf("%v: %s", err, line)
		}
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestTrainedModelFindsTheSame: a model decides how fast events are found, never which.
func TestTrainedModelFindsTheSame(t *testing.T) {
	skipShort(t)
	posts := stockPosts(800)
	for _, learner := range train.Learners {
		model, report := mustTrain(t, posts, "--learner", learner, "--bits", "32", "--ones", "2", "--vocab", "200")
		if !strings.Contains(report, learner+"-32-") || !strings.Contains(report, "false candidates a query at Jaccard 4/5") {
			t.Errorf("%s: report: %s", learner, report)
		}
		for _, engine := range []string{"scan", "prefix"} {
			want := eventIDs(t, posts, "--engine", engine, "--bits", "32")
			got := eventIDs(t, posts, "--engine", engine, "--model", model)
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 50 {
				t.Errorf("%s, %s: %d events with hashed codes (-hashed +learned):\n%s", learner, engine, len(want), diff)
			}
		}
	}
}

// TestTrainedModelIsShown: whoever has the file can look at its codes.
func TestTrainedModelIsShown(t *testing.T) {
	model, _ := mustTrain(t, stockPosts(500), "--bits", "32")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sentences", "--model", model}, `"signature":"`},
		{[]string{"explain", "--model", model, "phrase1 says again that word1", "phrase1 says again that"}, "model direct-32-1"},
	} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(stockPosts(3)), Stdout: &out, Stderr: &stderr}
		if status := m.Run(t.Context(), c.args); status != 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d: %s%s", c.args[0], status, &out, &stderr)
		}
	}
}

// TestTrainSaysHowFarItIs: in a file too, a line for each of the learner's rounds, and before the summary.
func TestTrainSaysHowFarItIs(t *testing.T) {
	_, report := mustTrain(t, stockPosts(500), "--vocab", "50")
	rounds, summary, _ := strings.Cut(report, "learned from ")
	if strings.Count(rounds, "\nround ") != 7 || !strings.Contains(rounds, "\nround 7 of 7, about 0s left: ") ||
		strings.Contains(summary, "round ") {
		t.Errorf("want a line for each of 7 rounds: %s", report)
	}
}

// TestTrainedModelByAnyName: with its folder, a file of a built-in model's name is told from it.
func TestTrainedModelByAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	m := Main{Stdin: strings.NewReader(stockPosts(500)), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	if status := m.Run(t.Context(), []string{"train", "--bits", "32", "--out", "./default"}); status != 0 {
		t.Fatalf("status %d: %s", status, m.Stderr)
	}
	if _, out, stderr := runModel(t, "model", "./default"); !strings.Contains(out, `"direct-32-1"`) {
		t.Errorf("got %s%s", out, stderr)
	}
}

// TestTrainIsRepeatable: the same posts and seed give the same file.
func TestTrainIsRepeatable(t *testing.T) {
	skipShort(t)
	posts := stockPosts(500)
	a, _ := mustTrain(t, posts, "--seed", "5")
	b, _ := mustTrain(t, posts, "--seed", "5")
	if !bytes.Equal(mustReadFile(t, a), mustReadFile(t, b)) {
		t.Error("two models of the same posts differ")
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

func gzipped(t *testing.T, posts string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, posts)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTrainFromLittle: a model of hashed codes alone is worth a warning.
func TestTrainFromLittle(t *testing.T) {
	const warning = "warning: not one word is in enough sentences"
	if _, report := mustTrain(t, stockPosts(2)); !strings.Contains(report, warning) {
		t.Errorf("two posts: %s", report)
	}
	if _, report := mustTrain(t, stockPosts(500)); strings.Contains(report, warning) {
		t.Errorf("500 posts: %s", report)
	}
}

// TestTrainSaysWhatItIsWorth: by figures that tell small ones apart, and a warning with the counts where chance makes
// as much.
func TestTrainSaysWhatItIsWorth(t *testing.T) {
	for _, c := range []struct {
		learner       string
		before, after int
		figures       string
		warns         bool
	}{
		{"direct", 60, 59, "0.0295, with md5-32-2 0.0300", true},
		{"direct", 59, 59, "0.0295, with md5-32-2 0.0295", true},
		{"direct", 3000, 1500, "0.750, with md5-32-2 1.50", false},
		{"md5", 59, 59, "0.0295, with md5-32-2 0.0295", false},
	} {
		var stderr bytes.Buffer
		run := training{main: &Main{Stderr: &stderr}, config: train.Config{Learner: c.learner}}
		run.summariseGain("md5-32-2", &train.Report{
			Threshold: "4/5", Before: train.Cost{Queries: 2000, False: c.before}, After: train.Cost{Queries: 2000, False: c.after},
		})
		if !strings.HasPrefix(stderr.String(), "false candidates a query at Jaccard 4/5: "+c.figures+" (") {
			t.Errorf("%+v: %s", c, &stderr)
		}
		warning := fmt.Sprintf("\nwarning: %d false candidates in 2000 queries, with md5-32-2 %d: ", c.after, c.before)
		if strings.Contains(stderr.String(), warning) != c.warns ||
			c.warns && !strings.HasSuffix(stderr.String(), " a lower --threshold, fewer --bits or more text\n") {
			t.Errorf("%+v: %s", c, &stderr)
		}
	}
}

// TestTrainIsStopped: a signal ends a run in order, and what was there stays. A hangup does too where it is not ignored, as
// under nohup, which tests cannot know of.
func TestTrainIsStopped(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		dir := t.TempDir()
		out := filepath.Join(dir, "x.model")
		if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := exec.Command(os.Args[0], "train", "--out", out)
		cmd.Env, cmd.Stderr = append(os.Environ(), runMain+"=1"), &stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: once all of it is written the program reads, or has read and waits.
		if _, err := stdin.Write([]byte(stockPosts(20_000))); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait() // stdin is still open
		if cmd.ProcessState.ExitCode() != 128+int(s) || !strings.Contains(stderr.String(), "interrupted: no model was written") {
			t.Errorf("%v: %v, %s", s, err, &stderr)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || string(mustReadFile(t, out)) != "old" {
			t.Errorf("%v: left behind: %v, %v", s, left, err)
		}
	}
}

func TestTrainMistakes(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "x.model")
	posts := filepath.Join(t.TempDir(), "posts.jsonl")
	if err := os.WriteFile(posts, []byte(stockPosts(10)), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(posts, link); err != nil {
		t.Fatal(err)
	}
	cut, whole := filepath.Join(t.TempDir(), "cut.jsonl.gz"), gzipped(t, stockPosts(10_000))
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exitUsage, "--out is missing"},
		{[]string{"--out", "-"}, exitUsage, "--out -: --model - would not mean this file: choose another name, or ./-"},
		{[]string{"--out", "default"}, exitUsage, "choose another name, or ./default"},
		{[]string{"--out", "md5"}, exitUsage, "choose another name, or ./md5"},
		{[]string{"--out", out, "--learner", "magic"}, exitUsage, `--learner "magic": want one of direct`},
		{[]string{"--out", out, "--bits", "48"}, exitUsage, "48 bits: want 32, 64, 128 or 256"},
		{[]string{"--out", out, "--ones", "9"}, exitUsage, "9 ones per code"},
		{[]string{"--out", out, "--threshold", "2"}, exitUsage, "--threshold"},
		{[]string{"--out", out, "--vocab", "0"}, exitUsage, "want 1 or more"},
		{[]string{"--out", out, "--sentences", "9000000000000000000"}, exitUsage, "want 1 to"},
		{[]string{"--out", dir}, exitFailure, "is no usual file"},
		{[]string{"--out", os.DevNull}, exitFailure, "is no usual file"},
		{[]string{"--out", link, posts}, exitFailure, "is one of the files to be read"},
		{[]string{"--out", out, cut}, exitFailure, "the compressed file is cut short; no model was written"},
		{[]string{"--out", out, filepath.Join(dir, "none.jsonl")}, exitFailure, "none.jsonl"},
		{[]string{"--out", filepath.Join(dir, "none", "x.model")}, exitFailure, "cannot write a file in"},
		{[]string{"--out", out, "--min-tokens", "99"}, exitFailure, "not one sentence is long enough"},
	} {
		var stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(stockPosts(10)), Stdout: &bytes.Buffer{}, Stderr: &stderr}
		if status := m.Run(t.Context(), append([]string{"train"}, c.args...)); status != c.status ||
			!strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: status %d, want %d; %s", c.args, status, c.status, &stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
