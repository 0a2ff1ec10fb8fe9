package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"refrain/internal/dataset"
	"refrain/join"
)

// runJoin runs the command with files of some content, in their folder.
func runJoin(t *testing.T, files map[string]string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if name == "-" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, arg := range args {
		if _, ok := files[arg]; ok && arg != "-" {
			args[i] = filepath.Join(dir, arg)
		}
	}
	var out, diagnostics bytes.Buffer
	m := Main{Stdin: strings.NewReader(files["-"]), Stdout: &out, Stderr: &diagnostics}
	status = m.Run(t.Context(), append([]string{"join"}, args...))
	return out.String(), strings.ReplaceAll(diagnostics.String(), dir+"/", ""), status
}

// joined are the lines that the command prints, sorted.
func joined(t *testing.T, files map[string]string, args ...string) string {
	t.Helper()
	stdout, stderr, status := runJoin(t, files, args...)
	if status != 0 {
		t.Fatalf("%q: %s", args, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestJoin(t *testing.T) {
	posts := `{"id":"b","text":"Police close the old bridge"}` + "\n" + `{"id":"a","text":"police close: the bridge!"}` + "\n" +
		`{"id":"c","text":"sun and no wind"}` + "\n"
	files := map[string]string{
		"a.jsonl": posts, "-": posts,
		"b.csv":  "nr,name\n7,\"bridge, the old\"\n8,Sun and no wind\n",
		"c.txt":  "abcdef\n\nabcdxf\nabc\n",
		"d.sets": "1 2 3 4\n2 3 4 5\n\n1 2 3 4 9\n",
	}
	for _, c := range []struct{ args, want string }{
		{"a.jsonl", `{"a":"a","b":"b","similarity":0.8}`},
		{"-", `{"a":"a","b":"b","similarity":0.8}`},
		{"--threshold 0.81 a.jsonl", ``},
		{"--measure cosine --threshold 0.89 a.jsonl", `{"a":"a","b":"b","similarity":0.8944271909999159}`},
		{"--measure overlap --threshold 4 a.jsonl", `{"a":"a","b":"b","similarity":4}`},
		{"--output csv a.jsonl", "a,b,0.8\na,b,similarity"},
		{"a.jsonl a.jsonl --threshold 1", `{"a":"a","b":"a","similarity":1}` + "\n" + `{"a":"b","b":"b","similarity":1}` + "\n" +
			`{"a":"c","b":"c","similarity":1}`},
		{"--id nr --column name --threshold 1/3 b.csv b.csv", `{"a":"7","b":"7","similarity":1}` + "\n" + `{"a":"8","b":"8","similarity":1}`},
		{"--units qgrams:3 --threshold 0.3 c.txt", `{"a":0,"b":2,"similarity":0.3333333333333333}`},
		{"--units chars --threshold 0.7 c.txt", `{"a":0,"b":2,"similarity":0.7142857142857143}`},
		{"--edit 1 c.txt", `{"a":0,"b":2,"distance":1,"similarity":0.8333333333333334}`},
		{"--edit 1 --output csv c.txt c.txt", "0,0,0,1\n0,2,1,0.8333333333333334\n2,0,1,0.8333333333333334\n2,2,0,1\n3,3,0,1\na,b,distance,similarity"},
		{"d.sets", `{"a":0,"b":3,"similarity":0.8}`},
		{"--format sets --threshold .6 d.sets", `{"a":0,"b":1,"similarity":0.6}` + "\n" + `{"a":0,"b":3,"similarity":0.8}`},
		{"--format text --threshold .6 d.sets", `{"a":0,"b":1,"similarity":0.6}` + "\n" + `{"a":0,"b":3,"similarity":0.8}`},
	} {
		for _, algorithm := range join.Algorithms {
			args := strings.Fields(c.args)
			if !strings.Contains(c.args, "edit") {
				args = append(args, "--algorithm", algorithm)
			}
			if got := joined(t, files, args...); got != c.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", c.args, algorithm, got, c.want)
			}
		}
	}
}

// TestJoinMistakes: what is wrong is said before anything is read, or with file and line.
func TestJoinMistakes(t *testing.T) {
	files := map[string]string{
		"a.jsonl": "{}\n", "b.csv": "nr,name\n1,x\n", "c.txt": "x\n", "d.sets": "1 2\n3 x\n", "e.sets": "-1\n", "f.sets": "18446744073709551615\n",
		"g.csv": "",
		"-":     "",
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"", exitUsage, "which file?"},
		{"a b c", exitUsage, `unexpected argument "c": want one file, or two`},
		{"- -", exitUsage, "both files are stdin: name one"},
		{"c.txt --threshold 1.5", exitUsage, `--threshold: threshold "1.5": want more than 0 and at most 1`},
		{"c.txt --threshold 0", exitUsage, "want more than 0"},
		{"c.txt --threshold x", exitUsage, "want a decimal number or a fraction"},
		{"c.txt --measure overlap", exitUsage, "--threshold is missing: overlap wants a number of tokens"},
		{"c.txt --measure overlap --threshold 0.8", exitUsage, "--threshold 0.8: overlap is a number of tokens: want a whole number from 1"},
		{"c.txt --measure hamming", exitUsage, `--measure "hamming": want jaccard, cosine, dice, overlap`},
		{"c.txt --algorithm fast", exitUsage, `--algorithm "fast": want ours, allpairs, ppjoin, ppjoin+`},
		{"c.txt --max-depth 3", exitUsage, "--max-depth is of --algorithm ppjoin+"},
		{"c.txt --algorithm ppjoin+ --max-depth -1", exitUsage, "--max-depth -1: want 0 or more"},
		{"c.txt --units grams", exitUsage, `--units "grams": want words, chars, qgrams:Q`},
		{"c.txt --format xls", exitUsage, `--format "xls": want jsonl, json, text, csv, xml, sets`},
		{"c.txt --output xml", exitUsage, `--output "xml": want jsonl or csv`},
		{"c.txt --workers 0", exitUsage, "--workers 0: want 1 or more"},
		{"c.txt --budget 5", exitUsage, "--budget: 5 bytes: want 1.0 MB or more"},
		{"c.txt --edit -1", exitUsage, "--edit -1: want 0 to 1073741824 characters"},
		{"c.txt --edit 1 --threshold 0.5", exitUsage, "--threshold says how sets are compared, and --edit compares strings"},
		{"d.sets --edit 1", exitUsage, "--edit compares strings, and these are sets of whole numbers"},
		{"d.sets --units words", exitUsage, "--units words are units of texts, and these are sets"},
		{"d.sets c.txt", exitUsage, "one file has sets of whole numbers and the other one texts"},
		{"d.sets", exitFailure, `d.sets:2: "x" is no whole number`},
		{"e.sets f.sets", exitFailure, "one has negative numbers, the other one such of 2^63 or more"},
		{"b.csv --id nr", exitFailure, `b.csv:1: no column "text" among "nr", "name": --id and --column say which they are`},
		{"a.jsonl", exitFailure, "a.jsonl:1: id: missing"},
		{"a.jsonl -", exitFailure, "a.jsonl:1: id: missing"},
		{"a.jsonl --id text", exitUsage, `--column "text": cannot have both ids and texts`},
		{"a.jsonl --id=", exitUsage, `--id "": want the name of a field or column`},
		{"a.jsonl --column=", exitUsage, `--column "": want the name of a field or column`},
		{"a.jsonl --column a..b", exitFailure, "a.jsonl:1: id: missing"},
		{"b.csv --id nr --column a,b", exitFailure, `b.csv:1: no column "a,b" among "nr", "name": --id and --column say which they are`},
		{"c.txt --column name", exitUsage, "--id and --column name fields of posts or columns of a table, and these are lines"},
		{"g.csv", exitFailure, "g.csv: an empty file: want a header"},
		{"c.txt --edit 1073741825", exitUsage, "--edit 1073741825: want 0 to 1073741824 characters"},
		{"c.txt --budget 1.1MB --workers 2", exitUsage, "--budget 1.1 MB: want 1.2 MB or more for --workers 2"},
		{"c.txt --budget 1.1MB --workers 2 --edit 1", exitUsage, "--budget 1.1 MB: want 1.5 MB or more for --workers 2"},
		{"a.jsonl --strict", exitFailure, "a.jsonl:1: id: missing"},
		{"none.jsonl", exitFailure, "open none.jsonl: no such file or directory"},
	} {
		stdout, stderr, status := runJoin(t, files, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%q: status %d, %q, %q; want %d, %q", c.args, status, stdout, stderr, c.status, c.want)
		}
	}
}

// TestJoinBudget: too many records are an error that names the line reached, and what a join will take is said before.
func TestJoinBudget(t *testing.T) {
	skipShort(t)
	var sets strings.Builder
	for i := range 200_000 {
		fmt.Fprintln(&sets, i, i+1, i+2, i/2)
	}
	files := map[string]string{"a.sets": sets.String()}
	_, stderr, status := runJoin(t, files, "a.sets", "--budget", "4MB")
	if status != exitFailure || !strings.Contains(stderr, "what has been read takes more than the budget of 4.0 MB") {
		t.Errorf("status %d: %s", status, stderr)
	}
	stdout, stderr, status := runJoin(t, files, "a.sets", "--budget", "100MB", "--threshold", "0.3")
	if status != 0 || !strings.HasPrefix(stderr, "in memory: 200,000 sets of ") || !strings.Contains(stderr, "of a budget of 100.0 MB\n") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if n := strings.Count(stdout, "\n"); n < 100_000 {
		t.Errorf("%d pairs", n)
	}
}

// TestJoinBudgetDecides: whether the join fits is one decision, before anything says that it does.
func TestJoinBudgetDecides(t *testing.T) {
	skipShort(t)
	var sets strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&sets, i, i+1, i+2, i/2)
	}
	files := map[string]string{"a.sets": sets.String(), "a.txt": sets.String()}
	for _, args := range []string{"a.sets", "a.sets --algorithm ppjoin", "a.txt --edit 2"} {
		fits, refused := 0, 0
		for budget := 1500; budget < 8000; budget += 500 {
			_, stderr, status := runJoin(t, files, append(strings.Fields(args), "--budget", fmt.Sprint(budget, "kB"), "--workers", "2")...)
			said := strings.Contains(stderr, "of a budget of")
			if said != (status == 0) || status != 0 && !strings.Contains(stderr, "budget") {
				t.Errorf("%s, %d kB: status %d, %s", args, budget, status, stderr)
			}
			if status == 0 {
				fits++
			} else {
				refused++
			}
		}
		if fits == 0 || refused == 0 {
			t.Errorf("%s: %d fit, %d refused", args, fits, refused)
		}
	}
}

// TestJoinNotes: of what is rejected the first lines are told, and all counted; a file of nothing is told.
func TestJoinNotes(t *testing.T) {
	files := map[string]string{
		"a.jsonl": `{"id":"1","text":"one"}` + "\n" + strings.Repeat(`{"id":"x"}`+"\n", 700), "b.jsonl": "", "c.csv": "id,text\n",
	}
	_, stderr, status := runJoin(t, files, "a.jsonl", "b.jsonl")
	if status != 0 || strings.Count(stderr, `: no field "text" among "id"`) != maxAlike+1 || !strings.Contains(stderr, "and 690 more like a.jsonl:2: no field") ||
		!strings.Contains(stderr, "b.jsonl: no records\n") || !strings.Contains(stderr, "700 rejected") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, stderr, status = runJoin(t, files, "c.csv"); status != 0 || !strings.Contains(stderr, "c.csv: no records\n") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// TestJoinLargeDistance: no grams are looked up, so none are in the budget.
func TestJoinLargeDistance(t *testing.T) {
	files := map[string]string{"a.txt": "one\nfour\n"}
	if got := joined(t, files, "a.txt", "--edit", "1000000000", "--budget", "2MB", "--workers", "2"); got != `{"a":0,"b":1,"distance":3,"similarity":0.25}` {
		t.Error(got)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestJoinEnds: a disk that is full and the end of the program end a join.
func TestJoinEnds(t *testing.T) {
	content := strings.Repeat("1 2 3\n", 5000)
	var stderr bytes.Buffer
	m := Main{Stdin: strings.NewReader(content), Stdout: failing{}, Stderr: &stderr}
	if status := m.Run(t.Context(), []string{"join", "--format", "sets", "-"}); status != exitFailure || strings.Count(stderr.String(), "short write") != 1 {
		t.Errorf("full disk: status %d, %s", status, stderr.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	stderr.Reset()
	out := 0
	m = Main{Stdin: strings.NewReader(content), Stdout: writerFunc(func(p []byte) (int, error) {
		cancel()
		out += bytes.Count(p, []byte("\n"))
		return len(p), nil
	}), Stderr: &stderr}
	status := m.Run(ctx, []string{"join", "--format", "sets", "-"})
	if status != exitFailure || !strings.Contains(stderr.String(), "interrupted") || !strings.Contains(stderr.String(), fmt.Sprintf("pairs %d\n", out)) {
		t.Errorf("interrupted: status %d, %d pairs, %s", status, out, stderr.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestJoinRealTables: two tables of products, by names and by edits, against the same by another way to read them.
func TestJoinRealTables(t *testing.T) {
	abt, buy := dataset.File(t, "setjoin/Abt.csv"), dataset.File(t, "setjoin/Buy.csv")
	counts := map[string]int{}
	for _, algorithm := range join.Algorithms {
		out := joined(t, nil, "--column", "name", "--threshold", "0.5", "--algorithm", algorithm, abt, buy)
		for line := range strings.SplitSeq(out, "\n") {
			var pair struct {
				A, B       string
				Similarity float64
			}
			if err := json.Unmarshal([]byte(line), &pair); err != nil || pair.A == "" || pair.B == "" || pair.Similarity < 0.5 {
				t.Fatalf("%s: %v", line, err)
			}
			counts[algorithm]++
		}
	}
	for _, algorithm := range join.Algorithms {
		if n := counts[algorithm]; n < 100 || n != counts["ours"] {
			t.Errorf("%s: %d pairs, ours %d", algorithm, n, counts["ours"])
		}
	}
}
