package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"refrain/internal/dataset"
	"refrain/internal/e2e"
)

// firstRun is what gpu-first-run has packed for a machine without Go and network, with the simulated driver as its GPU.
type firstRun struct {
	folder, driver string
	environment    []string
}

func packFirstRun(t *testing.T) *firstRun {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler (Debian: g++): there is no simulated driver")
	}
	f := &firstRun{folder: t.TempDir()}
	if output, err := exec.Command("./gpu-first-run", "pack", f.folder, "--lean").CombinedOutput(); err != nil {
		t.Fatalf("pack: %v\n%s", err, output)
	}
	f.driver = filepath.Join(f.folder, "bin", "simulated")
	return f
}

// run runs the packed script, with nothing in PATH but what every system has.
func (f *firstRun) run(t *testing.T, args ...string) (status int, output string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(f.folder, "gpu-first-run"), args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + f.driver, "REFRAIN_DEV=" + t.TempDir(),
		"TMPDIR=" + os.TempDir(), "REFRAIN_GPU_PATIENCE=10"}, f.environment...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// want runs it, and wants a status and lines of its output.
func (f *firstRun) want(t *testing.T, status int, lines []string, args ...string) {
	t.Helper()
	got, output := f.run(t, args...)
	if got != status {
		t.Errorf("%q: status %d, want %d:\n%s", args, got, status, output)
	}
	for _, line := range lines {
		if !strings.Contains(output, line) {
			t.Errorf("%q: no %q in\n%s", args, line, output)
		}
	}
}

// table is what stands in the document between the markers of a table.
func (f *firstRun) table(t *testing.T, name string) string {
	t.Helper()
	document, err := os.ReadFile(filepath.Join(f.folder, "gpu.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(document), "<!-- bench:"+name+" -->\n")
	table, _, ended := strings.Cut(rest, "<!-- /bench -->")
	if !found || !ended {
		t.Fatalf("%s has no place in gpu.md", name)
	}
	return table
}

func (f *firstRun) wantInTable(t *testing.T, name string, patterns ...string) {
	t.Helper()
	table := f.table(t, name)
	for _, pattern := range append(patterns, `Machine: .*go1.* Date: .*refrain-lab bench `+name) {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(table) {
			t.Errorf("%s has no %q:\n%s", name, pattern, table)
		}
	}
}

const notMeasured = "Not measured yet.\n"

// TestGPUFirstRun has the script measure a simulated GPU: what was packed, without Go and network, in the order of a first
// run.
func TestGPUFirstRun(t *testing.T) {
	f := packFirstRun(t)
	doc := filepath.Join(f.folder, "gpu.md")

	t.Run("no GPU", func(t *testing.T) {
		none := *f
		none.driver = t.TempDir()
		if err := os.WriteFile(filepath.Join(none.driver, "libcuda.so.1"), []byte("none"), 0o600); err != nil {
			t.Fatal(err)
		}
		none.want(t, 1, []string{"there is no NVIDIA driver: ", "there is no NVIDIA GPU to measure on here: it takes a card"})
	})
	t.Run("usage", func(t *testing.T) {
		f.want(t, 2, []string{"there is no part nothing: want check suite"}, "nothing")
		f.want(t, 2, []string{"want a number"}, "--device", "x")
		f.want(t, 2, []string{"for a single part"}, "bench", "rates", "--", "--runs", "1")
		f.want(t, 1, []string{"there is no such file; begin with a copy of"}, "--doc", "/nowhere/gpu.md")
		f.want(t, 0, []string{"Examples:"}, "--help")
	})
	t.Run("parts", func(t *testing.T) {
		f.want(t, 3, []string{"card: Fake 0, 2 multiprocessors", "suite: passed", "left out: sanitize: ", "rates: passed"},
			"--quick", "--offline", "--doc", doc, "suite", "sanitize", "rates")
		f.wantInTable(t, "gpu-suite", `Fake 0, 2 multiprocessors, kernels \["popcount" "imma" "bmma" "paper"\]`,
			`^\| TestSuite \| 81 \| 0 \|`, `^\| TestFlood \| 5 \| 0 \|`, `^\| TestMeasure \| 1 \| 0 \|`)
		f.wantInTable(t, "gpu-rates", `^\| POPC \| [1-9]`, `^\| BMMA m16n8k256 \| [1-9]`, `^\| popcount1 \| 32 \| 0\.\d+ \|`,
			`^\| bmma8 \| 256 \| 0\.\d+ \|`)
		if table := f.table(t, "gpu-sanitize"); table != notMeasured {
			t.Errorf("gpu-sanitize has %q", table)
		}
	})
	t.Run("bench", func(t *testing.T) {
		f.want(t, 0, []string{"bench: passed"}, "--doc", doc, "bench", "--", "--rows", "2000,100000", "--queries", "20", "--runs", "1")
		f.wantInTable(t, "gpu", `^\| signatures \| popcount \| imma \| bmma \| paper \|$`, `^\| 2,000( \| [0-9./ ]+){4} \|$`,
			`^\| 100,000( \| [0-9.]+){4} \| 0\.390 \|$`, `the hits of 20 queries are the same as by the CPU.* up to 100,000 signatures`)
	})
	t.Run("detect", func(t *testing.T) {
		small := *f
		small.environment = []string{"REFRAIN_CUDATEST_MEMORY=4200000"} // less than the trial of all kernels takes
		small.want(t, 0, []string{"detect: passed"}, "--doc", doc, "--data", smallPosts(t), "detect", "--", "--files", "stream/few.jsonl",
			"--thresholds", "0.8", "--runs", "1")
		f.wantInTable(t, "gpu-detect", `^\| few.jsonl \| 3,000 \| 0\.8 \| [1-9][0-9,]* \|( [0-9.]+ \|){4}$`, "one by one; none lacks")
	})
	t.Run("host", func(t *testing.T) {
		data := filepath.Dir(filepath.Dir(dataset.File(t, "stream/ira_2012-02_2016-08.jsonl.zst")))
		f.want(t, 0, []string{"host: passed"}, "--quick", "--doc", doc, "--data", data, "host")
		f.wantInTable(t, "gpu-host", `^\| 20,000 \| 0\.5 \| 4096 \| [0-9.]+ \|$`)
	})
	t.Run("serve", func(t *testing.T) { wantMetricsOfGPU(t, f.driver) })
	t.Run("a part that fails", func(t *testing.T) {
		before := f.table(t, "gpu-host")
		binary := filepath.Join(f.folder, "bin", "gputest")
		if err := errors.Join(os.Remove(binary), os.WriteFile(binary, []byte("#!/bin/sh\necho by order; exit 1\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
		f.want(t, 1, []string{"by order", "FAILED: host", "rates: passed", "failed: host"}, "--quick", "--doc", doc, "--data",
			smallPosts(t), "host", "rates")
		if f.table(t, "gpu-host") != before {
			t.Error("the table of a part that failed was replaced")
		}
	})
}

// wantMetricsOfGPU has a server compare on the simulated GPU, and look at what it tells of it.
func wantMetricsOfGPU(t *testing.T, driver string) {
	t.Helper()
	p := e2e.New(t, "LD_LIBRARY_PATH="+driver, "REFRAIN_WINDOW_ENGINE=cuda", "REFRAIN_WINDOW_CUDA_KERNEL=popcount",
		"REFRAIN_WINDOW_CUDA_BUDGET=64MiB", "REFRAIN_TOPICS_PARTITIONS=3")
	p.Start()
	p.Feed(e2e.SplitLines(mustRead(t, filepath.Join(smallPosts(t), "stream", "few.jsonl"))), 500, func(int) {})
	gpu := `{name="Fake 0",number="0"}`
	for _, want := range []string{"refrain_gpu_windows" + gpu + " 3", "refrain_gpu_lost" + gpu + " 0",
		"refrain_gpu_budget_bytes" + gpu + " 6.7108864e+07"} {
		if _, metrics := p.Get("/metrics"); !strings.Contains(metrics, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	p.Await(time.Minute, "bytes on the GPU", func() bool {
		_, metrics := p.Get("/metrics")
		_, bytes, _ := strings.Cut(metrics, "refrain_gpu_bytes"+gpu+" ")
		n, _, _ := strings.Cut(bytes, "\n")
		v, err := strconv.ParseFloat(n, 64)
		return err == nil && v > 0
	})
}

// smallPosts is a data set of one file, whose posts repeat each other.
func smallPosts(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	var b bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&b, `{"id":"%d","created_at":%d,"text":"post %d of a few says once more that %d is %d and nothing more"}`+"\n", i,
			1_700_000_000+i, i/2, i/3*7, i/2*11)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(data, "stream"), 0o700),
		os.WriteFile(filepath.Join(data, "stream", "few.jsonl"), b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return data
}
