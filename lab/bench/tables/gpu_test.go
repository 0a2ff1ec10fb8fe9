package tables

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/cuda/rates"
)

// published are the rates that docs/design/0006-cuda.md reckons with, of an H200 at 1.83 GHz.
func published() (*rates.Card, []rates.Rate) {
	card := &rates.Card{Processors: 132}
	const hertz = 1.83e9
	var all []rates.Rate
	for name, clock := range map[string]float64{rates.POPC: .5, rates.LOP3: 2, rates.Min: 2, rates.AddMin: 2,
		rates.IMMA: .62} {
		all = append(all, rates.Rate{Name: name, Clock: clock, Hertz: hertz, Second: clock * hertz * float64(card.Processors)})
	}
	for _, name := range []string{rates.BMMA128, rates.BMMA256} {
		all = append(all, rates.Rate{Name: name, Refused: "by order"})
	}
	return card, all
}

// The bounds are those of docs/design/0006-cuda.md, and none where an instruction is missing.
func TestBounds(t *testing.T) {
	want := map[string]float64{"popcount1": 3.9, "popcount2": 1.9, "popcount4": .97, "popcount8": .48, "imma1": 38, "imma2": 19,
		"imma4": 4.8, "imma8": 2.4}
	card, all := published()
	for _, l := range kernelLoops() {
		got, limit := l.bound(card, all)
		if math.Abs(got/1e12-want[l.function]) > .03*want[l.function] {
			t.Errorf("%s: bound %.3g because of %q, want %.3g", l.function, got/1e12, limit, want[l.function])
		}
		if (limit == "") != strings.HasPrefix(l.function, "bmma") {
			t.Errorf("%s: limit %q", l.function, limit)
		}
	}
}

// Where all instructions together are more than the schedulers issue, these are the bound.
func TestBoundOfSlots(t *testing.T) {
	card, all := published()
	for i := range all {
		all[i].Refused, all[i].Second = "", 1e20
	}
	l := kernelLoop{pairs: 100, slots: 50, issues: map[string]int{rates.POPC: 1}}
	if got, limit := l.bound(card, all); limit != issueSlots || math.Abs(got-100*4*1.83e9*132/50) > 1 {
		t.Errorf("bound %g because of %q", got, limit)
	}
}

const testOutput = `=== RUN   TestOpen
    device_test.go:86: Card X, 132 multiprocessors, kernels ["popcount"]
--- PASS: TestOpen (0.20s)
=== RUN   TestJobs
--- PASS: TestJobs (1.50s)
    --- PASS: TestJobs/popcount (1.00s)
    --- PASS: TestJobs/paper (0.50s)
PASS
`

// program is a shell script that writes some output and ends with a status.
func program(t *testing.T, output, status string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat <<'END'\n"+output+"END\nexit "+status+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGPUSuite(t *testing.T) {
	skipped := strings.ReplaceAll(testOutput, "    --- PASS: TestJobs/paper", "    --- SKIP: TestJobs/paper")
	for name, c := range map[string]struct{ output, status, want string }{
		"passed":       {testOutput, "0", ""},
		"skipped":      {skipped, "0", "test TestJobs was skipped"},
		"failed":       {strings.ReplaceAll(testOutput, "PASS", "FAIL"), "1", "--- FAIL: TestJobs (1.50s)"},
		"nothing":      {"PASS\n", "0", "ran no test"},
		"killed":       {"", "9", "exit status 9"},
		"not executed": {"", "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultSuite()
			if o.Binary = "/nowhere"; name != "not executed" {
				o.Binary = program(t, c.output, c.status)
			}
			r, err := GPUSuite(t.Context(), &Config{Runs: 1}, o)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := r.Markdown(); !strings.Contains(text, "| TestJobs | 3 | 0 | 1.50 |") ||
				!strings.Contains(text, `on Card X, 132 multiprocessors, kernels ["popcount"].`) {
				t.Error(text)
			}
		})
	}
}

func TestGPUSanitize(t *testing.T) {
	for name, c := range map[string]struct{ output, status, want string }{
		"clean":   {testOutput + "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", "0", ""},
		"errors":  {testOutput + "========= ERROR SUMMARY: 2 errors\n", "9", "ERROR SUMMARY: 2 errors"},
		"silent":  {testOutput, "0", "says nothing that can be read"},
		"no test": {"========= ERROR SUMMARY: 0 errors\n", "0", "ran no test"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultSuite()
			o.Binary, o.Sanitizer, o.Tools = program(t, "", "0"), program(t, c.output, c.status), []string{"racecheck"}
			r, err := GPUSanitize(t.Context(), &Config{Runs: 1}, o)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := r.Markdown(); !strings.Contains(text, "| racecheck | RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings) |") {
				t.Error(text)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	read := func(lines string) map[string]bool {
		ids, err := readIDs(strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	want := read(`{"source":"x","id":"a","data":{"id":"b"}}` + "\n" + `{"id":"c"}` + "\n" + `{"id":"a"}` + "\n")
	if len(want) != 2 || !want["a"] || !want["c"] {
		t.Errorf("ids %v", want)
	}
	if err := sameIDs(read(`{"id":"c"}`+"\n"+`{"id":"a"}`+"\n"), want); err != nil {
		t.Error(err)
	}
	err := sameIDs(read(`{"id":"c"}`+"\n"+`{"id":"d"}`+"\n"+`{"id":"e"}`+"\n"), want)
	if err == nil || err.Error() != "1 of 2 event ids are missing, and 2 more are there" {
		t.Errorf("got %v", err)
	}
	if _, err := readIDs(strings.NewReader("{}\n")); err == nil {
		t.Error("a line without an id is taken")
	}
}

// Events of a run in which the CPU had to go on alone say nothing of the device; a device that is full has done its part.
func TestDeviceLost(t *testing.T) {
	const lost = "2026/11/28 07:00:00 ERROR gpu: the device cannot go on; the CPU does, alone error=x\n"
	const full = "2026/11/28 07:00:00 WARN gpu: the device has no room for more rows; the CPU compares the rest used=1\n"
	if err := deviceLost(deviceLines("10 posts in 1 s\n" + full + lost)); err == nil || !strings.Contains(err.Error(), "cannot go on") {
		t.Errorf("got %v", err)
	}
	log := deviceLines("10 posts in 1 s\n" + full)
	if err := deviceLost(log); err != nil || log != strings.TrimSpace(full) {
		t.Errorf("got %v of %q", err, log)
	}
}
