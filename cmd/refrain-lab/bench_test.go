package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/internal/cli"
	"refrain/lab/bench/tables"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// benchPosts is a data set of one small file, by the names that quick runs read.
func benchPosts(t *testing.T) string {
	t.Helper()
	t.Setenv(runMain, "1") // the test binary is the program that starts itself
	useProduct(t)
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "stream"), 0o700); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for i := range 1500 {
		fmt.Fprintf(w, `{"id":"%d","created_at":%d,"text":"post %d of a few says once more that %d is %d"}`+"\n", i,
			1_700_000_000+i, i/2, i/2*7, i/2*11)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "stream", "pheme_ottawa_germanwings.jsonl.gz"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

func runBenchCommand(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	status = m.Run(t.Context(), append([]string{"bench"}, args...))
	return status, out.String(), errs.String()
}

// TestBenchProcesses measures what runs as processes of its own.
func TestBenchProcesses(t *testing.T) {
	data := benchPosts(t)
	file := filepath.Join(data, "stream", "pheme_ottawa_germanwings.jsonl.gz")
	status, out, errs := runBenchCommand(t, "detect", "--quick", "--runs", "1", "--json", file)
	var r struct {
		report.Report
		Figures []tables.DetectFigure `json:"figures"`
	}
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	if r.Command != "refrain-lab bench detect --quick --runs 1 pheme_ottawa_germanwings.jsonl.gz" || len(r.Figures) != 3 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.Posts != 1500 || f.Events != 750 || f.Distinct != 750 || f.PerSecond <= 0 {
			t.Errorf("%+v", f)
		}
	}
	if status, out, errs = runBenchCommand(t, "memory", "--quick", "--data", data); status != 0 ||
		!strings.Contains(out, "| **RSS** |") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

func TestBenchLatency(t *testing.T) {
	data := benchPosts(t)
	status, out, errs := runBenchCommand(t, "latency", "--quick", "--runs", "1", "--data", data, "--json")
	var r struct{ Figures []tables.LatencyFigure }
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	f := r.Figures[0]
	if f.Posts != 1000 || f.Events != 500 || f.P50 <= 0 || f.P50 > f.P99 || f.P99 > f.Max {
		t.Errorf("%+v", f)
	}
}

// TestBenchFlood expects the events of the others, which are as many with the flood as without, and those of the flood: a
// variant is flagged where more of those before it than the cap are in one partition.
func TestBenchFlood(t *testing.T) {
	data := benchPosts(t)
	status, out, errs := runBenchCommand(t, "flood", "--quick", "--flood", "100", "--max-matches", "5",
		"--data", data, "--json")
	var r struct {
		Figures struct {
			Serve []tables.FloodFigure
			Caps  []tables.CapFigure
		}
	}
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	alone, flood := r.Figures.Serve[0], r.Figures.Serve[1]
	if alone.Others != 500 || alone.Events != 250 || alone.P50 <= 0 || alone.P50 > alone.P99 || alone.FloodEvents != 0 ||
		alone.Through <= 0 || alone.All != alone.Through {
		t.Errorf("alone: %+v", alone)
	}
	if flood.Events != 250 || flood.FloodEvents == 0 || flood.FloodEvents > 2000 || flood.FloodPosts > 99 ||
		flood.Flagged > flood.FloodPosts || flood.Flagged == 0 || flood.Truncated < int64(flood.Flagged) ||
		flood.All <= flood.Through {
		t.Errorf("with the flood: %+v", flood)
	}
}

// measured reads what a table prints, or skips the test where there is no NATS.
func measured(t *testing.T, figures any, args ...string) {
	t.Helper()
	status, out, errs := runBenchCommand(t, append(args, "--data", benchPosts(t), "--json")...)
	if strings.Contains(errs, tables.ErrNoBroker.Error()) {
		t.Skip(errs)
	}
	r := struct{ Figures any }{figures}
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
}

// TestBenchCluster: every deployment finds what detect finds, and the processes are told apart.
func TestBenchCluster(t *testing.T) {
	var all []tables.ClusterFigure
	measured(t, &all, "cluster", "--quick", "--runs", "1", "--brokers", "nats", "--workers", "2")
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	f := all[1]
	if f.Broker != "nats" || f.Workers != 2 || f.Events != 500 || f.PerSecond <= 0 || f.Ratio <= 0 || f.Sent <= 0 ||
		f.Received <= f.Sent || f.Busy["messages"] <= 0 || f.Idle["messages"] <= 0 || f.Planned.All <= 0 {
		t.Errorf("%+v", f)
	}
	for _, name := range []string{"split", "match", "rest", "broker"} {
		if f.Memory[name] <= 0 {
			t.Errorf("memory of %s: %v", name, f.Memory)
		}
	}
}

// TestBenchHot: the others have their events, and every post of the text but the first repeats it once.
func TestBenchHot(t *testing.T) {
	var f tables.HotFigure
	measured(t, &f, "hot", "--quick", "--broker", "nats")
	if f.Events != f.Expected || f.Expected == 0 || f.HotEvents != 499 || f.HotPosts != 499 || len(f.Phases) != 3 {
		t.Errorf("%+v", f)
	}
}

// TestBenchWrites replaces one table of a document and nothing else.
func TestBenchWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	before := "a\n" + report.Bench.Wrap("kernels", "old\n") + "b\n" + report.Bench.Wrap("match", "old\n")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := runBenchCommand(t, "kernels", "--quick", "--runs", "1", "--write", path)
	got, err := os.ReadFile(path)
	if status != 0 || out != "" || err != nil {
		t.Fatalf("status %d, %v: %s%s", status, err, out, errs)
	}
	head, rest, _ := strings.Cut(string(got), "Hamming kernels")
	_, tail, ok := strings.Cut(rest, "<!-- /bench -->\n")
	if head != "a\n<!-- bench:kernels -->\n" || !ok || tail != "b\n"+report.Bench.Wrap("match", "old\n") {
		t.Errorf("got\n%s", got)
	}
	if status, _, errs = runBenchCommand(t, "engines", "--quick", "--write", path); status != cli.ExitFailure ||
		!strings.Contains(errs, "bench:engines") {
		t.Errorf("no place for the table: status %d, %s", status, errs)
	}
}

func TestBenchUsage(t *testing.T) {
	for _, args := range [][]string{{"nothing"}, {"kernels", "--runs", "0"}, {"detect", "a", "b"}, {"all", "a"}} {
		if status, _, errs := runBenchCommand(t, args...); status != cli.ExitUsage {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
	for want, args := range map[string][]string{
		"--rate -1: want 1 or more posts a second": {"--rate", "-1"},
		"--lasting -1s: want more than 0s":         {"--lasting", "-1s"},
		"--bits 48: ":                              {"--bits", "48"},
		"48 bits: want 32, 64, 128 or 256":         {"--bits", "48"},
	} {
		args = append([]string{"swap", "--data", t.TempDir()}, args...) // without a file to be read
		if status, _, errs := runBenchCommand(t, args...); status != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s; want %s", args, status, errs, want)
		}
	}
	for want, args := range map[string][]string{
		"rows [0]: want more than 0":              {"gpu", "--rows", "0"},
		"queries [-1]: want more than 0":          {"gpu", "--queries", "-1"},
		"posts -5: want 1 or more, or 0 for all":  {"gpu-detect", "--posts", "-5"},
		"want two or more, each once":             {"gpu-detect", "--engines", "cuda"},
		"rows [0 5]: want more than 0":            {"growth", "--rows", "0,5"},
		"there is no engine \"nope\"":             {"growth", "--engines", "nope"},
		"brokers: \"rabbit\", want kafka or nats": {"cluster", "--brokers", "rabbit"},
	} {
		if status, _, errs := runBenchCommand(t, args...); status != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s; want %s", args, status, errs, want)
		}
	}
	status, _, errs := runBenchCommand(t, "match", "--data", t.TempDir())
	if status != cli.ExitFailure || !strings.Contains(errs, "REFRAIN_DATA") {
		t.Errorf("no data: status %d, %s", status, errs)
	}
}

// TestBenchDocument holds the documents against the list of tables: each has its place.
func TestBenchDocument(t *testing.T) {
	for _, b := range benchTables() {
		document := cmp.Or(b.document, "docs/measurements/benchmarks.md")
		if err := report.Bench.CanWrite(filepath.Join("..", "..", filepath.FromSlash(document)), b.command.Name()); err != nil {
			t.Error(err)
		}
	}
}

// TestNarrowFlagsAreThere: a table that names a flag as narrowing has it, or writing would fail only then.
func TestNarrowFlagsAreThere(t *testing.T) {
	all := losslessTables(&eval.Config{})
	for _, b := range benchTables() {
		all = append(all, b.table(&benchFlags{}))
	}
	named := 0
	for _, table := range all {
		for _, flag := range table.narrow {
			named++
			if table.command.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no flag --%s", table.command.Name(), flag)
			}
		}
	}
	if named < 6 {
		t.Errorf("only %d flags", named)
	}
}
